"""A disk that is full while a file is written is an error; nothing else happens."""

import subprocess
import sys

import pytest
import rasterio

from selfdict.scene import read_scene

pytest.importorskip("resource")

# Writes every file several times, each time with another limit on its size, and then without one.
WRITER = """
import resource, sys
import numpy as np, xarray as xr
from types import SimpleNamespace
from selfdict.scene import (
    SceneError, build_scene, write_dominant, write_pixels, write_scene, write_spectra
)
rng = np.random.default_rng(0)
scene = build_scene(rng.random((50, 100, 100)))
maps = xr.DataArray(rng.random((9, 300, 300)), dims=("endmember", "y", "x"))
group = np.argwhere(maps.values[0] > 0.9)
result = SimpleNamespace(
    abundances=maps, labels=["a"] * 9, atoms=None, pixels=group[:9], groups=[group] * 9
)
spectra = xr.DataArray(rng.random((90, 300)), dims=("endmember", "band"))
few = [1, 500, 3000, 20_000]
many = [*few, 200_000, 1_000_000]
files = {suffix: (write_scene, scene, many) for suffix in ("nc", "tif", "zarr", "hdr")}
files |= {"dominant.tif": (write_dominant, result, few), "geojson": (write_pixels, result, few)}
files |= {suffix: (write_spectra, spectra, few) for suffix in ("sli", "csv")}
for suffix, (write, data, limits) in files.items():
    path = f"{sys.argv[1]}/{suffix}/file.{suffix}"
    for limit in limits:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            write(data, path, overwrite=True)
            print(suffix, limit)
        except SceneError as error:
            assert "cannot be written" in error.reason and error.path == path
            assert "previous exception" not in error.reason
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    write(data, path, overwrite=True)
np.save(f"{sys.argv[1]}/values.npy", scene.values)
"""
EXPECTED = {
    "nc": ["file.nc"],
    "tif": ["file.tif"],
    "zarr": ["file.zarr"],
    "hdr": ["file.hdr", "file.img"],
    "dominant.tif": ["file.dominant.tif", "file.dominant.tif.aux.xml"],
    "geojson": ["file.geojson"],
    "sli": ["file.hdr", "file.sli"],
    "csv": ["file.csv"],
}


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_a_full_disk(tmp_path):
    for suffix in EXPECTED:
        (tmp_path / suffix).mkdir()
    result = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    # libtiff prints lines of its own
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""  # a file that is too large was written
    for suffix, names in EXPECTED.items():
        assert sorted(path.name for path in (tmp_path / suffix).iterdir()) == names
    values = read_scene(tmp_path / "values.npy", layout="band y x").values
    for suffix in ("nc", "tif", "zarr", "hdr"):
        assert (read_scene(tmp_path / suffix / f"file.{suffix}").values == values).all()
    with rasterio.open(tmp_path / "dominant.tif" / "file.dominant.tif") as file:
        assert (file.read(1) > 0).all()
