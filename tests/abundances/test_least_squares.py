"""Nonnegative and fully constrained least squares, and their residuals."""

from itertools import product

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive_abundances
from naive_abundances import fcls_violation, nnls_violation
from selfdict import InputError, fcls, nnls
from selfdict.abundances import column_residuals, column_solver
from selfdict.abundances.least_squares import fit_soft_sum
from selfdict.kernels.pivoting import block_pivoting

SEEDS = st.integers(0, 10_000)
SMALL_INTEGERS = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.integers(-2, 2)
)


def by_scipy(U, M):
    return np.stack([scipy.optimize.nnls(U, m)[0] for m in M.T], axis=1)


def of_all_supports(reference, U, M):
    return np.stack([reference(U, m) for m in M.T], axis=1)


def dictionary(m, r, rng, condition=None):
    """A dictionary of the given condition number."""
    U = rng.standard_normal((m, r))
    if condition is None:
        return U
    left, _, right = np.linalg.svd(U, full_matrices=False)
    return left * np.geomspace(1, 1 / condition, min(m, r)) @ right


def problem(m, r, n, condition=None, seed=0):
    """A dictionary, and columns: mixtures, noise or both."""
    rng = np.random.default_rng(seed)
    U = dictionary(m, r, rng, condition)
    mixed = U @ (rng.random((r, n)) * (rng.random((r, n)) < 0.6)) * (np.arange(n) % 3 > 0)
    return U, mixed + 0.1 * rng.standard_normal((m, n)) * (np.arange(n) % 3 < 2)


def problem_of_sums(m, r, n, condition=None, seed=0):
    """The same with mixtures that sum to one, and more or less noise."""
    rng = np.random.default_rng(seed)
    U = dictionary(m, r, rng, condition)
    M = U @ rng.dirichlet(np.full(r, 0.5), n).T
    return U, M + rng.choice([0.0, 0.1, 1.0], n) * rng.standard_normal((m, n))


@pytest.mark.parametrize(
    ("m", "r", "n"),
    [(20, 6, 300), (30, 1, 40), (1, 1, 20), (6, 6, 100), (50, 40, 60), (9, 3, 1), (150, 120, 5)],
)
def test_nnls_equals_scipy(m, r, n):
    U, M = problem(m, r, n)
    H = nnls(U, M)
    np.testing.assert_allclose(H, by_scipy(U, M), rtol=0, atol=1e-9)
    np.testing.assert_allclose(nnls(U, np.asfortranarray(M)), H, rtol=0, atol=1e-13)
    assert H.min() >= 0
    assert nnls_violation(U, M, H) < 1e-13


@pytest.mark.parametrize(
    ("r", "condition"), [*product((5, 15), (1e2, 0.9e3, 1.1e3, 1e4, 0.9e5, 1.1e5, 1e6)), (8, 1e13)]
)
def test_nnls_of_ill_conditioned_dictionaries_is_that_of_scipy(r, condition):
    U, M = problem(25, r, 150, condition)
    H, expected = nnls(U, M), by_scipy(U, M)
    ours, theirs = (np.linalg.norm(M - U @ each, axis=0) for each in (H, expected))
    assert np.all(ours <= theirs + 1e-8 * np.linalg.norm(M, axis=0))
    if condition <= 1e6:
        size = np.maximum(1.0, expected.max(axis=0))
        np.testing.assert_allclose(H / size, expected / size, rtol=0, atol=1e-9)


@pytest.mark.parametrize("condition", [1e6, 1e7, 1e8, 1e9])
def test_nnls_is_nearer_to_the_exact_solution_than_scipy(condition):
    """Sixty digits tell which of the two is right where they differ."""
    U, M = problem(25, 5, 40, condition)
    # noise, so that no coefficient is zero by accident
    M += 1e-3 * np.random.default_rng(1).standard_normal(M.shape)
    H, theirs = nnls(U, M), by_scipy(U, M)
    exact = np.stack(
        [naive_abundances.exact_nnls(U, m, np.flatnonzero(h)) for m, h in zip(M.T, H.T)], axis=1
    )
    size = np.maximum(1.0, exact.max(axis=0))
    error, error_of_scipy = (np.abs((X - exact) / size).max(axis=0) for X in (H, theirs))
    assert error.max() <= error_of_scipy.max()
    assert np.mean(error) <= np.mean(error_of_scipy)
    assert error.max() <= np.finfo(float).eps * condition


def check_fcls(U, M, at_most=False):
    """Return the solution if it is feasible and optimal."""
    H = fcls(U, M, at_most=at_most)
    assert H.min() >= 0
    sums = H.sum(axis=0)
    assert np.all(sums <= 1 + 1e-14)
    assert at_most or np.all(sums >= 1 - 1e-14)
    assert fcls_violation(U, M, H, at_most) < 1e-13
    return H


