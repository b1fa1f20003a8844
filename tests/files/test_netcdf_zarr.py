"""NetCDF and zarr against xarray, h5py and zarr themselves; packed numbers; grids."""

import h5py
import numpy as np
import pytest
import xarray as xr
import zarr
from checks import noted, refused
from scene_sample import TRANSFORM, assert_same, full_scene

from selfdict.scene import build_scene, crs_of, read_scene, transform_of, write_scene

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
    if kind in ("nc3", "zarr3"):
        # The coordinate of the bands tells by its unit what it is.
        dataset = dataset.rename(wavelength="band")
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
    assert crs_of(scene).to_epsg() == 4326
    assert tuple(transform_of(scene))[:6] == (0.5, 0.0, 9.75, 0.0, -0.5, 50.25)


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
    assert read.isel(y=slice(0, 0), x=4).values.shape == (5, 0)


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
    refused(tmp_path / "cube.nc")


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
    assert "not applied: missing_value 5, valid_range" in noted(scene)
    scene = read_scene(path, nodata=5)
    assert scene.selfdict.valid().values.sum() == 11


def test_the_same_value_twice_needs_no_note(tmp_path):
    dataset = packed_dataset().astype("f4")
    dataset["reflectance"].attrs |= {"missing_value": np.float32(np.nan), "_FillValue": np.nan}
    dataset.to_netcdf(tmp_path / "cube.nc", engine="h5netcdf")
    assert "missing_value" not in noted(read_scene(tmp_path / "cube.nc"))


STEP = 0.000542232520256367  # of EMIT, in degrees
SPACING = "not on a regular grid"


def write_degrees(path, lon, lat):
    values = np.ones((2, lat.size, lon.size), dtype="f4")
    data = xr.DataArray(values, dims=("band", "lat", "lon"), coords={"lat": lat, "lon": lon})
    data.to_dataset(name="reflectance").to_netcdf(path, engine="h5netcdf")
    return path


def test_coordinates_in_single_precision(tmp_path):
    lon = (-118.3 + STEP * np.arange(500)).astype("f4")
    lat = (34.6 - STEP * np.arange(400)).astype("f4")
    scene = read_scene(write_degrees(tmp_path / "cube.nc", lon, lat))
    transform = transform_of(scene)
    assert abs(transform.a - STEP) < 1e-4 * STEP
    assert abs(transform.c - (-118.3 - STEP / 2)) < 0.1 * STEP
    assert SPACING not in noted(scene)


def test_irregular_coordinates_are_noted(tmp_path):
    lat = np.array([50.0, 49.5, 49.0, 48.4])
    scene = read_scene(write_degrees(tmp_path / "cube.nc", np.arange(3.0), lat))
    assert transform_of(scene) is None
    assert SPACING in noted(scene)


def test_a_stored_transform_comes_before_rounded_coordinates():
    scene = full_scene()
    rounded = scene.assign_coords(x=scene.x.astype("f4") + 1.0, y=scene.y.astype("f4"))
    # A thirtieth of a pixel is rounding, a whole pixel is a selection.
    assert transform_of(rounded) == TRANSFORM
    assert transform_of(rounded.isel(x=slice(1, None))).c == TRANSFORM.c + 31.0


@pytest.mark.parametrize(
    ("shift", "crs", "is_refused"),
    [
        (0.0, "EPSG:32633", False),
        (2.0, "EPSG:32633", False),
        # Another datum, whose coordinates are the same within centimetres.
        (0.0, "EPSG:25833", False),
        # What cannot be compared is taken as it is.
        (9000.0, None, False),
        (30.0, "EPSG:32633", True),
        (0.0, "EPSG:32632", True),
    ],
)
def test_masks_of_another_place(tmp_path, shift, crs, is_refused):
    path = write_scene(full_scene(), tmp_path / "cube.tif")
    moved = type(TRANSFORM)(30.0, 0.0, TRANSFORM.c + shift, 0.0, -20.0, TRANSFORM.f)
    mask = np.zeros((1, 6, 7), dtype="u1")
    mask[0, 2, 3] = 1
    layer = write_scene(build_scene(mask, crs=crs, transform=moved), tmp_path / "mask.tif")
    if is_refused:
        refused(path, mask=layer)
    else:
        assert not read_scene(path, mask=layer)["valid"].values[2, 3]


@pytest.mark.parametrize("version", [2, 3])
def test_a_store_that_is_one_array(tmp_path, version):
    cube = np.random.default_rng(0).random((4, 9, 8))
    array = zarr.create_array(
        tmp_path / "bare.zarr", shape=cube.shape, dtype=cube.dtype, zarr_format=version
    )
    array[:] = cube
    scene = read_scene(tmp_path / "bare.zarr", layout="bands-first")
    np.testing.assert_array_equal(scene.values, cube)


def test_a_crs_that_only_its_parameters_tell(tmp_path):
    path = write_scene(full_scene(), tmp_path / "cube.nc")
    with h5py.File(path, "r+") as file:
        for name in ("spatial_ref", "crs_wkt"):
            del file["spatial_ref"].attrs[name]
    assert crs_of(read_scene(path)).to_epsg() == 32633
    with h5py.File(path, "r+") as file:
        file["spatial_ref"].attrs["grid_mapping_name"] = "unheard_of"
    assert crs_of(read_scene(path)) is None


@pytest.mark.parametrize("name", ["a.hdr", "a.nc", "a.zarr", "a.tif"])
def test_a_missing_wavelength_survives_a_round_trip(tmp_path, name):
    wavelength = [450.0, np.nan, 500.0]
    write_scene(build_scene(np.ones((3, 4, 5)), wavelength=wavelength), tmp_path / name)
    np.testing.assert_array_equal(read_scene(tmp_path / name).wavelength, wavelength)
