"""Tanager: reflectance on a map grid or as a swath, good wavelengths and pixels without data."""

import numpy as np
from sensor_files import (
    TANAGER_GRID,
    TANAGER_SWATH,
    write_tanager,
)

from selfdict.scene import crs_of, read_scene

FIELDS = f"{TANAGER_GRID}/Data Fields"


def test_radiance(tmp_path):
    path = write_tanager(tmp_path / "tanager.h5", name="toa_radiance", good_wavelengths=None)
    scene = read_scene(path)
    assert scene.name == "toa_radiance"
    assert "good_band" not in scene.coords
    assert sorted(scene.attrs["selfdict_notes"]) == [
        "the cloud masks of the file are not used (mask)",
        "the file marks no bands as bad",
        "the file names no unit of its wavelengths: 376.5 to 2499 are taken as nm",
        "the values are radiances at the top of the atmosphere, not reflectances",
    ]


def test_reflectance_comes_first(tmp_path):
    radiance = np.full((4, 5, 6), 7.0)
    path = write_tanager(tmp_path / "tanager.h5", change={f"{FIELDS}/toa_radiance": radiance})
    scene = read_scene(path)
    assert scene.name == "surface_reflectance"
    assert any("reads another array" in note for note in scene.attrs["selfdict_notes"])
    assert (read_scene(path, variable=f"{FIELDS}/toa_radiance").values == 7).all()
    named = read_scene(path, variable=f"{FIELDS}/surface_reflectance")
    assert crs_of(named).to_epsg() == 32613


def test_a_swath_without_positions(tmp_path):
    change = {f"{TANAGER_SWATH}/Geolocation Fields/Longitude": None}
    scene = read_scene(write_tanager(tmp_path / "tanager.h5", swath=True, change=change))
    assert "the file has no Longitude of its pixels" in scene.attrs["selfdict_notes"]
