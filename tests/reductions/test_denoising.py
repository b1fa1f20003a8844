"""The data without their noise: the truncated SVD, and what it says of the noise."""

import numpy as np
import pytest

from selfdict.reductions.steps import denoise


@pytest.fixture
def noisy():
    rng = np.random.default_rng(0)
    clean = rng.random((30, 3)) @ rng.random((3, 200))
    return clean, clean + 0.05 * rng.standard_normal(clean.shape)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("wide", [True, False])
def test_denoised_data_are_the_truncated_svd(noisy, dtype, rtol, wide):
    M = (noisy[1] if wide else noisy[1][:, :12]).astype(dtype)
    U, values, V = np.linalg.svd(M.astype(np.float64), full_matrices=False)
    data, variance, _ = denoise(M, 3)
    assert data.dtype == dtype
    np.testing.assert_allclose(data, (U[:, :3] * values[:3]) @ V[:3], rtol=rtol, atol=rtol)
    m, n = M.shape
    assert variance == pytest.approx((values[3:] ** 2).sum() / ((m - 3) * (n - 3)), rel=rtol)


def test_noise_is_removed_and_its_variance_estimated(noisy):
    clean, M = noisy
    data, variance, mu = denoise(M, 3)
    assert variance == pytest.approx(0.05**2, rel=0.05)
    left = np.linalg.norm(data - clean) ** 2
    # in the rows and in the columns of rank 3
    assert left == pytest.approx(3 * (30 + 200 - 3) * variance, rel=0.1)
    assert mu == pytest.approx(3 * variance, rel=0.05)


def test_without_noise_nothing_changes_and_the_penalty_stays_positive(noisy):
    clean = noisy[0]
    data, variance, mu = denoise(clean, 3)
    np.testing.assert_allclose(data, clean, rtol=1e-10)
    assert variance < 1e-12 < mu
    whole = denoise(clean[:, :2], 2)  # no direction left for noise
    np.testing.assert_allclose(whole.data, clean[:, :2], rtol=1e-10)
    assert whole.variance == pytest.approx(0.0, abs=1e-12)
    assert denoise(np.zeros((4, 5)), 2).mu == 0.0
