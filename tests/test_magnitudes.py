"""Data of any unit: powers of two change no choice and no digit, and what cannot be is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import selfdict
from selfdict import InputError, metrics
from selfdict.abundances import column_residuals
from selfdict.compute.linear_algebra import in_leading_directions, leading_directions
from selfdict.datasets import make_mixtures
from selfdict.reductions.denoising import denoise

M = make_mixtures(20, 120, 4, noise=0.02, random_state=0)[0]
D = np.column_stack([M[:, ::20], np.random.default_rng(0).random((20, 6))])
U = M[:, [3, 40, 77, 100]]
# squares, fourth powers and sums leave the range on one side or on the other
EXPONENTS = [-1000, -520, -300, 300, 520, 1000]


def scaled(A, exponent):
    if sp.issparse(A):
        return A.multiply(2.0**exponent).tocsc()
    return np.ldexp(A, exponent)


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("data", [M, sp.csc_array(M)], ids=["dense", "sparse"])
@pytest.mark.parametrize("at_most", [None, False, True], ids=["nnls", "fcls", "at most"])
def test_abundances(exponent, data, at_most):
    def solve(U, M):
        if at_most is None:
            return selfdict.nnls(U, M, return_kkt=not sp.issparse(M))
        return selfdict.fcls(U, M, at_most=at_most, return_kkt=not sp.issparse(M))

    expected = solve(U, data)
    found = solve(scaled(U, exponent), scaled(data, exponent))
    if sp.issparse(data):
        np.testing.assert_array_equal(found, expected)
        return
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_abundances_with_one_of_the_two_scaled(exponent):
    expected = selfdict.nnls(U, M)
    np.testing.assert_array_equal(
        selfdict.nnls(U, scaled(M, exponent)), np.ldexp(expected, exponent)
    )
    np.testing.assert_array_equal(
        selfdict.nnls(scaled(U, exponent), M), np.ldexp(expected, -exponent)
    )
    # columns of one dictionary, and of one scene, in units of their own
    powers = np.array([0, exponent, 0, -exponent])
    found = selfdict.nnls(np.ldexp(U, powers), M)
    np.testing.assert_array_equal(found, np.ldexp(expected, -powers[:, None]))
    powers = np.where(np.arange(M.shape[1]) % 3 == 0, exponent, 0)
    found = selfdict.nnls(U, np.ldexp(M, powers))
    np.testing.assert_array_equal(found, np.ldexp(expected, powers))


@pytest.mark.parametrize("exponent", [65, 150, 300, 1000])
@pytest.mark.parametrize("of_u", [0, 300, -300])
def test_a_point_far_beyond_all_endmembers(exponent, of_u):
    endmembers = scaled(U, of_u)
    data = scaled(M, min(of_u + exponent, 1020))
    found, kkt = selfdict.fcls(endmembers, data, return_kkt=True)
    # the endmember that is furthest in the direction of the point
    np.testing.assert_array_equal(found.argmax(axis=0), (U.T @ M).argmax(axis=0))
    np.testing.assert_allclose(found.max(axis=0), 1.0, rtol=1e-12)
    assert kkt.max() < 1e-12


@pytest.mark.parametrize("exponent", [-100, 100, 120])
def test_abundances_in_single_precision(exponent):
    single = M.astype(np.float32)
    endmembers = U.astype(np.float32)
    for solve in (selfdict.nnls, selfdict.fcls, selfdict.shares):
        found = solve(scaled(endmembers, exponent), scaled(single, exponent))
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, solve(endmembers, single))


def test_subnormal_data_in_single_precision():
    single = scaled(M.astype(np.float32), -140)
    found = selfdict.nnls(single[:, :4], single)
    expected = selfdict.nnls(single[:, :4].astype(np.float64), single.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert selfdict.spa(single, 3).size == 3
    assert selfdict.h2nmf(single, 3).sizes.size == 3


@pytest.mark.parametrize(("of_u", "of_m"), [(-100, 100), (100, -100)])
def test_coefficients_that_cannot_be_represented(of_u, of_m):
    endmembers = scaled(U.astype(np.float32), of_u)
    data = scaled(M.astype(np.float32), of_m)
    with pytest.raises(InputError):
        selfdict.nnls(endmembers, data)


@pytest.mark.parametrize("exponent", [*EXPONENTS[:-1], 1015])
@pytest.mark.parametrize("data", [M, sp.csc_array(M)], ids=["dense", "sparse"])
def test_column_residuals(exponent, data):
    H = selfdict.nnls(U, M)
    expected = column_residuals(U, M, H)
    found = column_residuals(scaled(U, exponent), scaled(data, exponent), H)
    np.testing.assert_allclose(np.ldexp(found, -exponent), expected, atol=1e-15)
    found = column_residuals(U, scaled(data, exponent), np.ldexp(H, exponent))
    np.testing.assert_allclose(np.ldexp(found, -exponent), expected, atol=1e-15)


CHOICES = {
    "spa": lambda M: selfdict.spa(M, 4),
    "snpa": lambda M: selfdict.snpa(M, 4),
    "xray": lambda M: selfdict.xray(M, 4),
    "xray with p": lambda M: selfdict.xray(M, 4, p=np.full(20, 1e200)),
    "vca": lambda M: selfdict.vca(M, 4, random_state=0),
    "h2nmf": lambda M: selfdict.h2nmf(M, 10).labels,
    "advise_rank": lambda M: selfdict.advise_rank(M).r,
    "basis": lambda M: in_leading_directions(M, 4)[1],
    "shares": lambda M: selfdict.shares(M[:, :4], M),
    "groups": lambda M: np.concatenate(selfdict.pure_groups(M, [3, 40, 77]).members),
    "relative_error": lambda M: metrics.relative_error(M, [3, 40, 77]),
    "relative_error with columns": lambda M: metrics.relative_error(M, U),
    "mrsa": lambda M: metrics.mrsa(M[:, :3], M[:, 3:6]),
}


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("name", CHOICES)
def test_results_without_a_unit(name, exponent):
    found = CHOICES[name](scaled(M, exponent))
    # shares of data of 2**-1000 meet subnormal numbers
    np.testing.assert_allclose(found, CHOICES[name](M), rtol=1e-14, atol=1e-20)


@pytest.mark.parametrize("exponent", [-100, 100, 120])
@pytest.mark.parametrize("name", CHOICES)
def test_results_without_a_unit_in_single_precision(name, exponent):
    single = M.astype(np.float32)
    np.testing.assert_array_equal(CHOICES[name](scaled(single, exponent)), CHOICES[name](single))


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("name", ["spa", "snpa", "xray", "xray with p", "basis", "groups"])
def test_sparse_data(name, exponent):
    data = sp.csc_array(M)
    np.testing.assert_array_equal(CHOICES[name](scaled(data, exponent)), CHOICES[name](data))


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_results_with_the_unit_of_the_data(exponent):
    data = scaled(M, exponent)
    groups = selfdict.pure_groups(data, [3, 40, 77])
    expected = selfdict.pure_groups(M, [3, 40, 77])
    np.testing.assert_array_equal(groups.spectra, np.ldexp(expected.spectra, exponent))
    np.testing.assert_array_equal(groups.spread, np.ldexp(expected.spread, exponent))


@pytest.mark.parametrize("max_eigenvectors", [10, 2000])
@pytest.mark.parametrize("data", [M, M.T], ids=["many points", "many features"])
def test_leading_directions_have_no_unit(max_eigenvectors, data):
    expected = leading_directions(data, 4, max_eigenvectors)
    for exponent in EXPONENTS:
        found = leading_directions(scaled(data, exponent), 4, max_eigenvectors)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("exponent", [-450, -300, 300, 450])
@pytest.mark.parametrize("D", [None, D], ids=["tied", "dictionary"])
@pytest.mark.parametrize("loss", ["squared", selfdict.Huber(0.01)], ids=["squared", "huber"])
def test_penalties_have_the_unit_of_squares(exponent, D, loss):
    expected = selfdict.mu_heuristic(M, 3, D=D, loss=loss)
    if loss != "squared":
        loss = selfdict.Huber(float(np.ldexp(0.01, exponent)))
    found = selfdict.mu_heuristic(scaled(M, exponent), 3, D=D, loss=loss)
    assert found == np.ldexp(expected, 2 * exponent)
    if D is not None:
        assert selfdict.mu_heuristic(M, 3, D=scaled(D, exponent)) == selfdict.mu_heuristic(
            M, 3, D=D
        )
    data, variance, mu = denoise(M, 4)
    denoised = denoise(scaled(M, exponent), 4)
    np.testing.assert_array_equal(denoised.data, np.ldexp(data, exponent))
    assert denoised.variance == np.ldexp(variance, 2 * exponent)
    assert denoised.mu == np.ldexp(mu, 2 * exponent)


@pytest.mark.parametrize("exponent", [-1000, -530, 530, 1000])
def test_penalties_that_cannot_be_represented(exponent):
    data = scaled(M, exponent)
    with pytest.raises(InputError):
        selfdict.mu_heuristic(data, 3)
    with pytest.raises(InputError):
        denoise(data, 4)


def test_candidates_of_subnormal_data_are_refused_with_a_sentence():
    points = np.full((30, 4), 5e-324)
    with pytest.raises(InputError):
        selfdict.FGNSR(1, candidates=5).fit(points)


def test_tensors():
    torch = pytest.importorskip("torch")
    for exponent in (-520, 520, 1000):
        tensor = torch.from_numpy(scaled(M, exponent))
        np.testing.assert_array_equal(selfdict.spa(tensor, 4), selfdict.spa(M, 4))
        found = selfdict.nnls(scaled(U, exponent), tensor)
        expected = selfdict.nnls(U, torch.from_numpy(M))
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


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
    model = selfdict.FGNSR(3).fit(data.T.astype(dtype))
    assert model.components_.dtype == native
    assert model.transform(data.T.astype(dtype)).dtype == native
    assert selfdict.SPA(3).fit_transform(data.T.astype(dtype)).dtype == native
