"""FGNSR and its solver: settings that are kept or overridden, and ends above the tolerance."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from selfdict import FGNSR, Conic, FastGradient, Huber, InputError, Status, WorkingSet
from selfdict.datasets import make_mixtures


@pytest.fixture(scope="module")
def X():
    return make_mixtures(10, 60, 3, noise=0.05, random_state=0)[0].T


CONIC = Conic()
GRADIENT = FastGradient(tol=0.2, max_iter=9, max_seconds=5)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # names mean default settings
        (dict(solver="working_set"), WorkingSet()),
        (dict(solver="fast_gradient"), FastGradient()),
        # an object keeps its own
        (dict(solver=WorkingSet(tol=0.02, max_seconds=50)), WorkingSet(tol=0.02, max_seconds=50)),
        (dict(solver=GRADIENT), GRADIENT),
        (dict(solver=CONIC), CONIC),
        # tol and max_seconds override them, together or alone
        (dict(solver="working_set", tol=0.3, max_seconds=20), WorkingSet(0.3, 20)),
        (dict(solver=WorkingSet(device="cpu"), tol=0.3), WorkingSet(0.3, device="cpu")),
        (dict(solver=GRADIENT, tol=0.3), replace(GRADIENT, tol=0.3)),
        (dict(solver=GRADIENT, max_seconds=20), replace(GRADIENT, max_seconds=20)),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_settings_of_the_solver(X, options, expected):
    model = FGNSR(3, random_state=0, **options).fit(X)
    assert model.solver_ == expected
    assert model.solver is options["solver"]  # as it was given
    assert clone(model).solver == options["solver"]


@pytest.mark.parametrize("solver", ["conic", Conic()])
@pytest.mark.parametrize("options", [dict(tol=1e-3), dict(max_seconds=5)])
def test_settings_unknown_to_conic_are_refused(X, solver, options, monkeypatch):
    monkeypatch.setattr("selfdict.reductions.steps.h2nmf", None)  # before any work
    with pytest.raises(InputError):
        FGNSR(3, solver=solver, candidates=10, **options).fit(X)


# ends above the tolerance


def interrupt(progress):
    raise KeyboardInterrupt


ENDS = {
    "no time": (dict(max_seconds=0), Status.MAX_SECONDS),
    "no time for Algorithm 1": (dict(solver="fast_gradient", max_seconds=0), Status.MAX_SECONDS),
    "few iterations": (dict(solver=FastGradient(max_iter=2)), Status.MAX_ITER),
    "stopped": (dict(callback=lambda progress: True), Status.STOPPED_BY_CALLBACK),
    "interrupted": (dict(callback=interrupt), Status.INTERRUPTED),
    "out of reach": (dict(target=("trace", 1e5)), Status.TARGET_MISSED),
}


@pytest.mark.parametrize(("options", "status"), ENDS.values(), ids=ENDS.keys())
def test_stopping_above_the_tolerance_warns(X, options, status):
    with pytest.warns(ConvergenceWarning) as caught:
        model = FGNSR(3, random_state=0, **options).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert str(caught[0].message).startswith(str(status))
    assert model.solution_.status is status
    assert model.gap_ > 1e-3 or status is Status.TARGET_MISSED
    assert len(set(model.indices_)) == 3  # of the best point found


def test_stalling_in_single_precision_warns(X):
    solver = FastGradient(tol=1e-9, max_iter=20_000)
    with pytest.warns(ConvergenceWarning) as caught:
        model = FGNSR(3, solver=solver, random_state=0).fit(X.astype(np.float32))
    assert len(caught) == 1
    assert model.solution_.status is Status.STALLED
    assert model.gap_ > 1e-9


def test_fit_transform_and_reduced_problems_warn_once(X):
    for options in (dict(candidates=30), dict(dictionary=X[:20])):
        model = FGNSR(3, max_seconds=0, random_state=0, **options)
        with pytest.warns(ConvergenceWarning) as caught:
            model.fit_transform(X)
        assert len(caught) == 1


def test_no_warning_at_the_tolerance_or_without_one(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FGNSR(3, random_state=0).fit(X).gap_ <= 1e-3
        assert FGNSR(3, solver="conic", random_state=0).fit(X).gap_ <= 1e-6
        rough = FGNSR(3, solver=FastGradient(tol=0, max_iter=3), random_state=0).fit(X)
        assert rough.gap_ > 1e-3
        assert rough.n_iter_ == 3


# messages


BAD = {
    "too many": (FGNSR(61), {}),
    "too many for the dictionary": (FGNSR(6, dictionary=np.eye(5, 10)), {}),
    "more than the cone has rays": (FGNSR(40), {"features": 1}),
    "weights of other points": (FGNSR(3), {"sample_weight": np.ones(4)}),
    "two points with weight": (FGNSR(3), {"sample_weight": np.arange(60) < 2}),
    "huge numbers": (FGNSR(3), {"scale": 1e200}),
    "a loss for another solver": (FGNSR(3, loss=Huber(0.1), solver="conic"), {}),
    "many points for the exact solver": (FGNSR(3, solver="conic"), {"repeat": 6}),
    "sparse data on a GPU": (FGNSR(3, solver=WorkingSet(device="cuda")), {"form": sp.csr_array}),
}


@pytest.mark.parametrize(("model", "changes"), BAD.values(), ids=BAD.keys())
@pytest.mark.filterwarnings("ignore:.* components are more than the")
def test_messages_use_the_words_of_estimators(X, model, changes):
    """A bare r or M is a word of the functions, which an estimator's user need not know."""
    data = np.repeat(X[:, : changes.get("features", 10)], changes.get("repeat", 1), axis=0)
    data = changes.get("form", np.asarray)(data * changes.get("scale", 1.0))
    with pytest.raises(InputError) as caught:
        model.fit(data, sample_weight=changes.get("sample_weight"))
    assert not set(str(caught.value).replace(",", " ").split()) & {"r", "M", "M.toarray()"}
