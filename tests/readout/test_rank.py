"""The number of materials: right where it is known, with its reason, and rare ones apart."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from selfdict import InputError, advise_rank, nnls
from selfdict.datasets import make_mixtures, make_scene


@pytest.mark.parametrize("bands", [10, 50, 200])
@pytest.mark.parametrize("r", [3, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_mixtures_with_noise(r, bands, dtype):
    M = make_mixtures(bands, 1000, r, noise=0.01, concentration=0.3, random_state=r)[0]
    advice = advise_rank(M.astype(dtype))
    assert advice.r == r
    assert f"{r} materials" in advice.sentences[0]


@pytest.mark.parametrize("r", [3, 4])
def test_as_many_materials_as_bands(r):
    """Noise cannot be told from signal then, and each material halves the error."""
    M = make_mixtures(4, 1000, r, noise=0.01, concentration=0.3, random_state=r)[0]
    assert advise_rank(M).r == r


@pytest.mark.parametrize("r", [3, 5, 8])
def test_scenes_with_damaged_pixels(r):
    truth = make_scene((34, 34), 50, r, noise=0.01, random_state=r)
    advice = advise_rank(truth.scene)
    assert advice.r == r
    assert advice.n_alone == len(truth.outliers)
    assert any("not counted" in sentence for sentence in advice.sentences)


def test_errors_are_attained_and_fall():
    M = make_mixtures(20, 200, 3, noise=0.05, random_state=0)[0]
    advice = advise_rank(M)
    assert (np.diff(advice.errors) <= 0).all()
    # no pixel alone is better than the best direction
    values = np.linalg.svd(M, compute_uv=False)
    limits = np.sqrt(np.maximum(1 - np.cumsum(values**2) / (values**2).sum(), 0.0))
    assert (advice.errors >= limits[: advice.errors.size] - 1e-12).all()
    best = min(np.linalg.norm(M - M[:, [k]] @ nnls(M[:, [k]], M)) for k in range(200))
    assert advice.errors[0] <= 1.01 * best / np.linalg.norm(M)


def test_rare_materials_are_counted_apart():
    rng = np.random.default_rng(0)
    spectra = rng.random((40, 5))
    shares = np.zeros((5, 2000))
    shares[:3] = rng.dirichlet(np.full(3, 0.3), 2000).T
    shares[:, :6] = 0.0
    shares[3, :3] = 1.0  # three pixels of one, and three of another
    shares[4, 3:6] = 1.0
    M = spectra @ shares + 0.005 * rng.standard_normal((40, 2000))
    advice = advise_rank(M)
    assert advice.r == 3
    assert advice.n_rare == 2
    assert advice.n_rare_pixels == 6
    assert "2 more" in advice.sentences[1]


def test_noise_is_estimated():
    M = make_mixtures(30, 2000, 4, random_state=0)[0]
    noise = 0.02 * np.random.default_rng(0).standard_normal(M.shape)
    expected = np.linalg.norm(noise) / np.linalg.norm(M + noise)
    assert advise_rank(M + noise).noise == pytest.approx(expected, rel=0.1)


def test_degenerate_data():
    rng = np.random.default_rng(0)
    assert advise_rank(np.zeros((4, 6))).r == 1
    assert advise_rank(np.outer(rng.random(12), rng.random(50))).r == 1
    exact = rng.random((12, 2)) @ np.hstack([np.eye(2), rng.dirichlet(np.ones(2), 60).T])
    assert advise_rank(exact).r == 2
    few = advise_rank(rng.random((12, 5)))
    assert few.noise is None
    assert 1 <= few.r <= 5
    assert advise_rank(rng.random((30, 200)), 2).r <= 2


@pytest.mark.parametrize("kind", ["sparse", "masked"])
def test_matrices_of_other_kinds_are_refused(kind):
    M = np.ones((3, 4))
    other = {"sparse": csc_array(M), "masked": np.ma.masked_equal(M, 1.0)}[kind]
    with pytest.raises((InputError, TypeError)):
        advise_rank(other)
