"""Generated matrices are what section 4.1 says they are, generated scenes what they say."""

import numpy as np
import pytest

from selfdict import InputError
from selfdict.datasets import make_midpoints, make_mixtures, make_scene


def test_midpoints_of_the_paper():
    M, W, indices = make_midpoints(noise=0.3, random_state=0)
    assert M.shape == (50, 55)
    np.testing.assert_array_equal(M[:, indices], W)
    np.testing.assert_allclose(W.sum(axis=0), 1)
    clean = make_midpoints(noise=0.0, random_state=0)[0]
    assert np.linalg.norm(M - clean) == pytest.approx(0.3)
    others = np.setdiff1d(np.arange(55), indices)
    middle = {tuple(np.round((W[:, a] + W[:, b]) / 2, 12)) for a in range(10) for b in range(a)}
    assert {tuple(np.round(column, 12)) for column in clean[:, others].T} == middle
    outward = (M - clean)[:, others]
    away = clean[:, others] - W.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(outward, away * (0.3 / np.linalg.norm(away)), atol=1e-12)


def test_scaled_midpoints_stretch_by_at_most_alpha():
    M, _, indices = make_midpoints(alpha=4, random_state=0)
    sums = np.delete(M, indices, axis=1).sum(axis=0)
    assert sums.min() >= 0.25
    assert sums.max() <= 4
    assert sums.std() > 0.5


def test_mixtures_hold_their_pure_points_and_their_noise():
    M, H, indices = make_mixtures(40, 200, 5, random_state=0)
    np.testing.assert_allclose(M, M[:, indices] @ H, atol=1e-12)
    np.testing.assert_allclose(H.sum(axis=0), 1)
    noisy = make_mixtures(40, 200, 5, noise=0.05, random_state=0)[0]
    assert np.linalg.norm(noisy - M) / np.linalg.norm(M) == pytest.approx(0.05, rel=0.05)
    np.testing.assert_array_equal(make_mixtures(40, 200, 5, noise=0.05, random_state=0)[0], noisy)


@pytest.mark.parametrize(
    "call",
    [
        lambda: make_midpoints(r=1),
        lambda: make_midpoints(noise=-1.0),
        lambda: make_midpoints(alpha=0.5),
        lambda: make_mixtures(3, 4, 5),
    ],
)
def test_invalid_input(call):
    with pytest.raises(InputError):
        call()


@pytest.fixture(scope="module")
def truth():
    return make_scene((30, 40), n_bands=60, n_endmembers=4, noise=0.01, border=3, random_state=0)


def test_the_pixels_are_mixtures_with_the_noise_asked_for(truth):
    assert (truth.abundances >= 0).all()
    np.testing.assert_allclose(truth.abundances.sum(axis=0), 1)
    clean = np.einsum("kb,kij->bij", truth.endmembers, truth.abundances)
    inside = np.zeros((30, 40), dtype=bool)
    inside[3:-3, 3:-3] = True
    inside[tuple(truth.outliers.T)] = False
    error = (truth.scene.values - clean)[:, inside]
    good = truth.scene.good_band.values
    assert error[good].std() == pytest.approx(0.01 * clean.mean(), rel=0.02)
    assert error[~good].std() == pytest.approx(0.05 * clean.mean(), rel=0.05)
    assert abs(error.mean()) < 1e-3


def test_pure_pixels_lie_inside(truth):
    for k, (row, column) in enumerate(truth.pixels):
        np.testing.assert_array_equal(truth.abundances[:, row, column], np.eye(4)[k])
        assert 3 <= row < 27
        assert 3 <= column < 37


def test_the_border_and_the_outliers(truth):
    missing = (truth.scene.values == truth.scene.attrs["_FillValue"]).all(axis=0)
    assert missing.sum() == 30 * 40 - 24 * 34
    clean = np.einsum("kb,kij->bij", truth.endmembers, truth.abundances)
    for row, column in truth.outliers:
        assert (truth.scene.values[:, row, column] > 1.4 * clean[:, row, column]).sum() >= 3
        assert (row, column) not in {tuple(pixel) for pixel in truth.pixels}


def test_abundances_are_coherent_and_spectra_smooth(truth):
    across = np.abs(np.diff(truth.abundances, axis=2)).mean()
    shuffled = np.random.default_rng(0).permuted(truth.abundances.reshape(4, -1), axis=1)
    assert across < 0.5 * np.abs(np.diff(shuffled, axis=1)).mean()
    assert np.abs(np.diff(truth.endmembers, n=2, axis=1)).max() < 0.2
    assert (truth.endmembers > 0).all()
    assert (truth.endmembers <= 1).all()


def test_materials_vary_as_much_as_asked_for():
    truth = make_scene(
        (24, 24), n_endmembers=1, noise=0, n_outliers=0, border=0, variability=0.05, random_state=0
    )
    changes = truth.scene.values.reshape(120, -1) / truth.endmembers.T - 1
    assert np.sqrt(np.mean(changes**2)) == pytest.approx(0.05, rel=0.15)
    assert (
        np.linalg.matrix_rank(changes, tol=1e-3 * np.linalg.norm(changes, 2)) == 3
    )  # brightness and two shapes
    assert np.abs(np.diff(changes, axis=0)).mean() < 0.2 * np.abs(changes).mean()


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((4, 10), {}),  # less than two borders
        ((6, 6), {"n_endmembers": 5, "border": 2}),
        ((12, 12), {"noise": -1}),
        ((12, 12), {"n_bands": 0}),
        ((12, 12), {"n_outliers": -1}),
        ((12, 12), {"variability": -1}),
    ],
)
def test_invalid_scenes(shape, options):
    with pytest.raises(InputError):
        make_scene(shape, **options)
