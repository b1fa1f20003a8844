"""The two forms of the kernel against each other and against all supports tried."""

import numpy as np
import pytest

import naive_abundances
from selfdict.kernels.active_set import active_set


def solve(R, Y, simplex, stable, guess=None, X0=None):
    q, r = R.shape
    if guess is None:
        guess = np.zeros((r, q))
    X = np.full((Y.shape[1], r), np.nan)
    if X0 is not None:
        X = X0.copy()
    rows = np.ascontiguousarray(R.T)
    active_set(rows, R.T @ R, guess, np.zeros(r), Y, X, simplex, stable, X0 is not None)
    return X


@pytest.mark.parametrize("simplex", [False, True])
@pytest.mark.parametrize(("q", "r"), [(4, 4), (5, 3), (1, 1)])
def test_both_forms_equal_the_reference_implementation(q, r, simplex):
    rng = np.random.default_rng(q)
    R, Y = rng.standard_normal((q, r)), rng.standard_normal((q, 40))
    reference = naive_abundances.fcls if simplex else naive_abundances.nnls
    expected = np.stack([reference(R, y) for y in Y.T])
    for stable in (False, True):
        for X0 in (
            np.zeros_like(expected),
            np.ones_like(expected),
            expected,
            rng.standard_normal(expected.shape),
        ):
            np.testing.assert_allclose(solve(R, Y, simplex, stable, X0=X0), expected, atol=1e-10)
    # a poor guess is no harm in the stable form, which accepts none unseen
    poor = rng.standard_normal((r, q))
    np.testing.assert_allclose(solve(R, Y, simplex, True, guess=poor), expected, atol=1e-10)


def test_results_do_not_depend_on_other_columns():
    rng = np.random.default_rng(0)
    R, Y = rng.standard_normal((6, 6)), rng.standard_normal((6, 50))
    together = solve(R, Y, False, False, guess=np.linalg.inv(R))
    alone = [solve(R, Y[:, [j]], False, False, guess=np.linalg.inv(R))[0] for j in range(50)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("stable", [False, True])
def test_dependent_columns_never_enter_together(stable):
    rng = np.random.default_rng(0)
    R = np.repeat(rng.standard_normal((4, 3)), 2, axis=1)
    Y = rng.standard_normal((4, 30))
    X = solve(R, Y, False, stable, X0=np.ones((30, 6)))
    assert np.all((X > 0).reshape(30, 3, 2).sum(axis=2) <= 1)
    expected = np.stack([naive_abundances.nnls(R[:, ::2], y) for y in Y.T])
    np.testing.assert_allclose(X.reshape(30, 3, 2).sum(axis=2), expected, atol=1e-12)
