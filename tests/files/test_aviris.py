"""AVIRIS-3 and AVIRIS-5 L2A: NetCDF with the cube in a group, written with netCDF4."""

import h5py
import numpy as np
import pytest
from sensor_files import AVIRIS_WAVELENGTH, aviris_values, write_aviris

from selfdict.scene import SceneError, crs_of, read_scene, transform_of


def test_bad_bands_and_falling_wavelengths(tmp_path):
    path = write_aviris(tmp_path / "aviris.nc")
    with h5py.File(path, "r+") as file:
        file["reflectance/wavelength"][...] = AVIRIS_WAVELENGTH[::-1]
        file["reflectance/good_wavelengths"] = np.array([1.0, 0.0, 1.0, 1.0])
    scene = read_scene(path)
    np.testing.assert_array_equal(scene.wavelength.values, AVIRIS_WAVELENGTH.astype(float))
    np.testing.assert_array_equal(scene.values, aviris_values()[::-1])
    assert scene.good_band.values.tolist() == [True, True, False, True]


def test_coordinates_without_a_grid_mapping(tmp_path):
    scene = read_scene(write_aviris(tmp_path / "aviris.nc", mapping=None))
    assert crs_of(scene) is None
    assert transform_of(scene).to_gdal() == (400000.0, 2.5, 0.0, 4100000.0, 0.0, -2.5)
    assert any("taken as pixel centres" in note for note in scene.attrs["selfdict_notes"])


def test_the_cube_may_be_named(tmp_path):
    path = write_aviris(tmp_path / "aviris.nc")
    named = read_scene(path, variable="reflectance/reflectance")
    assert crs_of(named).to_epsg() == 32633
    with pytest.raises(SceneError):
        read_scene(path, variable="reflectance/radiance")


def test_the_suffix_may_be_that_of_hdf5(tmp_path):
    scene = read_scene(write_aviris(tmp_path / "aviris.h5"))
    assert crs_of(scene).to_epsg() == 32633
