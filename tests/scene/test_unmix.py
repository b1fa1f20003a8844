"""Unmixing a scene gives what its steps give, whatever the size of the blocks."""

import dataclasses
import tracemalloc

import numpy as np
import pytest
from affine import Affine
from scipy.optimize import nnls as independent_nnls

from selfdict.datasets import make_scene
from selfdict.peers import spa
from selfdict.scene import build_scene, matrix, read_scene, unmix, valid_mask, write_scene
from selfdict.scene.plan import Thinning


@pytest.fixture(scope="module")
def truth():
    return make_scene(
        (20, 24), n_bands=30, n_endmembers=3, noise=0.001, n_outliers=0, random_state=0
    )


def test_each_block_has_a_sample_of_its_own():
    M = np.random.default_rng(0).random((5, 200))
    sample = Thinning(share=0.1, n_extreme=2, seed=3)
    first, again, other = (sample.choose(M, number)[0] for number in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert set(spa(M, 2)) <= set(first) & set(other)
    assert len(np.intersect1d(first, other)) < 10


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 30 * 24 * 4 * 3)


@pytest.mark.parametrize("abundances", ["nnls", "fcls"])
def test_the_parts_put_together(truth, small_blocks, abundances):
    result = unmix(truth.scene, 3, method="spa", abundances=abundances)
    M = matrix(truth.scene, drop_bad_bands=True).astype(float)
    valid = valid_mask(truth.scene).values
    pixels = np.argwhere(valid)[spa(M, 3)]
    np.testing.assert_array_equal(result.pixels, pixels)
    U = M[:, spa(M, 3)]
    np.testing.assert_allclose(result.endmembers.values, U.T, rtol=1e-6)
    H = result.abundances.values[:, valid]
    assert (H >= 0).all()
    if abundances == "nnls":
        expected = np.stack([independent_nnls(U, m)[0] for m in M.T], axis=1)
        np.testing.assert_allclose(H, expected, atol=1e-5)
    else:
        np.testing.assert_allclose(H.sum(axis=0), 1, atol=1e-5)
    residual = np.linalg.norm(M - U @ H, axis=0)
    np.testing.assert_allclose(
        result.residual.values[valid], residual / np.linalg.norm(M, axis=0), atol=1e-6
    )
    assert result.relative_error == pytest.approx(
        np.linalg.norm(residual) / np.linalg.norm(M), rel=1e-3
    )
    np.testing.assert_array_equal(result.valid.values, valid)
    assert np.isnan(result.abundances.values[:, ~valid]).all()
    assert np.isnan(result.residual.values[~valid]).all()


def test_thinning_keeps_the_extreme_pixels(small_blocks):
    truth = make_scene((40, 24), n_bands=30, n_endmembers=4, noise=0, n_outliers=0, random_state=1)
    result = unmix(truth.scene, 4, method="spa", max_pixels=40, random_state=0)
    assert result.parameters["n_fitted"] < 300 < result.n_valid
    assert {tuple(pixel) for pixel in result.pixels} == {tuple(pixel) for pixel in truth.pixels}
    assert result.relative_error < 1e-5


def test_a_file_that_does_not_fit_in_memory_is_not_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 64e6)
    monkeypatch.setattr("selfdict.scene.blocks.BLOCK_BYTES", 2**18)
    monkeypatch.setattr("selfdict.files.lazy.BLOCK_BYTES", 2**18)
    values = np.random.default_rng(0).random((50, 400, 200), dtype=np.float32)  # 16 MB
    path = write_scene(build_scene(values), tmp_path / "cube.hdr")
    scene = read_scene(path)
    unmix(scene.isel(y=slice(0, 9)), 2, method="spa")  # compile
    tracemalloc.start()
    try:
        result = unmix(scene, 2, method="spa", max_pixels=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.n_valid == 80_000
    assert peak < 8e6


def test_map_coordinates(truth):
    turned = Affine(0.6, 0.8, 10.0, 0.8, -0.6, 20.0)
    scene = build_scene(truth.scene.values, transform=turned, nodata=-9999)
    result = unmix(scene.isel(y=slice(5, None), x=slice(3, None)), 3, method="spa")
    rows, columns = result.pixels.T + np.array([[5.5], [3.5]])
    expected = np.stack([0.6 * columns + 0.8 * rows + 10, 0.8 * columns - 0.6 * rows + 20], axis=1)
    np.testing.assert_allclose(result.coordinates, expected)
    assert result.crs is None
    plain = unmix(build_scene(truth.scene.values, nodata=-9999), 3, method="spa")
    assert plain.coordinates is None


def test_masks_and_the_accessor(truth):
    mask = np.zeros((20, 24), dtype=bool)
    mask[:, :12] = True
    result = truth.scene.selfdict.unmix(3, method="spa", mask=mask)
    assert (result.pixels[:, 1] >= 12).all()
    assert np.isnan(result.abundances.values[:, :, :12]).all()
    renamed = truth.scene.rename(band="bands", y="rows", x="cols").transpose(
        "rows", "cols", "bands"
    )
    again = renamed.selfdict.unmix(3, method="spa", mask=mask)
    np.testing.assert_array_equal(again.abundances.values, result.abundances.values)


def test_progress_and_times(truth, small_blocks):
    steps = []
    result = unmix(
        truth.scene, 3, method="spa", progress=lambda step, share: steps.append((step, share))
    )
    names = ["preflight", "read", "select", "abundances"]
    assert [step for step, share in steps if share == 1.0] == names
    shares = [share for step, share in steps if step == "abundances"]
    assert shares == sorted(shares)
    assert len(shares) > 3
    parts = sum(seconds for step, seconds in result.seconds.items() if step != "total")
    assert result.seconds["total"] == pytest.approx(parts)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.relative_error = 0.0
