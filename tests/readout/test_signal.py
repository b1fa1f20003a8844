"""Signal and noise of a matrix: the dimension, the limits, and points that are alone."""

import numpy as np
import pytest

from selfdict import hysime
from selfdict.datasets import make_mixtures, make_scene
from selfdict.readout.signal import measure_signal
from selfdict.scene import matrix, valid_mask


@pytest.mark.parametrize("r", [1, 2, 4, 7])
def test_linear_mixtures_are_clear(r):
    M = make_mixtures(30, 800, r, noise=0.005, random_state=r)[0]
    signal = measure_signal(M)
    assert signal.dimension == signal.clear_dimension == r == hysime(M)
    assert not signal.alone.any()


def test_limits_are_those_of_the_singular_values():
    M = make_mixtures(20, 300, 4, noise=0.05, random_state=0)[0]
    U, sizes, Vt = np.linalg.svd(M, full_matrices=False)
    for r in (1, 3, 7):
        best = U[:, :r] * sizes[:r] @ Vt[:r]
        error = np.linalg.norm(M - best) / np.linalg.norm(M)
        assert measure_signal(M).limits[r - 1] == pytest.approx(error, rel=1e-6)


def test_the_noise_is_that_which_was_added():
    rng = np.random.default_rng(0)
    clean = make_mixtures(40, 3000, 4, noise=0, random_state=0)[0]
    noise = 0.01 * rng.standard_normal(clean.shape)
    share = np.linalg.norm(noise) / np.linalg.norm(clean + noise)
    assert measure_signal(clean + noise).noise == pytest.approx(share, rel=0.1)


def test_single_points_are_not_counted():
    truth = make_scene((48, 48), n_endmembers=3, n_outliers=4, random_state=0)
    M = matrix(truth.scene, drop_bad_bands=True)
    assert hysime(M) == 7
    signal = measure_signal(M)
    assert (signal.dimension, signal.clear_dimension) == (3, 3)
    inside = np.flatnonzero(valid_mask(truth.scene).values)
    rows, columns = np.unravel_index(inside[signal.alone], (48, 48))
    assert set(zip(rows, columns)) == {tuple(pixel) for pixel in truth.outliers}


def test_spectra_that_vary_are_not_clear():
    truth = make_scene((48, 48), n_endmembers=3, n_outliers=0, variability=0.05, random_state=0)
    signal = measure_signal(matrix(truth.scene, drop_bad_bands=True))
    assert signal.dimension > 5
    assert signal.clear_dimension is None


def test_weights_count_points():
    M = make_mixtures(10, 60, 3, noise=0.02, random_state=0)[0]
    weights = np.random.default_rng(0).integers(1, 5, 60)
    weighted = measure_signal(M, weights)
    repeated = measure_signal(np.repeat(M, weights, axis=1))
    np.testing.assert_allclose(weighted.limits, repeated.limits, rtol=1e-9)
    assert weighted.dimension == repeated.dimension


def test_too_few_points_for_the_noise():
    signal = measure_signal(np.random.default_rng(0).random((30, 50)))
    assert (signal.dimension, signal.noise, signal.clear_dimension) == (None, None, None)


def test_zeros_hold_no_signal():
    signal = measure_signal(np.zeros((5, 50)))
    assert (signal.dimension, signal.clear_dimension) == (0, None)
    np.testing.assert_array_equal(signal.limits, 0)


@pytest.mark.parametrize("unit", [1e-6, 1e6, 1e150])
def test_unit_does_not_matter(unit):
    M = make_mixtures(20, 300, 4, noise=0.05, random_state=0)[0]
    signal = measure_signal(unit * M)
    assert signal.dimension == measure_signal(M).dimension
    np.testing.assert_allclose(signal.limits, measure_signal(M).limits, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_few_points_per_row(seed):
    truth = make_scene((24, 24), n_endmembers=3, random_state=seed)
    M = matrix(truth.scene, drop_bad_bands=True)
    assert M.shape == (106, 400)
    # The noise of a regression on 105 rows is too low for 400 points.
    assert hysime(M) > 10
    signal = measure_signal(M)
    assert (signal.dimension, signal.clear_dimension) == (3, 3)
    assert signal.alone.sum() == 3
