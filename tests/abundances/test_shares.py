"""Shares as parts of areas: brightness, noise and spread are known here."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import nnls as independent_nnls
from scipy.sparse import csc_array

from selfdict import FGNSR, SPA, InputError, fcls, nnls, shares
from selfdict.abundances import Illumination, unit_shares
from selfdict.abundances.illumination import as_shares
from selfdict.abundances.least_squares import fit_soft_sum

N_BANDS = 80


def spectra(dark=1.0):
    """Return four smooth spectra, (80, 4); the first one is as dark as asked for."""
    x = np.linspace(0, 1, N_BANDS)[:, None]
    U = 0.2 + np.exp(-(((x - [0.15, 0.4, 0.65, 0.9]) / 0.15) ** 2))
    return U * [dark, 1.0, 1.2, 0.9]


def scene(*, dark=1.0, spread=0.0, noise=0.0, smooth=0, profile=1.0, n=3000, seed=0):
    """Return spectra, shares of areas, brightness, and pixels with noise, also a smooth one.

    ``profile`` (80, 1) multiplies the noise of each band.
    """
    rng = np.random.default_rng(seed)
    U = spectra(dark)
    A = rng.dirichlet(np.full(4, 0.3), n).T
    b = np.exp(spread * rng.standard_normal(n))
    W = rng.standard_normal((N_BANDS, n))
    if smooth:
        W = gaussian_filter1d(W, smooth, axis=0)
        W /= W.std()
    M = U @ A * b
    return U, A, b, M + noise * np.sqrt((M**2).mean()) * profile * W


def rmse(found, A):
    return float(np.sqrt(((found - A) ** 2).mean()))


@pytest.mark.parametrize("stiffness", [1e-8, 1e-3, 1.0, 1e3, 1e7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_soft_sum_against_a_stacked_problem(stiffness, dtype):
    U, _, _, M = scene(dark=0.1, spread=0.2, noise=0.05, n=40)
    U = U.astype(dtype)
    M = M.astype(dtype)
    row = np.sqrt(stiffness) * np.linalg.norm(U.astype(np.float64), axis=0).max()
    A = np.vstack([U, np.full((1, 4), row)]).astype(np.float64)
    B = np.vstack([M, np.full((1, 40), row)]).astype(np.float64)
    expected = np.stack([independent_nnls(A, b)[0] for b in B.T], axis=1)
    found = fit_soft_sum(U, M, stiffness).H
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(fit_soft_sum(U, csc_array(M), stiffness).H, found, atol=1e-6)


@pytest.mark.parametrize("stiffness", [0.0, 0.1, np.inf])
@pytest.mark.parametrize("alike", [0.5, 1e-7])
def test_weights_of_bands_against_weighted_data(stiffness, alike):
    U, _, _, M = scene(spread=0.2, noise=0.05, n=60)
    U[:, 3] = alike * U[:, 3] + (1 - alike) * U[:, 2]
    weights = np.random.default_rng(3).uniform(0.1, 3.0, N_BANDS)
    found = fit_soft_sum(U, M, stiffness, weights=weights, with_residuals=True)
    by_hand = fit_soft_sum(weights[:, None] * U, weights[:, None] * M, stiffness)
    # coefficients of spectra that are alike have fewer digits
    np.testing.assert_allclose(found.H, by_hand.H, atol=1e-10 / alike)
    plain = ((M - U @ found.H) ** 2).sum(axis=0)
    np.testing.assert_allclose(found.squared_residuals, plain, rtol=1e-9)
    weighted = ((weights[:, None] * (M - U @ found.H)) ** 2).sum(axis=0)
    np.testing.assert_allclose(found.weighted_squares, weighted, rtol=1e-9)
    np.testing.assert_allclose(found.squared_norms, (M**2).sum(axis=0), rtol=1e-12)
    # a model of dense pixels may be asked about sparse ones
    sparse = fit_soft_sum(U, csc_array(M), stiffness, weights=weights, with_residuals=True)
    np.testing.assert_allclose(sparse.weighted_squares, weighted, rtol=1e-9)


def test_soft_sum_lies_between_nnls_and_fcls():
    U, _, _, M = scene(dark=0.1, spread=0.2, noise=0.05, n=50)
    np.testing.assert_array_equal(fit_soft_sum(U, M, 0.0).H, nnls(U, M))
    np.testing.assert_array_equal(fit_soft_sum(U, M, np.inf).H, fcls(U, M))
    np.testing.assert_allclose(fit_soft_sum(U, M, 1e-18).H, nnls(U, M), atol=1e-8)
    np.testing.assert_allclose(fit_soft_sum(U, M, 1e12).H, fcls(U, M), atol=1e-6)


def test_soft_sum_of_nearly_equal_spectra():
    U = spectra()
    U[:, 1] = U[:, 0] * (1 + 1e-9 * np.arange(N_BANDS))
    _, _, _, M = scene(n=20)
    row = np.sqrt(0.1) * np.linalg.norm(U, axis=0).max()
    A = np.vstack([U, np.full((1, 4), row)])
    found = fit_soft_sum(U, M, 0.1).H
    for j in range(20):
        b = np.append(M[:, j], row)
        best = independent_nnls(A, b)[1]
        assert np.linalg.norm(A @ found[:, j] - b) <= best * (1 + 1e-9)


@pytest.mark.parametrize("dark", [1.0, 0.05])
def test_shares_without_noise_are_areas(dark):
    U, A, b, M = scene(dark=dark, spread=0.3)
    np.testing.assert_allclose(shares(U, M), A, atol=1e-7)
    illumination = Illumination.of(U, M)
    np.testing.assert_allclose(illumination.coefficients(M).sum(axis=0), b, rtol=1e-6)


def test_shares_sum_to_one_whatever_the_brightness():
    U, _, _, M = scene(spread=0.1, noise=0.02)
    found = shares(U, M)
    np.testing.assert_allclose(found.sum(axis=0), 1.0, rtol=1e-12)
    # a scene in which all is five times as bright: the sums leave one by as much, hence are free
    np.testing.assert_allclose(shares(U, 5 * M), found, atol=0.01)
    dark = np.column_stack([np.zeros(N_BANDS), U[:, 1]])
    dark[0] = 0.0
    for pixels in (dark, csc_array(dark)):
        np.testing.assert_allclose(shares(U, pixels).sum(axis=0), [0, 1])
    with pytest.raises(InputError):
        shares(U * [1, 0, 1, 1], M)


def test_unit_shares_do_not_depend_on_the_brightness_of_spectra():
    U, A, _, M = scene(dark=0.2)
    found = unit_shares(U, M)
    np.testing.assert_allclose(unit_shares(U * [0.1, 7.0, 30.0, 1.0], 5 * M), found, atol=1e-9)
    expected = A * np.linalg.norm(U, axis=0)[:, None]
    np.testing.assert_allclose(found, as_shares(expected), atol=1e-8)


@pytest.mark.parametrize("noise", [0.009, 0.03])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("dark", [1.0, 0.05])
def test_shares_are_nearly_as_accurate_as_the_better_of_nnls_and_fcls(dark, spread, noise):
    """Of free sums, and of sums fixed at one."""
    U, A, _, M = scene(dark=dark, spread=spread, noise=noise)
    better = min(rmse(as_shares(nnls(U, M)), A), rmse(fcls(U, M), A))
    assert rmse(shares(U, M), A) <= 1.1 * better


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3])
def test_smooth_noise_is_distinguished_from_varying_brightness(spread):
    """Noise that looks like spectra is larger along them than its variance in each band says."""
    U, A, _, M = scene(dark=0.05, spread=spread, noise=0.009, smooth=3)
    found = rmse(shares(U, M), A)
    free = rmse(as_shares(nnls(U, M)), A)
    if spread == 0:
        assert found < 0.5 * free
    else:
        assert found <= 1.05 * min(free, rmse(fcls(U, M), A))


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.2])
def test_spread_and_noise_are_recovered(spread):
    U, _, _, M = scene(dark=0.2, spread=spread, noise=0.01, n=6000)
    model = Illumination.of(U, M)
    assert model.spread == pytest.approx(spread, rel=0.05, abs=0.004)
    clean = scene(dark=0.2, spread=spread, n=6000)[3]
    sigma = 0.01 * np.sqrt((clean**2).mean()) / np.linalg.norm(U, axis=0).max()
    assert model.noise == pytest.approx(sigma, rel=0.05)


def noise_profile(strength=1.0):
    """Return the noise of each band in units of the typical one, over an order of magnitude."""
    return np.exp(strength * np.sin(np.arange(N_BANDS) / 3.0))[:, None]


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_bands_count_by_their_noise(spread):
    profile = noise_profile(2.0)
    U, A, _, M = scene(dark=0.2, spread=spread, noise=0.01, profile=profile)
    model = Illumination.of(U, M)
    # a few pixels with equal noise are assumed besides, so that the largest weights are smaller
    noisy = profile[:, 0] > 1
    constant = model.weights[noisy] * profile[noisy, 0]
    np.testing.assert_allclose(constant / np.median(constant), 1.0, rtol=0.3)
    assert model.weights[~noisy].min() > 0.9
    assert model.weights.max() > 2
    equal = replace(model, weights=None)
    assert rmse(shares(U, M), A) < 0.4 * rmse(shares(U, M, illumination=equal), A)


def test_equal_noise_costs_nothing():
    U, A, _, M = scene(dark=0.2, spread=0.2, noise=0.03)
    model = Illumination.of(U, M)
    np.testing.assert_allclose(model.weights, 1.0, atol=0.25)
    equal = replace(model, weights=None)
    assert rmse(shares(U, M), A) < 1.02 * rmse(shares(U, M, illumination=equal), A)


def test_few_bands_have_equal_weights():
    """With one band more than materials, every residual is a multiple of the same vector."""
    rng = np.random.default_rng(0)
    U = rng.random((4, 3))
    M = U @ rng.dirichlet(np.full(3, 5.0), 2000).T + 0.001 * rng.standard_normal((4, 2000))
    np.testing.assert_allclose(Illumination.of(U, M).weights, 1.0, atol=0.05)


def test_a_missing_material_does_not_set_the_weights():
    U, _, _, M = scene(noise=0.01)
    peak = np.exp(-((np.linspace(0, 1, N_BANDS) - 0.5) ** 2) / 1e-3)
    M[:, ::4] += 0.5 * peak[:, None]
    np.testing.assert_allclose(Illumination.of(U, M).weights, 1.0, atol=0.3)


def test_sparse_data_has_no_weights_of_bands():
    U, _, _, M = scene(spread=0.2, noise=0.02, n=400)
    model = Illumination.of(U, csc_array(M))
    assert model.weights is None
    assert model.spread == pytest.approx(Illumination.of(U, M).spread, rel=0.1)


def test_pixels_without_weight_tell_nothing_of_the_noise():
    U = np.array([[1.0, 0.5], [0.5, 1.0]])
    mixed = U @ np.array([[0.5, 0.4, 0.6], [0.5, 0.6, 0.4]])
    outside = np.array([[1.0, 0.1, 1.2], [0.1, 1.0, 0.2]])
    light = Illumination.of(U, np.hstack([mixed, outside]), sample_weight=np.repeat([1.0, 0.0], 3))
    np.testing.assert_allclose(light.spectra, Illumination.of(U, mixed).spectra)


def test_weights_count_as_repeated_pixels():
    U, _, _, M = scene(spread=0.2, noise=0.02, n=400)
    weight = np.random.default_rng(1).integers(1, 6, 400)
    repeated = Illumination.of(U, np.repeat(M, weight, axis=1))
    weighted = Illumination.of(U, M, sample_weight=weight)
    assert weighted.spread == pytest.approx(repeated.spread, rel=1e-3)


def test_shaded_endmembers_are_rescaled_to_the_brightness_of_their_material():
    U, A, _, M = scene(spread=0.05)
    shaded = U * [0.2, 1.0, 3.0, 1.0]
    model = Illumination.of(shaded, M, rescale=True)
    np.testing.assert_allclose(model.spectra, U, rtol=0.05)
    assert rmse(shares(shaded, M, illumination=model), A) < 0.02


@pytest.mark.parametrize("Estimator", [FGNSR, SPA])
def test_estimators_give_areas_and_brightness(Estimator):
    """The brightest pure pixel is selected; its neighbours tell how bright the material is."""
    U, A, b, M = scene(dark=0.1, spread=0.2, n=1500)
    M = np.hstack([U * 1.5, M])
    A = np.hstack([np.eye(4), A])
    model = Estimator(4).fit(M.T)
    match = (nnls(U, model.components_.T) > 0.5).argmax(axis=0)
    found = model.shares(M.T)
    assert rmse(found.T, A[match]) < 0.03
    brightness = model.brightness(M.T)
    assert brightness.shape == (1504,)
    np.testing.assert_allclose(brightness[4:], b, rtol=0.15)


def test_few_bands_and_few_pixels():
    """As many materials as bands: the residual tells nothing, and sums are free."""
    U = np.array([[1.0, 0.2], [0.1, 2.0]])
    M = U @ [[0.25, 0.5], [0.75, 0.5]] * [2.0, 0.5]
    np.testing.assert_allclose(shares(U, M), [[0.25, 0.5], [0.75, 0.5]], atol=1e-12)
    assert Illumination.of(U, M).stiffness == 0
    assert shares([[1.0], [2.0]], [[3.0], [6.0]]).tolist() == [[1.0]]
