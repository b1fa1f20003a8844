"""What solvers, reductions and estimators must not do in silence."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from selfdict import (
    FGNSR,
    VCA,
    Candidates,
    Compression,
    Conic,
    FastGradient,
    InputError,
    Loss,
    Problem,
    UnsupportedError,
    WorkingSet,
    lift,
    select_indices,
)
from selfdict.datasets import make_mixtures
from selfdict.model.solution import relative_gap

M = make_mixtures(10, 60, 3, noise=0.05, random_state=0)[0]
X = M.T


def test_gap_of_nan_is_infinite():
    assert relative_gap(np.nan, np.nan) == np.inf


@pytest.mark.parametrize("step", [Candidates(20), Compression(4)])
@pytest.mark.parametrize("options", [{"epsilon": 2.0}, {"mu": 0.1, "target": ("residual", 2.0)}])
def test_lifting_model_4_is_refused(step, options):
    solution = Conic().solve(step.reduce(Problem(M, **options)))
    with pytest.raises(UnsupportedError, match="epsilon"):
        lift(solution)


class Own(Loss):
    def value(self, R):
        return 0.5 * R * R

    def gradient(self, R):
        return R

    def conjugate(self, theta):
        return 0.5 * theta * theta


@pytest.mark.parametrize(
    "options",
    [
        dict(solver="conic", candidates=350),
        dict(solver=Conic("trace"), candidates=20),
        dict(solver=FastGradient(device="cuda"), loss=Own(), candidates=20),
    ],
)
def test_the_estimator_refuses_before_it_clusters(options, monkeypatch):
    def never(*arguments):
        pytest.fail("clustered")

    monkeypatch.setattr("selfdict.reductions.columns.h2nmf", never)
    with pytest.raises(UnsupportedError):
        FGNSR(3, **options).fit(np.repeat(X, 7, axis=0))


def test_a_missed_target_is_a_warning():
    solver = FastGradient(max_iter=100, tol=0.3)
    with pytest.warns(ConvergenceWarning):
        FGNSR(3, solver=solver, target=("residual", 100.0), random_state=0).fit(X)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (dict(max_seconds=0), "max_seconds"),
        (dict(callback=lambda progress: True), "callback"),
    ],
)
def test_the_warning_says_what_to_do(options, advice):
    with pytest.warns(ConvergenceWarning, match=advice):
        FGNSR(3, random_state=0, **options).fit(X)


def test_the_warning_does_not_contradict_itself():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        FGNSR(3, tol=1e-9).fit(X.astype(np.float32))
    assert all("is below the tolerance" not in str(w.message) for w in caught)


def test_epsilon_and_target_exclude_each_other():
    with pytest.raises(InputError):
        Conic().solve(Problem(M[:, :12], epsilon=0.5, target=("residual", 1.0)))


def test_messages_of_estimators_are_true():
    with pytest.raises(InputError) as caught:
        VCA(15).fit(X[:, :2])
    assert "rows of X, 2" not in str(caught.value)  # X has 60 rows and 2 features
    with pytest.raises(InputError) as caught:
        FGNSR(3, solver="conic", target=("residual", 1e-5), dictionary=X[:4]).fit(X)
    assert "no X brings D X so near to X" not in str(caught.value)
    assert "epsilon" not in str(caught.value)


def test_subset_behind_another_reduction_must_be_lifted_first():
    small = Compression(5).reduce(Candidates(20).reduce(Problem(M, 0.1)))
    solution = WorkingSet().solve(small)
    with pytest.raises(InputError, match="lift"):
        select_indices(solution, 3)
    assert select_indices(lift(solution), 3).max() >= 20


def test_weights_that_came_after_a_compression_are_kept():
    small = Compression(5).reduce(Problem(M, 0.1))
    p = np.linspace(0.9, 1.1, 60)
    lifted = lift(WorkingSet().solve(small.changed(p=p)))
    np.testing.assert_array_equal(lifted.problem.p, p)
