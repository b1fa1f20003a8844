"""A few seconds of the fuzz targets for certificates and proofs, and cases that once failed."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from fuzz import certificate, proofs
from selfdict import Problem, Solution, Squared, Weighted, WorkingSet, certify


@pytest.mark.parametrize("target", [certificate, proofs])
@pytest.mark.parametrize("first", range(0, 200, 40))
def test_no_bound_exceeds_what_is_attained(target, first):
    for seed in range(first, first + 40):
        excess, by, kind, _ = target.largest_excess(seed)
        assert excess <= 1e-14, (seed, by, kind)


@pytest.mark.parametrize("distance", [1e-3, 1e-8, 1e-12, 1e-15])
def test_sparse_data_near_an_exact_fit(distance):
    """The residual is a difference of large sums; its square may be rounding errors alone."""
    rng = np.random.default_rng(0)
    M = rng.random((20, 8)) * (rng.random((20, 8)) < 0.4)
    X = (1 - distance) * np.eye(8)
    sparse = certify(Solution.from_matrix(X, Problem(csc_array(M), 1e3)))
    dense = certify(Solution.from_matrix(X, Problem(M, 1e3)))
    attained = 0.5 * (M**2).sum()  # by X = 0
    assert sparse.dual_bound <= attained
    assert dense.dual_bound <= attained
    if distance >= 1e-12:  # and yet it is worth something
        assert sparse.dual_bound >= 0.5 * attained


def test_single_precision_with_known_variances_is_about_the_data_as_they_are():
    """Data divided by standard deviations in float32 would be other data."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        M = (rng.random((6, 2)) @ rng.dirichlet([0.5, 0.5], 12).T).astype(np.float32)
        M *= (1 + 1e-5 * rng.normal(size=M.shape)).astype(np.float32)
        loss = Weighted(band_variance=10.0 ** rng.uniform(-4, 4, 6))
        mu = 1e-9 * loss.total(M.astype(float), np.ones(12))
        single = WorkingSet(tol=1e-9).solve(Problem(M, mu, loss=loss))
        double = WorkingSet(tol=1e-9).solve(Problem(M.astype(float), mu, loss=loss))
        assert single.dual_bound <= double.objective
        assert single.dual_bound == pytest.approx(double.dual_bound, rel=1e-6)


def test_weights_are_not_rounded_to_the_precision_of_the_data():
    M = np.random.default_rng(0).random((5, 7)).astype(np.float32)
    problem = Problem(M, 0.1, sample_weight=np.full(7, 0.1), loss=Squared())
    np.testing.assert_array_equal(problem.w, M.astype(float).sum(axis=0))
    assert (problem.sample_weight == 0.1).all()
