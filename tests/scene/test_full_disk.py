"""A disk that is full while a scene is written is an error; nothing else happens."""

import subprocess
import sys

import pytest

pytest.importorskip("resource")

# Writes a scene several times, each time with another limit on the size of a file.
WRITER = """
import resource, sys
import numpy as np
from selfdict.scene import SceneError, build_scene, read_scene, write_scene
scene = build_scene(np.random.default_rng(0).random((50, 100, 100)))
for k, limit in enumerate((1, 500, 3000, 20_000, 200_000, 1_000_000)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_scene(scene, sys.argv[1], overwrite=True)
    except SceneError as error:
        print("cannot be written" in error.reason)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
write_scene(scene, sys.argv[1], overwrite=True)
print((read_scene(sys.argv[1]).values == scene.values).all())
"""


@pytest.mark.parametrize("suffix", ["nc", "tif", "zarr", "hdr"])
def test_a_full_disk(tmp_path, suffix):
    path = tmp_path / f"scene.{suffix}"
    result = subprocess.run(
        [sys.executable, "-c", WRITER, str(path)], capture_output=True, text=True, timeout=200
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["True"] * 7
    names = {path.name for path in tmp_path.iterdir()}
    assert names in ({f"scene.{suffix}"}, {"scene.hdr", "scene.img"})
