"""Mapped files are read, not touched: another process may cut them short."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scene_sample import full_scene

from selfdict.scene import SceneError, read_scene, valid_mask, write_scene
from selfdict.scene.mapped import MappedArray, mapped_file, stored_values


def test_any_part_of_a_mapped_file(tmp_path):
    shape = (5, 6, 9000)
    path = tmp_path / "numbers"
    np.arange(np.prod(shape), dtype="f4").tofile(path)
    rng = np.random.default_rng(0)
    for _ in range(100):
        view = np.memmap(path, "f4", "r", shape=shape).transpose(rng.permutation(3))
        parts = []
        for size in view.shape:
            start, stop = sorted(rng.integers(0, size + 1, 2))
            parts.append(slice(start, stop, rng.choice([1, 2, 3])))
        part = view[tuple(parts)][:: rng.choice([-1, 1])]
        np.testing.assert_array_equal(stored_values(part), np.array(part))
        if part.size:
            key = (slice(0, 2), 0, [part.shape[2] - 1, 0])
            expected = np.array(part)[:, :, key[2]][:, 0][key[0]]
            np.testing.assert_array_equal(MappedArray(part, mapped_file(part))[key], expected)


# Opens a scene, cuts its file short, and goes on.
CUT = """
import os, sys
from selfdict.scene import SceneError, read_scene, unmix, valid_mask, write_scene
scene = read_scene(sys.argv[1])
os.truncate(sys.argv[2], 200)
for step in (
    lambda: valid_mask(scene),
    lambda: unmix(scene, 2),
    lambda: write_scene(scene, sys.argv[1] + ".tif"),
    lambda: write_scene(scene, sys.argv[1] + ".img"),
    lambda: write_scene(scene, sys.argv[1] + ".nc"),
):
    try:
        step()
    except SceneError as error:
        print(error.reason)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="mapped files cannot be cut there")
@pytest.mark.parametrize("kind", ["envi", "npy"])
def test_a_file_that_is_cut_short_while_it_is_used(tmp_path, kind):
    # more than a page, so that the end is gone
    values = np.random.default_rng(0).random((20, 30, 40))
    if kind == "npy":
        name = data = tmp_path / "cube.npy"
        np.save(name, values)
    else:
        name = tmp_path / "cube.hdr"
        data = tmp_path / "cube.img"
        scene = full_scene()
        write_scene(scene.pad(y=(0, 400), mode="edge"), name)
    result = subprocess.run(
        [sys.executable, "-c", CUT, str(name), str(data)],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["has become shorter while it was read"] * 5


def test_bands_of_a_file_that_is_cut_short(tmp_path):
    np.save(tmp_path / "cube.npy", np.ones((50, 40, 30)))
    scene = read_scene(tmp_path / "cube.npy", bands=[1, 2])
    os.truncate(tmp_path / "cube.npy", 200)
    with pytest.raises(SceneError, match="shorter"):
        valid_mask(scene)