@given(U=SMALL_INTEGERS, seed=SEEDS)
def test_degenerate_cases_of_small_integers(U, seed):
    """Duplicates, zeros, (affine) dependence, ties: the fit of all supports tried, and KKT."""
    M = np.random.default_rng(seed).integers(-3, 4, size=(U.shape[0], 4)).astype(float)
    H = nnls(U, M)
    assert H.min() >= 0
    assert nnls_violation(U, M, H) < 1e-13
    assert not H[~U.any(axis=0)].any()
    expected = of_all_supports(naive_abundances.nnls, U, M)
    np.testing.assert_allclose(U @ H, U @ expected, atol=1e-12)
    expected = of_all_supports(naive_abundances.fcls, U, M)
    np.testing.assert_allclose(U @ check_fcls(U, M), U @ expected, atol=1e-12)
    check_fcls(U, M, at_most=True)


@given(seed=SEEDS, r=st.integers(1, 5), extra=st.integers(0, 4))
def test_fcls_reference_shift_and_scale(seed, r, extra):
    U, M = problem_of_sums(r + extra, r, 4, seed=seed)
    H = fcls(U, M)
    tolerance = 1e-13 * np.linalg.cond(np.vstack([U, np.ones(r)])) ** 2
    expected = of_all_supports(naive_abundances.fcls, U, M)
    np.testing.assert_allclose(H, expected, rtol=0, atol=tolerance)
    shift = np.random.default_rng(seed).standard_normal((r + extra, 1))
    np.testing.assert_allclose(fcls(U + shift, M + shift), H, rtol=0, atol=10 * tolerance)
    np.testing.assert_allclose(fcls(1e6 * U, 1e6 * M), H, rtol=0, atol=tolerance)


@pytest.mark.parametrize("at_most", [False, True])
@pytest.mark.parametrize(("m", "r"), [(20, 6), (12, 12), (30, 20), (8, 2)])
def test_fcls_is_optimal(m, r, at_most):
    check_fcls(*problem_of_sums(m, r, 30), at_most)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e8, 1e12])
def test_fcls_of_ill_conditioned_endmembers(condition):
    check_fcls(*problem_of_sums(25, 8, 200, condition))


@pytest.mark.parametrize("spread", [0.0, 1e-14, 1e-10, 1e-5])
@pytest.mark.parametrize("at_most", [False, True])
def test_fcls_of_endmembers_that_are_nearly_equal(spread, at_most):
    """Seen from them every pixel is far away, which must not cost the sums their digits."""
    rng = np.random.default_rng(0)
    for r in range(1, 5):
        U = rng.random((7, 1)) + spread * rng.standard_normal((7, r))
        check_fcls(U, rng.standard_normal((7, 50)), at_most)


def test_fcls_of_vertices_and_of_one_endmember():
    U, _ = problem_of_sums(20, 6, 1)
    np.testing.assert_allclose(fcls(U, U), np.eye(6), atol=1e-13)
    np.testing.assert_array_equal(fcls(U[:, :1], U), np.ones((1, 6)))
    np.testing.assert_array_equal(fcls(np.zeros((3, 1)), np.ones((3, 2))), np.ones((1, 2)))
    H = fcls(np.ones((3, 4)), np.ones((3, 2)))  # the same endmember four times
    np.testing.assert_allclose(H.sum(axis=0), 1, rtol=0, atol=1e-15)


def test_units_of_the_columns_do_not_matter():
    U, M = problem(20, 6, 100)
    units = 10.0 ** np.array([-12, -8, 0, 3, 8, 12])
    np.testing.assert_allclose(nnls(U * units, M) * units[:, None], nnls(U, M), rtol=0, atol=1e-12)


