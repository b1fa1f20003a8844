"""Nonnegative least squares, its residuals, and how long it is predicted to take."""

import time

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive_abundances
from selfdict import InputError, nnls, thread_limit
from selfdict.abundances import column_residuals
from selfdict.abundances.nnls import predicted_seconds


def by_scipy(U, M):
    return np.stack([scipy.optimize.nnls(U, m)[0] for m in M.T], axis=1)


def problem(m, r, n, condition=None, seed=0):
    """A dictionary of the given condition number, and columns: mixtures, noise or both."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((m, r))
    if condition is not None:
        left, _, right = np.linalg.svd(U, full_matrices=False)
        U = left * np.geomspace(1, 1 / condition, min(m, r)) @ right
    mixed = U @ (rng.random((r, n)) * (rng.random((r, n)) < 0.6)) * (np.arange(n) % 3 > 0)
    return U, mixed + 0.1 * rng.standard_normal((m, n)) * (np.arange(n) % 3 < 2)


@pytest.mark.parametrize(
    ("m", "r", "n"),
    [(20, 6, 300), (30, 1, 40), (1, 1, 20), (6, 6, 100), (50, 40, 60), (9, 3, 1), (150, 120, 5)],
)
def test_equals_scipy(m, r, n):
    U, M = problem(m, r, n)
    H = nnls(U, M)
    np.testing.assert_allclose(H, by_scipy(U, M), rtol=0, atol=1e-9)
    assert H.min() >= 0
    assert naive_abundances.nnls_violation(U, M, H) < 1e-13


@pytest.mark.parametrize("condition", [1e2, 0.9e3, 1.1e3, 1e4, 0.9e5, 1.1e5, 1e6])
@pytest.mark.parametrize("r", [5, 15])
def test_equals_scipy_on_ill_conditioned_dictionaries(r, condition):
    U, M = problem(25, r, 150, condition)
    H, expected = nnls(U, M), by_scipy(U, M)
    size = np.maximum(1.0, expected.max(axis=0))
    np.testing.assert_allclose(H / size, expected / size, rtol=0, atol=1e-9)


@pytest.mark.parametrize("condition", [1e6, 1e7, 1e8, 1e9])
def test_nearer_to_the_exact_solution_than_scipy(condition):
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


def test_fits_nearly_singular_dictionaries_as_well_as_scipy():
    U, M = problem(25, 8, 200, condition=1e13)
    H = nnls(U, M)
    ours = np.linalg.norm(M - U @ H, axis=0)
    theirs = np.linalg.norm(M - U @ by_scipy(U, M), axis=0)
    assert np.all(ours <= theirs + 1e-8 * np.linalg.norm(M, axis=0))


def test_units_of_the_columns_do_not_matter():
    U, M = problem(20, 6, 100)
    units = 10.0 ** np.array([-12, -8, 0, 3, 8, 12])
    np.testing.assert_allclose(nnls(U * units, M) * units[:, None], nnls(U, M), rtol=0, atol=1e-12)


@given(
    U=hnp.arrays(
        np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.integers(-2, 2)
    ),
    seed=st.integers(0, 10_000),
)
def test_degenerate_cases_of_small_integers(U, seed):
    """Duplicates, zero columns, rank deficiency, ties: the fit of all supports tried, and KKT."""
    M = np.random.default_rng(seed).integers(-3, 4, size=(U.shape[0], 4)).astype(float)
    H = nnls(U, M)
    assert H.min() >= 0
    assert naive_abundances.nnls_violation(U, M, H) < 1e-13
    assert not H[~U.any(axis=0)].any()
    expected = np.stack([naive_abundances.nnls(U, m) for m in M.T], axis=1)
    np.testing.assert_allclose(U @ H, U @ expected, atol=1e-12)


@given(
    seed=st.integers(0, 10_000),
    r=st.integers(1, 5),
    extra=st.integers(0, 4),
    power=st.integers(-30, 30),
)
def test_reference_and_scale(seed, r, extra, power):
    U, M = problem(r + extra, r, 4, seed=seed)
    expected = np.stack([naive_abundances.nnls(U, m) for m in M.T], axis=1)
    atol = 1e-14 * np.linalg.cond(U) ** 2 * np.abs(M).max()
    np.testing.assert_allclose(nnls(U, M), expected, rtol=0, atol=atol)
    scale = 2.0**power
    np.testing.assert_array_equal(nnls(U, scale * M), scale * nnls(U, M))


def test_start_does_not_change_the_result():
    U, M = problem(20, 6, 100)
    H = nnls(U, M)
    rng = np.random.default_rng(1)
    for start in (H, np.zeros_like(H), np.ones_like(H), rng.standard_normal(H.shape)):
        given_start = start.copy()
        np.testing.assert_allclose(nnls(U, M, H0=start), H, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(start, given_start)
    bad = np.hstack([U, U[:, :2]])  # a start on dependent columns
    H = nnls(bad, M, H0=np.ones((8, 100)))
    assert naive_abundances.nnls_violation(bad, M, H) < 1e-13


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


def test_memmaps(tmp_path):
    U, M = problem(20, 6, 1000)
    expected = nnls(U, M)
    for order in "CF":
        stored = np.memmap(
            tmp_path / f"M{order}", dtype=np.float64, mode="w+", shape=M.shape, order=order
        )
        stored[:] = M
        np.testing.assert_allclose(nnls(U, stored), expected, rtol=0, atol=1e-13)


def test_same_bits_on_any_number_of_threads():
    U, M = problem(20, 6, 30_000)
    with thread_limit(1):
        alone = nnls(U, M)
    np.testing.assert_array_equal(nnls(U, M), alone)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residuals_keep_their_digits_where_the_fit_is_almost_exact(dtype):
    rng = np.random.default_rng(0)
    U, H = rng.integers(0, 9, (12, 3)).astype(dtype), rng.integers(0, 9, (3, 700)).astype(dtype)
    M = U @ H  # exact: small integers
    M[5] += 2.0**-10
    np.testing.assert_array_equal(column_residuals(U, M, H), np.full(700, 2.0**-10))


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
    nnls(**given)
    with pytest.raises(error):
        nnls(**given | changes)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite_are_refused(value, dtype):
    """Also where a row of zeros in U would hide them in the products."""
    U, M = problem(20, 6, 10)
    U[4] = 0
    M = M.astype(dtype)
    M[4, 7] = value
    with pytest.raises(InputError):
        nnls(U, M)
    with pytest.raises(InputError):
        column_residuals(U, M, np.ones((6, 10)))
    U[0, 0] = value
    with pytest.raises(InputError):
        nnls(U, np.ones((20, 3)))


def test_coefficients_of_other_columns_are_refused():
    with pytest.raises(InputError):
        column_residuals(np.ones((3, 2)), np.ones((3, 5)), np.ones((2, 4)))


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the work moves on."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


@pytest.mark.parametrize("fixed", [0.0, 0.3])
@pytest.mark.parametrize("per_column", [1e-5, 2e-3])
def test_predicted_time_counts_fixed_costs_once(clock, fixed, per_column):
    def work(columns):
        clock[0] += fixed + per_column * columns.shape[1]

    seconds = predicted_seconds(work, np.ones((2, 5000)))
    assert seconds == pytest.approx(fixed + 5000 * per_column, rel=1e-6)


def test_predicted_time_excludes_compilation(clock):
    calls = []

    def work(columns):
        calls.append(columns.shape[1])
        clock[0] += 1e-3 * columns.shape[1]
        if len(calls) == 1:
            clock[0] += 7.0

    assert predicted_seconds(work, np.ones((2, 5000))) == pytest.approx(5.0)
    assert calls == [32, 256]


def test_predicted_time_of_few_columns_is_measured(clock):
    def work(columns):
        clock[0] += columns.shape[1]

    assert predicted_seconds(work, np.ones((2, 7))) == 7.0
