"""NetCDF and zarr against xarray, h5py and zarr themselves."""

import h5py
import numpy as np
import pytest
import xarray as xr
import zarr
from scene_sample import assert_same, full_scene

from selfdict.scene import SceneError, read_scene, transform_of, write_scene

DTYPES = ["uint8", "int16", "int32", "float32", "float64", "uint16", "uint32", "int64", "uint64"]


def open_independently(path):
    if path.suffix == ".nc":
        with h5py.File(path) as file:
            return file["reflectance"][()], dict(file["reflectance"].attrs), file["wavelength"][()]
    group = zarr.open_group(path, mode="r")
    return group["reflectance"][:], dict(group["reflectance"].attrs), group["wavelength"][:]


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
@pytest.mark.parametrize(
    ("dtype", "nodata"), [*((dtype, 200) for dtype in DTYPES), ("float32", None), ("int16", None)]
)
def test_round_trip(tmp_path, dtype, nodata, suffix):
    scene = full_scene(dtype, nodata)
    scene.attrs |= {"scale_factor": 0.5, "add_offset": 2.0}
    path = write_scene(scene, tmp_path / f"cube{suffix}")
    values, attributes, wavelength = open_independently(path)
    np.testing.assert_array_equal(values, scene.values)
    np.testing.assert_array_equal(wavelength, scene.wavelength.values)
    assert attributes["grid_mapping"] == "spatial_ref"
    assert_same(read_scene(path), scene)
    with xr.open_dataset(
        path, engine="h5netcdf" if suffix == ".nc" else "zarr", decode_coords="all"
    ) as dataset:
        physical = np.where(
            scene.values == (np.inf if nodata is None else nodata), np.nan, scene.values * 0.5 + 2.0
        )
        np.testing.assert_allclose(dataset["reflectance"].values, physical, rtol=1e-6)
        assert dataset["reflectance"].rio.crs.to_epsg() == 32633


@pytest.mark.parametrize("suffix", [".nc", ".zarr"])
def test_a_mask_survives(tmp_path, suffix):
    mask = np.zeros((6, 7), dtype=bool)
    mask[2, 3] = True
    scene = full_scene().assign_coords(valid=(("y", "x"), ~mask))
    read = read_scene(write_scene(scene, tmp_path / f"cube{suffix}"))
    np.testing.assert_array_equal(read["valid"].values, ~mask)
    np.testing.assert_array_equal(read.selfdict.valid().values, ~mask)


def other_peoples_dataset():
    values = np.arange(2 * 3 * 4, dtype=np.int16).reshape(3, 4, 2)
    data = xr.DataArray(
        values,
        dims=("lat", "lon", "wavelength"),
        coords={
            "lat": [50.0, 49.5, 49.0],
            "lon": [10.0, 10.5, 11.0, 11.5],
            "wavelength": ("wavelength", [0.5, 0.6], {"units": "um"}),
        },
        attrs={"_FillValue": np.int16(-1), "scale_factor": 0.001},
    )
    return xr.Dataset({"rfl": data, "quality": (("lat", "lon"), np.zeros((3, 4)))})


@pytest.mark.parametrize("kind", ["nc4", "nc3", "zarr2", "zarr3"])
def test_other_peoples_datasets(tmp_path, kind):
    dataset = other_peoples_dataset()
    path = tmp_path / ("cube.nc" if kind.startswith("nc") else "cube.zarr")
    if kind == "nc4":
        dataset.to_netcdf(path, engine="h5netcdf")
    elif kind == "nc3":
        dataset.to_netcdf(path, engine="scipy", format="NETCDF3_CLASSIC")
    else:
        dataset.to_zarr(path, zarr_format=int(kind[-1]), consolidated=False)
    scene = read_scene(path)
    assert scene.dims == ("band", "y", "x")
    np.testing.assert_array_equal(scene.values, dataset["rfl"].values.transpose(2, 0, 1))
    assert scene.wavelength.values.tolist() == [500.0, 600.0]
    assert scene.attrs == {"_FillValue": -1, "scale_factor": 0.001}
    assert scene.rio.crs.to_epsg() == 4326
    assert tuple(transform_of(scene))[:6] == (0.5, 0.0, 9.75, 0.0, -0.5, 50.25)


def test_widths_without_a_unit_follow_the_wavelengths(tmp_path):
    for unit, factor in (("um", 1.0), (None, 1.0), ("nm", 1000.0)):
        dataset = other_peoples_dataset().rename(wavelength="bands")
        dataset = dataset.drop_vars("bands").assign_coords(
            wavelengths=("bands", np.array([0.5, 0.6]) * factor)
        )
        dataset["fwhm"] = ("bands", np.array([0.01, 0.02]) * factor)
        if unit:
            dataset["wavelengths"].attrs["units"] = unit
        dataset.to_netcdf(tmp_path / f"{unit}.nc", engine="h5netcdf")
        scene = read_scene(tmp_path / f"{unit}.nc")
        assert scene.wavelength.values.tolist() == [500.0, 600.0]
        assert scene.fwhm.values.tolist() == [10.0, 20.0]


def test_several_cubes_need_a_name(tmp_path):
    dataset = other_peoples_dataset()
    dataset["uncertainty"] = dataset["rfl"] * 0
    dataset.to_netcdf(tmp_path / "cube.nc", engine="h5netcdf")
    with pytest.raises(SceneError):
        read_scene(tmp_path / "cube.nc")
    assert read_scene(tmp_path / "cube.nc", variable="uncertainty").values.max() == 0
    with pytest.raises(SceneError):
        read_scene(tmp_path / "cube.nc", variable="x")


@pytest.mark.parametrize("suffix", [".nc", ".zarr", ".tif"])
def test_any_index_reads_the_right_values(tmp_path, suffix):
    scene = full_scene("int16")
    read = read_scene(write_scene(scene, tmp_path / f"cube{suffix}"))
    for index in (
        {"band": 1},
        {"y": slice(1, None, 2)},
        {"x": slice(None, None, -3)},
        {"x": 4, "y": [5, 0, 2]},
    ):
        np.testing.assert_array_equal(read.isel(index).values, scene.isel(index).values)
    assert read.isel(y=slice(0, 0)).values.shape == (5, 0, 7)
