"""Data of any ordinary unit give the same answers, and others are refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import selfdict
from selfdict import InputError, Problem, WorkingSet, metrics, working_set
from selfdict.abundances import standard_errors
from selfdict.abundances.least_squares import fit_soft_sum
from selfdict.datasets import make_mixtures
from selfdict.reductions.steps import denoise

M = make_mixtures(20, 120, 4, noise=0.02, random_state=0)[0]
U = M[:, [3, 40, 77, 100]]
# what a function returns does not depend on the unit of M
FUNCTIONS = {
    "spa": lambda M: selfdict.spa(M, 4),
    "snpa": lambda M: selfdict.snpa(M, 4),
    "xray": lambda M: selfdict.xray(M, 4),
    "vca": lambda M: selfdict.vca(M, 4, random_state=0),
    "h2nmf": lambda M: selfdict.h2nmf(M, 10).labels,
    "nnls": lambda M: selfdict.nnls(M[:, :4], M),
    "fcls": lambda M: selfdict.fcls(M[:, :4], M),
    "shares": lambda M: selfdict.shares(M[:, :4], M),
    "soft_sum": lambda M: fit_soft_sum(M[:, :4], M, 0.01).H,
    "standard errors": lambda M: standard_errors(
        M[:, :4], np.full((4, 1), 0.25), [0.1 * M.max()], kind="fcls"
    ),
    "groups": lambda M: np.concatenate(selfdict.pure_groups(M, [3, 40, 77]).members),
    "advise_rank": lambda M: selfdict.advise_rank(M).r,
    "relative_error": lambda M: metrics.relative_error(M, [3, 40, 77]),
    "mrsa": lambda M: metrics.mrsa(M[:, :3], M[:, 3:6]),
    "working_set": lambda M: selfdict.working_set(M, selfdict.mu_heuristic(M, 4)).diagonal,
    "fast_gradient": lambda M: (
        selfdict.fast_gradient(M, selfdict.mu_heuristic(M, 4), max_iter=20).diagonal
    ),
    "conic": lambda M: selfdict.conic(M[:, :12], mu=selfdict.mu_heuristic(M, 4)).diagonal,
    "smooth": lambda M: selfdict.working_set(M, 0.5 * M.max() ** 2, smooth=M.max() ** 2).diagonal,
    "denoise": lambda M: denoise(M, 4).data / M.max(),
}
# near the ends of what is accepted, in both dtypes
UNITS = [(np.float64, -95), (np.float64, 95), (np.float32, -35), (np.float32, 35)]


@pytest.mark.parametrize(("dtype", "exponent"), UNITS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_unit_does_not_matter(name, dtype, exponent):
    data = M.astype(dtype)
    found = FUNCTIONS[name](np.ldexp(data, exponent))
    np.testing.assert_array_equal(found, FUNCTIONS[name](data))


@pytest.mark.parametrize("exponent", [65, 95])
@pytest.mark.parametrize("of_u", [0, -90])
def test_a_point_far_beyond_all_endmembers(exponent, of_u):
    found = selfdict.fcls(np.ldexp(U, of_u), np.ldexp(M, of_u + exponent))
    # the endmember that is furthest in the direction of the point
    np.testing.assert_array_equal(found.argmax(axis=0), (U.T @ M).argmax(axis=0))
    np.testing.assert_allclose(found.max(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-31, 1e31, 5e-324, 1e300])
@pytest.mark.parametrize("kind", [np.asarray, sp.csc_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ["spa", "snpa", "xray", "working_set", "groups"])
def test_columns_of_other_sizes_are_refused(name, size, kind):
    data = M.copy()
    data[:, 7] = 0.0
    FUNCTIONS[name](kind(data))
    data[3, 7] = size
    with pytest.raises(InputError):
        FUNCTIONS[name](kind(data))


@pytest.mark.parametrize("size", [1e-13, 1e13])
def test_columns_of_other_sizes_are_refused_in_single_precision(size):
    data = M.astype(np.float32)
    data[:, 7] = 0.0
    data[3, 7] = size
    for name in set(FUNCTIONS) - {"mrsa", "denoise", "soft_sum", "standard errors"}:
        with pytest.raises(InputError):
            FUNCTIONS[name](data)
    with pytest.raises(InputError):
        Problem(M.astype(np.float32), 0.1, D=size * U)


def test_small_entries_of_a_column_are_data():
    data = M.copy()
    data[5] = 1e-300
    selfdict.spa(data, 4)
    assert WorkingSet(tol=1e-6).solve(Problem(data, 0.1)).gap <= 1e-6


MIXED = np.array([[0.5, 0.3, 0.2, 0.4, 0.1, 0.6, 0.7], [0.5, 0.7, 0.8, 0.6, 0.9, 0.4, 0.3]])


def two_small_columns(small, large, dtype):
    """Return two pure columns of one size, and mixtures of another."""
    M = np.zeros((2, 9), dtype)
    M[0, 0] = M[1, 1] = small
    M[:, 2:] = large * MIXED
    return M


@pytest.mark.parametrize("small", [2.0**-25, 2.0**-38])
def test_small_columns_count_as_much_in_single_precision(small):
    M = two_small_columns(small, 2.0**38, np.float32)
    mu = 2.0**76 * 1e-2
    found = working_set(M, mu, tol=1e-6)
    exact = working_set(M.astype(np.float64), mu, tol=1e-9)
    assert found.dual_bound <= exact.objective * (1 + 1e-9)
    assert found.objective == pytest.approx(exact.objective, rel=1e-5)


@pytest.mark.parametrize("exponents", [(95, -95), (0, -95)])
def test_small_columns_count_as_much_in_double_precision(exponents):
    large, small = (2.0**exponent for exponent in exponents)
    ordinary = working_set(two_small_columns(2.0**-30, 1.0, np.float64), 1e-2, tol=1e-9)
    M = two_small_columns(small, large, np.float64)
    mu = large**2 * 1e-2
    found = working_set(M, mu, tol=1e-9)
    assert found.dual_bound / large**2 <= ordinary.objective * (1 + 1e-9)
    assert found.objective / large**2 == pytest.approx(ordinary.objective, rel=1e-6)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("size", [4, 8])
def test_byte_order(order, size):
    dtype = np.dtype(f"{order}f{size}")
    native = np.dtype(f"f{size}")
    endmembers = U.astype(native)
    data = M.astype(native)
    expected = selfdict.nnls(endmembers, data)
    found = selfdict.nnls(endmembers.astype(dtype), data.astype(dtype))
    assert found.dtype == native
    np.testing.assert_array_equal(found, expected)
    assert selfdict.FGNSR(3).fit(data.T.astype(dtype)).components_.dtype == native
    assert selfdict.SPA(3).fit_transform(data.T.astype(dtype)).dtype == native
