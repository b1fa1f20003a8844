"""Tanager: reflectance on a map grid or as a swath, good wavelengths and pixels without data."""

import h5py
import numpy as np
import pytest
from sensor_files import (
    TANAGER_GRID,
    TANAGER_SWATH,
    TANAGER_WAVELENGTH,
    tanager_values,
    write_tanager,
)

from selfdict.scene import crs_of, matrix, read_scene, transform_of, unmix, valid_mask

FIELDS = f"{TANAGER_GRID}/Data Fields"
STRUCTURE = "HDFEOS INFORMATION/StructMetadata.0"


def expected_mask():
    valid = np.ones((5, 6), dtype=bool)
    valid[0, 0] = False
    valid[4, 5] = False  # 255: the fill value of the mask
    return valid


def test_on_a_map_grid(tmp_path):
    scene = read_scene(write_tanager(tmp_path / "tanager.h5"))
    assert scene.dims == ("band", "y", "x")
    assert scene.name == "surface_reflectance"
    np.testing.assert_array_equal(scene.values, tanager_values())
    np.testing.assert_array_equal(scene.wavelength.values, TANAGER_WAVELENGTH.astype(float))
    assert scene.fwhm.values.tolist() == [5.25] * 4
    assert scene.good_band.values.tolist() == [True, True, False, True]
    assert scene.attrs["_FillValue"] == -9999
    np.testing.assert_array_equal(valid_mask(scene).values, expected_mask())
    np.testing.assert_array_equal(matrix(scene), tanager_values()[:, expected_mask()])
    assert crs_of(scene).to_epsg() == 32613
    assert transform_of(scene).to_gdal() == (570300.0, 30.0, 0.0, 3555450.0, 0.0, -30.0)
    assert scene.attrs["selfdict_notes"] == ["the cloud masks of the file are not used (mask)"]


def test_in_sensor_geometry(tmp_path):
    scene = read_scene(write_tanager(tmp_path / "tanager.h5", swath=True))
    np.testing.assert_array_equal(scene.values, tanager_values())
    # the framing of the ortho product is that of another grid
    assert crs_of(scene) is None
    assert transform_of(scene) is None
    assert scene.lat.values[4, 0] == pytest.approx(39.996)
    assert scene.lon.values[0, 5] == pytest.approx(-109.995)
    assert any("in sensor geometry" in note for note in scene.attrs["selfdict_notes"])
    result = unmix(scene, 2, method="spa")
    assert result.crs == "EPSG:4326"
    assert result.n_valid == 28


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


def test_values_are_read_in_blocks(tmp_path, monkeypatch):
    # A chunk is a plane of one band: whole spectra of its pixels would be the whole scene.
    monkeypatch.setattr("selfdict.files.lazy._MAX_BLOCK_VALUES", 60)
    monkeypatch.setattr("selfdict.files.lazy.BLOCK_BYTES", 100)
    order = np.array([3.0, 1.0, 4.0, 2.0]) * 500
    path = write_tanager(tmp_path / "tanager.h5", wavelengths=order)
    scene = read_scene(path)
    assert scene.data.numblocks == (1, 3, 1)
    assert scene.wavelength.values.tolist() == [500.0, 1000.0, 1500.0, 2000.0]
    np.testing.assert_array_equal(scene.values, tanager_values()[[1, 3, 0, 2]])
    np.testing.assert_array_equal(scene.isel(band=1, x=3).values, tanager_values()[3, :, 3])


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
