import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import naive_abundances
from naive_abundances import fcls_violation
from selfdict import InputError, fcls, nnls


def by_clarabel(U, m, at_most=False):
    """The quadratic program, solved by an interior-point method."""
    r = U.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    total = clarabel.NonnegativeConeT(1) if at_most else clarabel.ZeroConeT(1)
    constraints = sp.csc_matrix(np.vstack([np.ones((1, r)), -np.eye(r)]))
    bounds = np.append(1.0, np.zeros(r))
    hessian = sp.triu(sp.csc_matrix(U.T @ U), format="csc")
    cones = [total, clarabel.NonnegativeConeT(r)]
    return np.array(
        clarabel.DefaultSolver(hessian, -U.T @ m, constraints, bounds, cones, settings).solve().x
    )


def problem(m, r, n, seed=0, condition=None):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((m, r))
    if condition is not None:
        left, _, right = np.linalg.svd(U, full_matrices=False)
        U = left * np.geomspace(1, 1 / condition, min(m, r)) @ right
    M = U @ rng.dirichlet(np.full(r, 0.5), n).T
    return U, M + rng.choice([0.0, 0.1, 1.0], n) * rng.standard_normal((m, n))


@pytest.mark.parametrize("at_most", [False, True])
@pytest.mark.parametrize(("m", "r"), [(20, 6), (12, 12), (30, 20), (8, 2)])
def test_equals_a_quadratic_program_solver(m, r, at_most):
    U, M = problem(m, r, 30)
    H = fcls(U, M, at_most=at_most)
    expected = np.stack([by_clarabel(U, column, at_most) for column in M.T], axis=1)
    np.testing.assert_allclose(H, expected, rtol=0, atol=1e-5)  # that of the interior point
    ours, theirs = (np.linalg.norm(M - U @ h, axis=0) for h in (H, expected))
    assert np.all(ours <= theirs + 1e-8)
    assert fcls_violation(U, M, H, at_most) < 1e-13


def check_feasible(H, at_most=False):
    assert H.min() >= 0
    sums = H.sum(axis=0)
    assert np.all(sums <= 1 + 1e-14)
    assert at_most or np.all(sums >= 1 - 1e-14)


@given(
    U=hnp.arrays(
        np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.integers(-2, 2)
    ),
    seed=st.integers(0, 10_000),
)
def test_degenerate_cases_of_small_integers(U, seed):
    """Duplicates, a zero endmember, affine dependence, ties: the fit of all supports tried."""
    M = np.random.default_rng(seed).integers(-3, 4, size=(U.shape[0], 4)).astype(float)
    H = fcls(U, M)
    check_feasible(H)
    assert fcls_violation(U, M, H) < 1e-13
    expected = np.stack([naive_abundances.fcls(U, m) for m in M.T], axis=1)
    np.testing.assert_allclose(U @ H, U @ expected, atol=1e-12)
    H = fcls(U, M, at_most=True)
    check_feasible(H, at_most=True)
    assert fcls_violation(U, M, H, at_most=True) < 1e-13


@given(seed=st.integers(0, 10_000), r=st.integers(1, 5), extra=st.integers(0, 4))
def test_reference_shift_and_scale(seed, r, extra):
    U, M = problem(r + extra, r, 4, seed=seed)
    H = fcls(U, M)
    check_feasible(H)
    tolerance = 1e-13 * np.linalg.cond(np.vstack([U, np.ones(r)])) ** 2
    expected = np.stack([naive_abundances.fcls(U, m) for m in M.T], axis=1)
    np.testing.assert_allclose(H, expected, rtol=0, atol=tolerance)
    shift = np.random.default_rng(seed).standard_normal((r + extra, 1))
    np.testing.assert_allclose(fcls(U + shift, M + shift), H, rtol=0, atol=10 * tolerance)
    np.testing.assert_allclose(fcls(1e6 * U, 1e6 * M), H, rtol=0, atol=tolerance)


@given(seed=st.integers(0, 10_000))
def test_sums_of_at_most_one_are_nnls_or_fcls(seed):
    U, M = problem(8, 4, 10, seed=seed)
    M *= np.linspace(0.1, 2, 10)
    free = nnls(U, M)
    expected = np.where(free.sum(axis=0) <= 1, free, fcls(U, M))
    np.testing.assert_allclose(fcls(U, M, at_most=True), expected, rtol=0, atol=1e-10)


@given(seed=st.integers(0, 10_000), r=st.integers(1, 8), at_most=st.booleans())
def test_the_fit_is_a_projection(seed, r, at_most):
    """Onto a convex set: idempotent, and no two points go further apart."""
    U, M = problem(4, r, 6, seed=seed)
    fit = U @ fcls(U, M, at_most=at_most)
    np.testing.assert_allclose(U @ fcls(U, fit, at_most=at_most), fit, atol=1e-9)
    for a in range(5):
        assert (
            np.linalg.norm(fit[:, a] - fit[:, a + 1])
            <= np.linalg.norm(M[:, a] - M[:, a + 1]) + 1e-9
        )


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e8, 1e12])
def test_ill_conditioned_endmembers(condition):
    U, M = problem(25, 8, 200, condition=condition)
    H = fcls(U, M)
    check_feasible(H)
    assert fcls_violation(U, M, H) < 1e-13


@pytest.mark.parametrize("spread", [0.0, 1e-14, 1e-10, 1e-5])
def test_endmembers_that_are_nearly_equal(spread):
    """Seen from them every pixel is far away, which must not cost the sums their digits."""
    rng = np.random.default_rng(0)
    for r in range(1, 5):
        U = rng.random((7, 1)) + spread * rng.standard_normal((7, r))
        for at_most in (False, True):
            M = rng.standard_normal((7, 50))
            H = fcls(U, M, at_most=at_most)
            check_feasible(H, at_most)
            assert fcls_violation(U, M, H, at_most) < 1e-13


def test_vertices_and_one_endmember():
    U, _ = problem(20, 6, 1)
    np.testing.assert_allclose(fcls(U, U), np.eye(6), atol=1e-13)
    np.testing.assert_array_equal(fcls(U[:, :1], U), np.ones((1, 6)))
    np.testing.assert_array_equal(fcls(np.zeros((3, 1)), np.ones((3, 2))), np.ones((1, 2)))
    H = fcls(np.ones((3, 4)), np.ones((3, 2)))  # the same endmember four times
    np.testing.assert_allclose(H.sum(axis=0), 1, rtol=0, atol=1e-15)


def test_starts_and_float32():
    U, M = problem(20, 6, 500)
    for at_most in (False, True):
        H = fcls(U, M, at_most=at_most)
        for start in (H, np.zeros_like(H), -H, np.random.default_rng(1).random(H.shape)):
            np.testing.assert_allclose(fcls(U, M, H0=start, at_most=at_most), H, rtol=0, atol=1e-12)
        assert fcls(U.astype(np.float32), M.astype(np.float32), at_most=at_most).dtype == np.float32


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        (dict(U=np.ones((3, 6))), InputError),
        (dict(H0=np.ones((7, 10)), at_most=True), InputError),
        (dict(M=np.ones((5, 10)) + 0j), TypeError),
        (dict(M=np.full((5, 10), np.nan)), InputError),
    ],
)
def test_invalid_input(changes, error):
    given = dict(U=np.ones((5, 6)), M=np.ones((5, 10)))
    fcls(**given)
    with pytest.raises(error):
        fcls(**given | changes)
