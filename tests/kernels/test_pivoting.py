"""Block pivoting against all supports tried, from any start."""

import numpy as np
import pytest

import naive_abundances
from selfdict.kernels.pivoting import MOST_UNKNOWNS, Tables, block_pivoting


def solve(R, Y, X0=None, tables=None):
    r = R.shape[1]
    X = np.full((Y.shape[1], r), np.nan)
    if X0 is not None:
        X = X0.copy()
    left = block_pivoting(R.T @ R, R.T @ Y, X, X0 is not None, tables or Tables(r))
    return X, left


@pytest.mark.parametrize(("q", "r"), [(4, 4), (5, 3), (1, 1), (8, 6)])
def test_solutions_are_those_of_all_supports_tried(q, r):
    rng = np.random.default_rng(q)
    R = rng.standard_normal((q, r))
    R /= np.linalg.norm(R, axis=0)
    Y = rng.standard_normal((q, 40))
    expected = np.stack([naive_abundances.nnls(R, y) for y in Y.T])
    tables = Tables(r)
    for X0 in (None, np.zeros_like(expected), expected, rng.standard_normal(expected.shape)):
        X, left = solve(R, Y, X0, tables)
        assert not left.any()
        np.testing.assert_allclose(X, expected, atol=1e-10)
        np.testing.assert_array_equal(X == 0, expected == 0)
    for power in (-30, 30):
        X, _ = solve(R, 2.0**power * Y)
        np.testing.assert_array_equal(X, 2.0**power * solve(R, Y)[0])


def test_mixtures_without_noise_and_unknowns_that_are_zero():
    rng = np.random.default_rng(0)
    R = rng.standard_normal((MOST_UNKNOWNS, MOST_UNKNOWNS))
    R /= np.linalg.norm(R, axis=0)
    R[:, 3] = 0.0
    H = rng.random((MOST_UNKNOWNS, 500)) * (rng.random((MOST_UNKNOWNS, 500)) < 0.5)
    H[3] = 0.0
    H[:, 0] = 0.0
    X, left = solve(R, R @ H)
    # The sign of zero times noise may never settle: such problems have a start instead.
    assert left.mean() < 0.05
    assert np.isin(X[left], (0.0, 1.0)).all()
    np.testing.assert_allclose(X[~left].T, H[:, ~left], atol=1e-10)
    assert not X[:, 3].any()


def test_results_do_not_depend_on_other_columns():
    rng = np.random.default_rng(0)
    R = rng.standard_normal((6, 6))
    C = rng.standard_normal((6, 50))
    together = np.empty((50, 6))
    block_pivoting(R.T @ R, C, together, False, Tables(6))
    for j in range(50):
        alone = np.empty((1, 6))
        block_pivoting(R.T @ R, C[:, [j]], alone, False, Tables(6))
        np.testing.assert_array_equal(together[j], alone[0])
