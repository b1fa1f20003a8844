"""FGNSR as an estimator: scikit-learn's own checks, other ranks, candidates, refusals."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from selfdict import (
    FGNSR,
    Candidates,
    FastGradient,
    Huber,
    InputError,
    Status,
    Weighted,
    WorkingSet,
    select_indices,
)
from selfdict.datasets import make_midpoints, make_mixtures
from selfdict.metrics import index_recovery


@parametrize_with_checks(
    [FGNSR(), FGNSR(solver=FastGradient(tol=0, max_iter=50)), FGNSR(candidates=10)],
    # the same points, but the exchange promises no order of them
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "components in another order"
    },
)
@pytest.mark.filterwarnings("ignore:X seems to be centred")  # which the checks do
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def mixtures():
    return make_mixtures(30, 300, 4, noise=0.005, random_state=0)


def test_conic_solver_and_dynamic_penalty_recover_noisy_middle_points():
    M, _, pure = make_midpoints(20, 5, noise=0.1, random_state=0)
    for options in (dict(solver="conic"), dict(solver=FastGradient(tol=0, max_iter=2000))):
        model = FGNSR(
            5, target=("residual", 0.1), postprocess="diagonal", random_state=0, **options
        ).fit(M.T)
        assert index_recovery(model.indices_, pure) == 1.0
    assert FGNSR(5, solver="conic", random_state=0).fit(M.T).solution_.status is Status.EXACT


def test_select_returns_any_number_of_points(mixtures):
    M, _, _ = mixtures
    model = FGNSR(4, random_state=0).fit(M.T)
    for r in (1, 3, 6):
        K = model.select(r)
        assert len(set(K)) == r
    with pytest.raises(InputError):
        model.select(301)
    with pytest.raises(TypeError):
        model.select(2.5)


def test_same_seed_same_result_and_float32_stays(mixtures):
    X = mixtures[0].T.astype(np.float32)
    first, again = (FGNSR(4, random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(first.indices_, again.indices_)
    np.testing.assert_array_equal(first.solution_.coef, again.solution_.coef)
    assert first.components_.dtype == first.transform(X).dtype == np.float32


@pytest.mark.parametrize(
    ("X", "at_most"),
    [
        (np.zeros((6, 3)), 0),
        (np.ones((6, 3)), 1),
        (np.tile([[1.0, 2.0, 3.0]], (6, 1)), 1),
        (np.eye(6, 3), 3),
    ],
)
@pytest.mark.filterwarnings("ignore:4 components are more than the 3 features")
def test_more_components_than_rays_are_refused(X, at_most):
    """All-zero, constant and duplicate points: as many components as rays, an error beyond."""
    with pytest.raises(InputError):
        FGNSR(4, random_state=0).fit(X)
    if at_most:
        assert FGNSR(at_most, random_state=0).fit(X).reconstruction_err_ < 1e-7


@pytest.mark.parametrize(
    "options",
    [
        dict(n_components=0),
        dict(mu=-1.0),
        dict(mu="tiny"),
        dict(target=("rank", 3)),
        dict(candidates=0),
    ],
)
def test_invalid_parameters_are_refused(options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        FGNSR(**{"n_components": 2, **options}).fit(np.eye(3))


@pytest.mark.parametrize("weights", ["scaled", "residual"])
@pytest.mark.parametrize("candidates", [None, 40])
def test_weights_equal_repetitions(mixtures, weights, candidates):
    M, _, _ = mixtures
    M = M[:, :120]
    times = np.random.default_rng(0).integers(1, 4, M.shape[1])
    if candidates is not None:
        candidates = Candidates(candidates, weights)
    options = {"candidates": candidates, "mu": 0.5, "tol": 1e-6, "random_state": 0}
    weighted = FGNSR(4, **options).fit(M.T, sample_weight=times)
    if candidates is not None:
        clusters = weighted.clusters_
        np.testing.assert_allclose(clusters.sizes, np.bincount(clusters.labels, times))
    repeated = FGNSR(4, **options).fit(np.repeat(M, times, axis=1).T)
    found = np.repeat(np.arange(M.shape[1]), times)[repeated.indices_]
    assert sorted(weighted.indices_) == sorted(found)
    assert weighted.reconstruction_err_ == pytest.approx(repeated.reconstruction_err_, rel=1e-9)


def test_weights_in_a_pipeline_are_those_of_the_fit_alone(mixtures):
    """A transformer that is not the last step gets them through ``fit_transform``."""
    X, times = mixtures[0].T[:120], np.random.default_rng(0).integers(0, 4, 120)
    model = FGNSR(4, random_state=0)
    abundances = make_pipeline(model, "passthrough").fit_transform(X, fgnsr__sample_weight=times)
    np.testing.assert_array_equal(abundances, model.fit(X, sample_weight=times).transform(X))


@pytest.mark.parametrize("weight", [-1.0, 0.0])
def test_invalid_weights_are_refused(mixtures, weight):
    M, _, _ = mixtures
    with pytest.raises(InputError):
        FGNSR(2).fit(M.T, sample_weight=np.full(M.shape[1], weight))
    with pytest.raises(InputError):
        FGNSR(2, loss=Weighted(np.ones(3))).fit(M.T)  # variances of another number of bands


def test_spikes_mislead_squares_and_not_huber():
    M, _, pure = make_mixtures(40, 80, 4, random_state=0)
    rng = np.random.default_rng(0)
    sigma = 0.02
    M += sigma * rng.standard_normal(M.shape)
    bad = rng.choice(np.setdiff1d(np.arange(80), pure), 6, replace=False)
    for j in bad:
        M[rng.choice(40, 2, replace=False), j] += 5 * M.mean()
    mu = 3 * M.size * sigma**2 / 4
    squares = FGNSR(4, mu=mu, random_state=0).fit(M.T)
    solver = FastGradient(tol=0, max_iter=300)
    robust = FGNSR(4, mu=mu, solver=solver, loss=Huber(2 * sigma), random_state=0).fit(M.T)
    assert np.isin(squares.indices_, bad).any()
    assert index_recovery(robust.indices_, pure) == 1
    assert squares.solution_.diagonal[bad].min() > 0.9
    assert robust.solution_.diagonal[bad].max() < 0.1
    np.testing.assert_array_equal(
        robust.indices_, select_indices(robust.solution_, 4, method="spa")
    )


def test_default_solver_depends_on_the_loss(mixtures):
    X = mixtures[0].T[:80]
    model = FGNSR(4, loss=Huber(0.04), mu=1.0, tol=0.5, random_state=0).fit(X)
    assert model.solver_ == FastGradient(tol=0.5)
    assert FGNSR(4).fit(X).solver_ == WorkingSet()
