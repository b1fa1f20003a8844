"""Packed numbers beside a cube, and several declarations of missing data."""

import h5py
import numpy as np
import pytest
import xarray as xr

from selfdict.scene import SceneError, read_scene, transform_of
from selfdict.scene.metadata import notes_of


def packed_dataset():
    values = np.arange(24, dtype="i2").reshape(2, 3, 4)
    return xr.Dataset(
        {"reflectance": (("band", "y", "x"), values)},
        coords={
            "wavelength": ("band", [400.5, 500.5], {"units": "nm"}),
            "fwhm": ("band", [9.5, 10.5], {"units": "nm"}),
            "x": np.array([1000.5, 1001.0, 1001.5, 1002.0]),
            "y": np.array([90.0, 89.0, 88.0]),
            "lat": (("y", "x"), np.full((3, 4), 47.25)),
        },
    )


@pytest.mark.parametrize("kind", ["nc4", "nc3", "zarr"])
def test_packed_coordinates(tmp_path, kind):
    encoding = {
        "wavelength": {"dtype": "i2", "scale_factor": 0.1},
        "fwhm": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": 21},
        "x": {"dtype": "i4", "scale_factor": 0.5, "add_offset": 1000.0},
        "y": {"dtype": "i2", "add_offset": 100.0},
        "lat": {"dtype": "i4", "scale_factor": 0.25},
    }
    # xarray wants one for floating-point numbers that are written as integers.
    for settings in encoding.values():
        settings.setdefault("_FillValue", -999)
    if kind == "zarr":
        path = tmp_path / "cube.zarr"
        packed_dataset().to_zarr(path, zarr_format=2, encoding=encoding)
    else:
        path = tmp_path / "cube.nc"
        formats = {"nc4": ("NETCDF4", "h5netcdf"), "nc3": ("NETCDF3_CLASSIC", "scipy")}
        name, engine = formats[kind]
        packed_dataset().to_netcdf(path, encoding=encoding, format=name, engine=engine)
    scene = read_scene(path)
    np.testing.assert_allclose(scene.wavelength.values, [400.5, 500.5])
    # A packed value that marks missing data is no width.
    np.testing.assert_array_equal(scene.fwhm.values, [9.5, np.nan])
    assert transform_of(scene).to_gdal() == (1000.25, 0.5, 0.0, 90.5, 0.0, -1.0)
    np.testing.assert_array_equal(scene.lat.values, np.full((3, 4), 47.25))
    assert scene.dtype == np.int16
    np.testing.assert_array_equal(scene.values, packed_dataset()["reflectance"].values)


def test_a_scale_that_is_no_number_is_refused(tmp_path):
    dataset = packed_dataset()
    dataset["wavelength"].attrs["scale_factor"] = "large"
    dataset.to_netcdf(tmp_path / "cube.nc", engine="h5netcdf")
    with pytest.raises(SceneError):
        read_scene(tmp_path / "cube.nc")


def test_packed_lists_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "cube.h5", "w") as file:
        file["cube"] = np.arange(24.0).reshape(2, 3, 4)
        file["wavelength"] = np.array([4005, 5005], dtype="i2")
        file["wavelength"].attrs["scale_factor"] = 0.1
        file["wavelength"].attrs["units"] = "nm"
        file["fwhm"] = np.array([19, 21], dtype="i2")
        file["fwhm"].attrs["scale_factor"] = [0.5]
    scene = read_scene(tmp_path / "cube.h5", layout="band y x")
    np.testing.assert_allclose(scene.wavelength.values, [400.5, 500.5])
    np.testing.assert_allclose(scene.fwhm.values, [9.5, 10.5])


@pytest.mark.parametrize("suffix", [".nc", ".h5"])
def test_two_values_of_missing_data(tmp_path, suffix):
    path = tmp_path / f"cube{suffix}"
    dataset = packed_dataset()
    dataset["reflectance"].attrs |= {"missing_value": np.int16(5), "valid_range": [0, 20]}
    encoding = {"reflectance": {"_FillValue": None}}
    dataset["reflectance"].attrs["_FillValue"] = np.int16(-1)
    dataset["reflectance"].to_netcdf(path, engine="h5netcdf", encoding=encoding)
    scene = read_scene(path)
    assert scene.attrs["_FillValue"] == -1
    notes = notes_of(scene)
    assert (
        "missing_value 5 differs from _FillValue -1: pass it to leave out its pixels (nodata)"
        in notes
    )
    assert "its attributes valid_range are not applied" in notes
    scene = read_scene(path, nodata=5)
    assert scene.selfdict.valid().values.sum() == 11


def test_the_same_value_twice_needs_no_note(tmp_path):
    dataset = packed_dataset().astype("f4")
    dataset["reflectance"].attrs |= {"missing_value": np.float32(np.nan), "_FillValue": np.nan}
    dataset.to_netcdf(tmp_path / "cube.nc", engine="h5netcdf")
    assert not any("missing_value" in note for note in notes_of(read_scene(tmp_path / "cube.nc")))
