"""Compression: orthonormal bases, a bound for the whole data, the same bits for a seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfdict import (
    FGNSR,
    Compression,
    FastGradient,
    Problem,
    WorkingSet,
    certify,
    conic,
)
from selfdict.datasets import make_mixtures
from selfdict.model.omega import column_norms
from selfdict.reductions.compression import compress

METHODS = ["svd", "gaussian", "srht"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("m", "q"), [(1, 1), (5, 5), (16, 7), (37, 6)])
def test_bases_are_orthonormal_and_data_are_their_coordinates(method, m, q):
    M = np.random.default_rng(0).random((m, 50))
    small = compress(M, q, method, random_state=0)
    np.testing.assert_allclose(small.basis.T @ small.basis, np.eye(q), atol=1e-12)
    np.testing.assert_allclose(small.data, small.scale * small.basis.T @ M, atol=1e-12)
    assert small.scale == pytest.approx(1.0 if method == "svd" else np.sqrt(m / q))


@pytest.mark.parametrize("method", ["gaussian", "srht"])
def test_random_bases_keep_norms_on_average_and_follow_the_seed(method):
    M = np.random.default_rng(0).random((37, 20))
    squares = [
        np.linalg.norm(compress(M, 6, method, random_state=seed).data) ** 2 for seed in range(300)
    ]
    assert np.mean(squares) == pytest.approx(np.linalg.norm(M) ** 2, rel=0.15)
    first, again, other = (compress(M, 6, method, random_state=seed).data for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from(METHODS), st.booleans())
def test_bounds_hold_for_the_whole_data(seed, method, weighted):
    """Weak duality: no bound from the compressed data lies above the optimum of the whole data."""
    rng = np.random.default_rng(seed)
    M = rng.normal(0.3, 1.0, (8, 7))
    s = rng.uniform(0, 2, 7) if weighted else None
    mu, w = float(rng.uniform(0.05, 1)), column_norms(M)
    step = Compression(int(rng.integers(1, 9)), method, rng)
    small = step.reduce(Problem(M, mu, w=w, sample_weight=s))
    solution = step.lift(WorkingSet(tol=1e-6).solve(small))
    best = conic(M, mu=mu, sample_weight=s).objective
    assert solution.dual_bound <= best * (1 + 1e-6)
    assert solution.objective >= best * (1 - 1e-6)
    whole = certify(solution)
    assert solution.objective == pytest.approx(whole.objective, rel=1e-10)
    assert solution.gap == pytest.approx(
        max(0.0, 1 - solution.dual_bound / solution.objective), abs=1e-12
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "options", [{}, {"candidates": 60}, {"solver": FastGradient(tol=0, max_iter=200)}]
)
def test_the_estimator_finds_the_same_points_with_fewer_features(method, options):
    M, _, _ = make_mixtures(30, 150, 3, noise=0.003, random_state=0)
    whole = FGNSR(3, random_state=0).fit(M.T)
    model, again = (
        FGNSR(3, compress=Compression(6, method), random_state=0, **options).fit(M.T)
        for _ in range(2)
    )
    assert model.reconstruction_err_ <= 1.05 * whole.reconstruction_err_  # of all 30 features
    assert model.components_.shape == (3, 30)
    np.testing.assert_array_equal(model.solution_.coef, again.solution_.coef)
    if not options:
        assert model.compressed_gap_ <= 1e-3
    assert whole.compressed_gap_ is None
