"""A disk that is full while a scene is written is an error; nothing else happens."""

import subprocess
import sys

import pytest
import rasterio

pytest.importorskip("resource")

# Writes a scene to each path several times, each time with another limit on the size of a file.
WRITER = """
import resource, sys
import numpy as np
from selfdict.scene import SceneError, build_scene, read_scene, write_scene
scene = build_scene(np.random.default_rng(0).random((50, 100, 100)))
for path in sys.argv[1:]:
    answers = []
    for limit in (1, 500, 3000, 20_000, 200_000, 1_000_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            write_scene(scene, path, overwrite=True)
        except SceneError as error:
            answers.append("cannot be written" in error.reason)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    write_scene(scene, path, overwrite=True)
    answers.append((read_scene(path).values == scene.values).all())
    print(*answers)
"""


def test_a_full_disk(tmp_path):
    suffixes = ["nc", "tif", "zarr", "hdr"]
    paths = [tmp_path / suffix / f"scene.{suffix}" for suffix in suffixes]
    for path in paths:
        path.parent.mkdir()
    result = subprocess.run(
        [sys.executable, "-c", WRITER, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=200,
    )
    # libtiff prints lines of its own
    assert result.returncode == 0, result.stderr
    expected = " ".join(["True"] * 7)
    answers = dict(zip(suffixes, result.stdout.splitlines(), strict=True))
    assert answers == dict.fromkeys(suffixes, expected)
    for path in paths:
        names = {file.name for file in path.parent.iterdir()}
        assert names in ({path.name}, {"scene.hdr", "scene.img"})


# The same for the files that other software reads.
EXPORTER = """
import resource, sys
import numpy as np, xarray as xr
from types import SimpleNamespace
from selfdict.scene import SceneError, write_dominant, write_pixels, write_spectra
rng = np.random.default_rng(0)
maps = xr.DataArray(rng.random((9, 300, 300)), dims=("endmember", "y", "x"))
group = np.argwhere(maps.values[0] > 0.9)
result = SimpleNamespace(
    abundances=maps, labels=["a"] * 9, atoms=None, pixels=group[:9], groups=[group] * 9
)
spectra = xr.DataArray(rng.random((90, 300)), dims=("endmember", "band"))
folder = sys.argv[1]
def write(name):
    if name == "a.tif":
        write_dominant(result, f"{folder}/{name}", overwrite=True)
    elif name == "a.geojson":
        write_pixels(result, f"{folder}/{name}", overwrite=True)
    else:
        write_spectra(spectra, f"{folder}/{name}", overwrite=True)
for name in ("a.tif", "a.geojson", "b.sli", "c.csv"):
    for limit in (1, 1000, 20_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            write(name)
        except SceneError as error:
            print("cannot be written" in error.reason)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    write(name)
"""


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_a_full_disk_and_files_for_other_software(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", EXPORTER, str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    # libtiff prints lines of its own
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["True"] * 12
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"a.tif", "a.tif.aux.xml", "a.geojson", "b.sli", "b.hdr", "c.csv"}
    with rasterio.open(tmp_path / "a.tif") as file:
        assert (file.read(1) > 0).all()
