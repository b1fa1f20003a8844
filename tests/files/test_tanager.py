"""Tanager: reflectance on a map grid or as a swath, good wavelengths and pixels without data."""

import h5py
import numpy as np
from sensor_files import (
    TANAGER_GRID,
    TANAGER_SWATH,
    write_tanager,
)

from selfdict.scene import crs_of, read_scene, transform_of

FIELDS = f"{TANAGER_GRID}/Data Fields"
STRUCTURE = "HDFEOS INFORMATION/StructMetadata.0"


def test_radiance(tmp_path):
    path = write_tanager(tmp_path / "tanager.h5", name="toa_radiance", good_wavelengths=None)
    scene = read_scene(path)
    assert scene.name == "toa_radiance"
    assert "good_band" not in scene.coords
    assert sorted(scene.attrs["selfdict_notes"]) == [
        "the cloud masks of the file are not used (mask)",
        "the file marks no bands as bad",
        "the values are radiances at the top of the atmosphere, not reflectances",
    ]


def test_reflectance_comes_first(tmp_path):
    radiance = np.full((4, 5, 6), 7.0)
    path = write_tanager(tmp_path / "tanager.h5", change={f"{FIELDS}/toa_radiance": radiance})
    scene = read_scene(path)
    assert scene.name == "surface_reflectance"
    assert any("toa_radiance, too" in note for note in scene.attrs["selfdict_notes"])
    assert (read_scene(path, variable=f"{FIELDS}/toa_radiance").values == 7).all()
    named = read_scene(path, variable=f"{FIELDS}/surface_reflectance")
    assert crs_of(named).to_epsg() == 32613


def test_framing_of_an_ortho_product(tmp_path):
    path = write_tanager(tmp_path / "tanager.h5", change={STRUCTURE: None})
    scene = read_scene(path)
    assert transform_of(scene) is None
    assert any("there are no map coordinates" in note for note in scene.attrs["selfdict_notes"])
    with h5py.File(path, "r+") as file:
        del file[TANAGER_GRID].attrs["epsg_code"]
        file[TANAGER_GRID].attrs["Planet_Ortho_Framing"] = (
            '{"epsg_code": 32614, "rows": 5, "cols": 6, '
            '"geotransform": [500000.0, 30.0, 0.0, 4400000.0, 0.0, -30.0]}'
        )
    scene = read_scene(path)
    assert crs_of(scene).to_epsg() == 32614
    assert transform_of(scene).to_gdal() == (500000.0, 30.0, 0.0, 4400000.0, 0.0, -30.0)
    with h5py.File(path, "r+") as file:
        file[TANAGER_GRID].attrs["Planet_Ortho_Framing"] = '{"rows": 7, "cols": 6}'
    assert transform_of(read_scene(path)) is None


def test_a_swath_without_positions(tmp_path):
    change = {f"{TANAGER_SWATH}/Geolocation Fields/Longitude": None}
    scene = read_scene(write_tanager(tmp_path / "tanager.h5", swath=True, change=change))
    assert "the file has no Longitude of its pixels" in scene.attrs["selfdict_notes"]
