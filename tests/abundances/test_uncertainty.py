"""Standard errors of abundances against bootstraps that fit every pixel again."""

import numpy as np
import pytest
from scipy.optimize import nnls as independent_nnls

from selfdict import FGNSR, SPA, InputError, fcls, nnls, pure_groups, shares
from selfdict.abundances import Illumination, Variability, column_residuals, standard_errors

N_BANDS = 60


def smooth_spectra(r, rng):
    """Return r spectra of length one that are smooth, as real ones are."""
    x = np.linspace(0, 1, N_BANDS)[:, None]
    centres = np.linspace(0.1, 0.9, r) + 0.05 * rng.random(r)
    U = 0.3 + np.exp(-(((x - centres) / 0.2) ** 2)) + 0.2 * x * rng.random(r)
    return U / np.linalg.norm(U, axis=0)


def fit(U, M, kind):
    """Fit every column by SciPy; a heavy row of ones stands for the sum of ``fcls``."""
    A, B = U, M
    if kind == "fcls":
        A = np.vstack([U, np.full((1, U.shape[1]), 1e3)])
        B = np.vstack([M, np.full((1, M.shape[1]), 1e3)])
    H = np.stack([independent_nnls(A, b)[0] for b in B.T], axis=1)
    if kind == "shares":
        H = H / H.sum(axis=0)
    return H


@pytest.mark.parametrize("kind", ["shares", "nnls", "fcls"])
def test_noise_alone_against_a_bootstrap_of_the_residual(kind):
    rng = np.random.default_rng(0)
    U = smooth_spectra(4, rng)
    for h in ([0.5, 0.3, 0.2, 0.0], [0.25, 0.25, 0.25, 0.25]):
        m = U @ np.array(h) + 0.01 * rng.standard_normal(N_BANDS)
        H = nnls(U, m[:, None])
        if kind == "fcls":
            H = fcls(U, m[:, None])
        predicted = standard_errors(U, H, column_residuals(U, m[:, None], H), kind=kind)[:, 0]
        free = np.flatnonzero(H[:, 0] > 0)
        degrees = N_BANDS - free.size + (kind == "fcls")
        residual = (m - U @ H[:, 0]) * np.sqrt(N_BANDS / degrees)
        residual -= residual.mean()
        drawn = (U @ H) + rng.choice(residual, (N_BANDS, 1500))
        spread = fit(U, drawn, kind).std(axis=1)
        inside = fit(U, drawn, kind).mean(axis=1) > 4 * spread
        assert inside.sum() >= 3
        np.testing.assert_allclose(predicted[inside], spread[inside], rtol=0.12)
        # a share at zero cannot fall, so that it varies less than a free one would
        assert (predicted[~inside] >= 0.5 * spread[~inside]).all()


@pytest.mark.parametrize("varies", [False, True])
def test_errors_of_soft_sums_against_repeated_draws(varies):
    """Pixels of varying brightness, one spectrum dark: the sum is drawn to one by the right λ.

    The noise may vary by bands; weights then are one over the noise.
    """
    rng = np.random.default_rng(7)
    U = smooth_spectra(3, rng) * [1.0, 1.0, 0.1]
    h = np.array([0.5, 0.3, 0.2])
    n = 4000
    sigma = 0.002
    spread = 0.1
    b = 1 + spread * rng.standard_normal(n)
    noise = np.ones(N_BANDS)
    if varies:
        noise = np.exp(np.sin(np.arange(N_BANDS) / 2.0))
    M = (U @ h)[:, None] * b + sigma * noise[:, None] * rng.standard_normal((N_BANDS, n))
    longest = np.linalg.norm(U / noise[:, None], axis=0).max()
    model = Illumination(U, noise=sigma / longest, spread=spread, weights=1 / noise)
    parts, std = shares(U, M, illumination=model, return_std=True)
    inside = (parts > 0).all(axis=0)
    assert inside.mean() > 0.8
    scaled = (parts - h[:, None])[:, inside] / std[:, inside]
    np.testing.assert_allclose(scaled.std(axis=1), 1.0, atol=0.15)


def variants(U, rng, count=400, size=0.03):
    """Return pixels of each material that differ by smooth curves, and their groups' spread."""
    x = np.linspace(0, 1, N_BANDS)
    curves = np.stack([np.sin(np.pi * (k + 1) * x + k) for k in range(4)], axis=1)
    pixels = []
    for k in range(U.shape[1]):
        changes = size * np.linalg.norm(U[:, k]) / np.sqrt(N_BANDS)
        P = U[:, [k]] + changes * curves @ rng.standard_normal((4, count))
        pixels.append(P / np.linalg.norm(P, axis=0))
    return pixels