METHODS = {"nnls": {}, "fcls": {"at_most": False}, "at most one": {"at_most": True}}


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_start_does_not_change_the_result(options):
    solve = fcls if options else nnls
    U, M = problem(20, 6, 100)
    H = solve(U, M, **options)
    rng = np.random.default_rng(1)
    for start in (H, np.zeros_like(H), -H, np.ones_like(H), rng.standard_normal(H.shape)):
        given_start = start.copy()
        np.testing.assert_allclose(solve(U, M, H0=start, **options), H, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(start, given_start)
    assert solve(U.astype(np.float32), M.astype(np.float32), **options).dtype == np.float32


def test_float32_is_computed_in_float64():
    U, M = problem(20, 6, 50)
    U, M = U.astype(np.float32), M.astype(np.float32)
    H = nnls(U, M)
    assert H.dtype == np.float32
    np.testing.assert_array_equal(
        H, nnls(U.astype(np.float64), M.astype(np.float64)).astype(np.float32)
    )
    assert nnls(U, M.astype(np.float64)).dtype == np.float64
    assert nnls(U.astype(np.float16), M.astype(np.float16)).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residuals_keep_their_digits_where_the_fit_is_almost_exact(dtype):
    rng = np.random.default_rng(0)
    U, H = rng.integers(0, 9, (12, 3)).astype(dtype), rng.integers(0, 9, (3, 700)).astype(dtype)
    M = U @ H  # exact: small integers
    M[5] += 2.0**-10
    np.testing.assert_array_equal(column_residuals(U, M, H), np.full(700, 2.0**-10))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("stiffness", [0.0, 0.1, np.inf])
@pytest.mark.parametrize("condition", [10.0, 2e3])
def test_residuals_of_fits_are_those_of_their_coefficients(dtype, stiffness, condition):
    """Whether they come from products or, where they are small, from the pixels."""
    U, M = problem_of_sums(40, 5, 300, condition)
    M = U @ fcls(U, M)
    noise = np.random.default_rng(0).standard_normal(M.shape)
    M = (M + np.geomspace(1e-9, 10, 300) * noise).astype(dtype)
    fit = fit_soft_sum(U, M, stiffness, with_residuals=True)
    assert fit.H.dtype == np.float64
    np.testing.assert_allclose(np.sqrt(fit.squared_residuals), column_residuals(U, M, fit.H), 1e-8)
    np.testing.assert_allclose(fit.squared_norms, (M.astype(np.float64) ** 2).sum(axis=0), 1e-12)


@pytest.mark.parametrize("distance", [1e-3, 1e-7, 1e-8])
def test_residuals_where_large_coefficients_cancel(distance):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((30, 4))
    U[:, 1] = distance * U[:, 1] - U[:, 0]
    H = rng.random((4, 500))
    H[:2] = H[0] / (10 * distance)
    M = U @ H + 0.01 * rng.standard_normal((30, 500))
    weights = rng.uniform(0.5, 2, 30)
    fit = fit_soft_sum(U, M, 0.0, weights=weights, with_residuals=True)
    R = M - U @ fit.H
    np.testing.assert_allclose(fit.squared_residuals, (R**2).sum(axis=0), rtol=1e-7)
    expected = ((weights[:, None] * R) ** 2).sum(axis=0)
    np.testing.assert_allclose(fit.weighted_squares, expected, rtol=1e-7)
    found = column_residuals(U, sp.csc_array(M), fit.H)
    np.testing.assert_allclose(found, np.linalg.norm(R, axis=0), rtol=1e-7)


def test_problems_that_pivoting_leaves_are_solved_by_active_sets(monkeypatch):
    U, M = problem(20, 6, 100)
    expected = nnls(U, M)

    def leave_every_other(G, C, X, warm, tables):
        left = block_pivoting(G, C, X, warm, tables)
        left[::2] = True
        X[::2] = 1.0
        return left

    monkeypatch.setattr(column_solver, "block_pivoting", leave_every_other)
    np.testing.assert_allclose(nnls(U, M), expected, atol=1e-13)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (dict(M=np.ones((4, 5))), InputError),
        (dict(U=np.ones(3)), InputError),
        (dict(M=np.ones(3)), InputError),
        (dict(M=np.ones((3, 0))), InputError),
        (dict(M=1j * np.ones((3, 5))), TypeError),
        (dict(M=np.full((3, 5), "a", dtype=object)), TypeError),
        (dict(H0=np.ones((2, 4))), InputError),
    ],
)
def test_invalid_input(changes, error):
    given = dict(U=np.ones((3, 2)), M=np.ones((3, 5)))
    for solve in (nnls, fcls):
        solve(**given)
        with pytest.raises(error):
            solve(**given | changes)
    with pytest.raises(InputError):
        column_residuals(np.ones((3, 2)), np.ones((3, 5)), np.ones((2, 4)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite_are_refused(value, dtype):
    """Also where a row of zeros in U would hide them in the products."""
    U, M = problem(20, 6, 10)
    U[4] = 0
    M = M.astype(dtype)
    M[4, 7] = value
    for solve in (nnls, fcls):
        with pytest.raises(InputError):
            solve(U, M)
    with pytest.raises(InputError):
        column_residuals(U, M, np.ones((6, 10)))
    U[0, 0] = value
    with pytest.raises(InputError):
        nnls(U, np.ones((20, 3)))
