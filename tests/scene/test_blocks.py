"""The parts a scene is read in: every pixel once, few bytes, whole chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfdict._validation import largest_size
from selfdict.datasets import make_scene
from selfdict.files.lazy import chunk_shape
from selfdict.scene import blocks as module
from selfdict.scene import build_scene, matrix, preflight, unmix, valid_mask


@given(
    st.tuples(st.integers(1, 4), st.integers(1, 20), st.integers(1, 20)),
    st.none() | st.tuples(st.integers(1, 7), st.integers(1, 7)),
    st.integers(1, 500),
)
def test_every_pixel_is_read_once(shape, chunks, block_bytes):
    scene = build_scene(np.ones(shape, dtype=np.uint8))
    if chunks is not None:
        scene = scene.chunk({"y": chunks[0], "x": chunks[1]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK_BYTES", block_bytes)
        parts = module.blocks(scene)
        rows = module.row_blocks(scene)
    seen = np.zeros(shape[1:], dtype=int)
    for part in parts:
        seen[part] += 1
        if chunks is None:
            assert seen[part].size * shape[0] <= max(block_bytes, shape[0] * shape[2])
        else:
            assert part[0].start % min(chunks[0], shape[1]) == 0
            assert part[1].start % min(chunks[1], shape[2]) == 0
            assert seen[part].size * shape[0] <= max(block_bytes, shape[0] * chunks[0] * chunks[1])
    assert (seen == 1).all()
    assert [row for part in rows for row in range(part.start, part.stop)] == list(range(shape[1]))


def test_chunks_side_by_side_change_nothing(monkeypatch):
    truth = make_scene((20, 24), n_bands=30, n_endmembers=3, n_outliers=0, random_state=0)
    whole = truth.scene
    monkeypatch.setattr(module, "BLOCK_BYTES", 30 * 4 * 7 * 5)
    tiled = whole.chunk({"y": 7, "x": 5})
    assert len(module.blocks(tiled)) == 3 * 5
    np.testing.assert_array_equal(valid_mask(tiled).values, valid_mask(whole).values)
    np.testing.assert_array_equal(matrix(tiled), matrix(whole))
    expected, result = (unmix(scene, 3, candidates=40, random_state=0) for scene in (whole, tiled))
    np.testing.assert_array_equal(result.pixels, expected.pixels)
    np.testing.assert_array_equal(result.solution_pixels, expected.solution_pixels)
    np.testing.assert_allclose(result.abundances.values, expected.abundances.values, atol=1e-6)
    np.testing.assert_allclose(result.residual.values, expected.residual.values, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "packed", "chunk"),
    [
        ((200, 5000, 5000), (1, 1), (200, 8, 5000)),  # rows
        ((200, 5000, 5000), (256, 256), (200, 256, 256)),  # a tile is more than 32 MiB already
        ((20, 5000, 5000), (256, 256), (20, 256, 1536)),  # several tiles side by side
        ((2, 3, 4), (16, 64), (2, 3, 4)),
        # one chunk per band: whole spectra of it are the cube, too large to compute with
        ((400, 2000, 1000), (2000, 1000), (400, 167, 1000)),
    ],
)
def test_chunks_follow_the_file(shape, packed, chunk):
    assert chunk_shape(shape, 4, packed, 2**30) == chunk


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_pixel_of_numbers_too_small_to_compute_with_counts_as_zeros(dtype, sign):
    smallest = 1 / largest_size(np.dtype(dtype).newbyteorder("="))
    values = np.zeros((3, 1, 4), dtype)
    values[:, 0, 0] = sign * smallest / 4
    values[1, 0, 1] = sign * smallest * 2
    values[:, 0, 2] = [1, -sign * smallest / 8, 0]
    values[:, 0, 3] = [1, 2, np.nan]
    scene = build_scene(values)
    assert valid_mask(scene).values.tolist() == [[False, True, True, False]]
    assert preflight(scene).n_pixels == 3
    below = np.full((3, 1, 1), 1e-6, np.float16)  # the normal range of float16, not of the matrix
    assert valid_mask(build_scene(below)).values.all()


def test_a_pixel_that_its_offset_makes_zero_is_left_out():
    values = np.random.default_rng(0).integers(20, 90, (5, 2, 3)).astype(np.int16)
    values[:, 1, 2] = 10
    scene = build_scene(values, scale_factor=0.5, add_offset=-5.0)
    assert np.argwhere(~valid_mask(scene).values).tolist() == [[1, 2]]
    assert matrix(scene).shape == (5, 5)