def test_spread_against_a_bootstrap_of_the_groups():
    rng = np.random.default_rng(1)
    pixels = variants(smooth_spectra(3, rng), rng)
    U = np.stack([P.mean(axis=1) for P in pixels], axis=1)
    U /= np.linalg.norm(U, axis=0)
    known = Variability(tuple(P - P.mean(axis=1, keepdims=True) for P in pixels))
    traces = np.array([P.var(axis=1).sum() for P in pixels])
    h = np.array([0.5, 0.3, 0.2])
    expected_square = (h**2 * traces).sum()  # the residual of an average pixel, all of it spread
    residual = np.sqrt([expected_square])
    predicted = standard_errors(U, h[:, None], residual, variability=known)[:, 0]
    n = 1500
    drawn = sum(h[k] * P[:, rng.integers(0, P.shape[1], n)] for k, P in enumerate(pixels))
    found = fit(U, drawn, "shares").std(axis=1)
    np.testing.assert_allclose(predicted, found, rtol=0.15)
    # the residual alone knows nothing of what the endmembers can imitate
    blind = standard_errors(U, h[:, None], residual)[:, 0]
    assert (blind < 0.7 * found).all()


def test_groups_know_the_spread_of_their_pixels():
    rng = np.random.default_rng(2)
    U = smooth_spectra(3, rng)
    pixels = variants(U, rng, count=300, size=0.05)
    brightness = rng.uniform(0.5, 2, 900)
    M = np.hstack(pixels) * brightness
    groups = pure_groups(M, [0, 300, 600])
    found = groups.variability
    for k, group in enumerate(groups.members):
        assert len(group) > 100
        spread = np.linalg.norm(groups.spread[:, k]) / np.linalg.norm(groups.spectra[:, k])
        variance = (found.deviations[k] ** 2).sum(axis=0).mean()
        assert np.sqrt(variance) == pytest.approx(spread, rel=1e-2)
        assert (groups.pixel_variability.deviations[k] ** 2).sum(axis=0).mean() > variance


@pytest.mark.parametrize("kind", ["pixels", "average"])
def test_estimators_return_errors(kind):
    rng = np.random.default_rng(2)
    M = np.hstack(variants(smooth_spectra(3, rng), rng, count=100, size=0.05))
    model = FGNSR(3, endmembers=kind, random_state=0).fit(M.T)
    parts, std = model.shares(M.T, return_std=True)
    np.testing.assert_array_equal(parts, model.shares(M.T))
    assert std.shape == parts.shape
    blind = SPA(3).fit(M.T).shares(M.T, return_std=True)[1]  # SPA knows no groups
    assert np.median(std) > np.median(blind)


def test_a_share_of_zero_has_the_error_of_a_free_one():
    rng = np.random.default_rng(3)
    U = smooth_spectra(4, rng)
    H = np.array([[0.6], [0.4], [0.0], [0.0]])
    predicted = standard_errors(U, H, np.array([0.1]))[:, 0]
    sigma = 0.1 / np.sqrt(N_BANDS - 2)
    for k in (2, 3):
        inverse = np.linalg.inv(U[:, [0, 1, k]].T @ U[:, [0, 1, k]])
        assert predicted[k] == pytest.approx(sigma * np.sqrt(inverse[2, 2]))


@pytest.mark.parametrize("kind", ["shares", "fcls"])
def test_a_share_of_one_has_the_error_of_what_another_may_take(kind):
    rng = np.random.default_rng(4)
    U = smooth_spectra(3, rng)
    truth = np.array([[0.97], [0.02], [0.01]])
    M = U @ np.tile(truth, 2000) + 0.02 * rng.standard_normal((N_BANDS, 2000))
    H = nnls(U, M)
    if kind == "fcls":
        H = fcls(U, M)
    pure = np.flatnonzero((H > 0).sum(axis=0) == 1)
    assert pure.size > 100
    H = H[:, pure]
    std = standard_errors(U, H, column_residuals(U, M[:, pure], H), kind=kind)
    np.testing.assert_array_equal(std.max(axis=0), std[0])
    assert (std[0] > 0).all()
    assert (np.abs(1 - truth[0]) <= 2 * std[0]).mean() > 0.9


def test_coefficients_are_relative_to_the_endmembers():
    rng = np.random.default_rng(5)
    U = smooth_spectra(3, rng)
    pixels = variants(U, rng)
    known = Variability(tuple(P - P.mean(axis=1, keepdims=True) for P in pixels))
    M = U @ rng.dirichlet(np.ones(3), 10).T + 0.01 * rng.standard_normal((N_BANDS, 10))
    scale = np.array([2.0, 0.5, 10.0])
    results = []
    for E in (U, U * scale):
        H = nnls(E, M)
        residuals = column_residuals(E, M, H)
        results.append(standard_errors(E, H, residuals, kind="nnls", variability=known))
    np.testing.assert_allclose(results[1] * scale[:, None], results[0], rtol=1e-6)


def test_special_cases():
    rng = np.random.default_rng(6)
    U = smooth_spectra(3, rng)
    std = shares(U, np.zeros((N_BANDS, 2)), return_std=True)[1]
    assert np.isnan(std).all()  # no share, no error
    few = U[:3]
    for stiffness in (0.0, 1e-9):
        H = np.ones((3, 1))
        std = standard_errors(few, H, [1e-12], stiffness=stiffness, spread=0.1)
        assert np.isnan(std).all()  # three bands fit three spectra: nothing tells the noise
    alike = np.column_stack([U[:, 0], U[:, 0] * (1 + 1e-9), U[:, 1]])
    M = U[:, :2].sum(axis=1, keepdims=True) + 0.05 * rng.standard_normal((N_BANDS, 1))
    std = shares(alike, M, return_std=True)[1]
    assert np.isfinite(std).all()
    assert std.max() <= 0.5
    one = shares(U[:, :1], M, return_std=True)
    np.testing.assert_allclose(one[0], 1.0)
    np.testing.assert_allclose(one[1], 0.0, atol=1e-12)  # a single share is one, whatever the noise
    with pytest.raises(InputError):
        shares(U, M, return_std=True, variability=Variability((np.zeros((N_BANDS, 1)),) * 2))


@pytest.mark.parametrize(
    "changes",
    [
        dict(kind="percent"),
        dict(H=[[1.0]]),
        dict(residuals=[0.1, 0.2]),
        dict(U=np.zeros((4, 3))),
        dict(H=[[0.5], [-0.1], [0.5]]),
    ],
)
def test_invalid_input(changes):
    given = dict(U=np.eye(4)[:, :3], H=np.ones((3, 1)), residuals=[0.1]) | changes
    with pytest.raises(InputError):
        standard_errors(**given)


def test_spectra_of_zeros_have_no_error():
    U = smooth_spectra(2, np.random.default_rng(0))
    expected = standard_errors(U, [[0.6], [0.4]], [0.1], kind="nnls")
    padded = np.column_stack([U, np.zeros(N_BANDS)])
    found = standard_errors(padded, [[0.6], [0.4], [0.0]], [0.1], kind="nnls")
    np.testing.assert_allclose(found[:2], expected)
    assert found[2] == 0


def test_errors_of_many_columns_are_those_of_each():
    """The columns are taken in chunks, of 16,384 for four spectra."""
    rng = np.random.default_rng(7)
    U = smooth_spectra(4, rng)
    H = rng.dirichlet(np.full(4, 0.3), 17_000).T
    residuals = rng.random(17_000)
    found = standard_errors(U, H, residuals)
    for columns in (slice(0, 100), slice(16_350, 16_450)):
        expected = standard_errors(U, H[:, columns], residuals[columns])
        np.testing.assert_allclose(found[:, columns], expected, rtol=1e-10)


def exact_fcls_errors(U, sigma):
    """Return the errors of coefficients that sum to one: the last one follows from the others."""
    N = np.vstack([np.eye(2), [-1.0, -1.0]])
    R = np.linalg.qr(U @ N)[1]
    return sigma * np.sqrt(np.diag(N @ np.linalg.inv(R.T @ R) @ N.T))


@pytest.mark.parametrize("alike", [1.0, 1e-2, 1e-4, 1e-5])
@pytest.mark.parametrize("brightness", [0.0, 1.0, 300.0])
def test_fcls_errors_of_spectra_that_are_alike(alike, brightness):
    rng = np.random.default_rng(0)
    U = brightness + rng.random((20, 3))
    U[:, 1] = U[:, 0] + alike * rng.random(20)
    residual = 1e-9 * np.sqrt(20 - 3 + 1)  # of noise of 1e-9
    found = standard_errors(U, [[0.3], [0.3], [0.4]], [residual], kind="fcls")
    np.testing.assert_allclose(found[:, 0], exact_fcls_errors(U, 1e-9), rtol=1e-2)


def test_fcls_errors_with_shade():
    rng = np.random.default_rng(0)
    U = np.column_stack([rng.random((12, 2)), np.zeros(12)])
    M = U @ [[0.5], [0.3], [0.2]] + 1e-3 * rng.standard_normal((12, 5000))
    H = fcls(U, M)
    found = standard_errors(U, H, column_residuals(U, M, H), kind="fcls")
    np.testing.assert_allclose(np.sqrt((found**2).mean(axis=1)), H.std(axis=1), rtol=0.05)


def test_fcls_errors_of_equal_spectra_are_as_large_as_they_can_be():
    U = np.random.default_rng(0).random((8, 3))
    U[:, 1] = U[:, 0]
    found = standard_errors(U, [[0.2], [0.3], [0.5]], [0.1], kind="fcls")
    assert found[:2, 0].tolist() == [0.5, 0.5]
    assert found[2, 0] < 0.5
