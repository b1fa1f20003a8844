"""DataArrays from elsewhere: the accessor, no-data values as rioxarray keeps them."""

import numpy as np
import pytest
import rasterio
import rioxarray
import xarray as xr
from scene_sample import TRANSFORM

from selfdict.scene import as_scene, read_scene, unmix, valid_mask, write_scene

NODATA = -7
EXPECTED = np.array([[True, False, True, True], [True, True, True, False], [True] * 4])


@pytest.fixture
def data():
    """Five bands of int16; two pixels hold the no-data value, which nothing declares."""
    values = np.random.default_rng(0).integers(1, 100, (5, 3, 4)).astype(np.int16)
    values[:, 0, 1] = NODATA
    values[2, 1, 3] = NODATA
    return xr.DataArray(values, dims=("band", "y", "x"))


@pytest.fixture
def geotiff(tmp_path, data):
    profile = {"driver": "GTiff", "count": 5, "height": 3, "width": 4, "dtype": "int16"}
    path = tmp_path / "cube.tif"
    with rasterio.open(path, "w", nodata=NODATA, transform=TRANSFORM, **profile) as file:
        file.write(data.values)
    return path


@pytest.mark.parametrize(
    "data",
    [
        xr.DataArray(np.zeros(3)),
        xr.DataArray(np.zeros((3, 4)), dims=("y", "x")),
        xr.DataArray(np.zeros((3, 4, 5)), dims=("a", "b", "c")),
        xr.DataArray(np.array(["text"])),
        xr.DataArray(np.zeros((0, 3, 4)), dims=("y", "x", "band")),
        xr.DataArray(np.zeros((2, 3, 4), complex), dims=("y", "x", "band")),
    ],
)
def test_every_array_has_the_accessor_and_its_methods_say_what_is_wrong(data):
    assert hasattr(data, "selfdict")
    with pytest.raises((TypeError, ValueError)) as expected:
        as_scene(data)
    for _ in range(2):  # a failure is not remembered as a scene
        with pytest.raises(type(expected.value)) as error:
            data.selfdict.valid()
        assert str(error.value) == str(expected.value)
    with pytest.raises(type(expected.value)):
        data.selfdict.unmix(2)


def test_without_a_declaration_a_single_value_is_data(data):
    # In all bands it can be no measurement.
    assert np.argwhere(~valid_mask(data).values).tolist() == [[0, 1]]
    assert "_FillValue" not in as_scene(data).attrs


def declared(data, how):
    """Return the array with its no-data value declared in one of the ways of rioxarray."""
    if how == "write":
        return data.rio.write_nodata(NODATA)
    if how == "write encoded":
        return data.rio.write_nodata(NODATA, encoded=True)
    if how == "masked":
        masked = data.where(data != NODATA)
        return masked.rio.write_nodata(NODATA, encoded=True)
    if how == "set":
        return data.rio.set_nodata(NODATA)
    return data.assign_attrs({how: NODATA})


WAYS = ["write", "write encoded", "masked", "set", "_FillValue", "missing_value", "nodata"]


@pytest.mark.parametrize("how", WAYS)
def test_declared_no_data_is_left_out(data, how):
    scene = declared(data, how)
    np.testing.assert_array_equal(valid_mask(scene).values, EXPECTED)
    np.testing.assert_array_equal(declared(data, how).selfdict.valid().values, EXPECTED)
    assert unmix(declared(data, how), 2, method="spa").n_valid == 10
    renamed = declared(data.rename(band="bands", y="rows", x="cols"), how)
    np.testing.assert_array_equal(valid_mask(renamed).values, EXPECTED)


@pytest.mark.parametrize("suffix", [".hdr", ".tif", ".nc", ".zarr"])
@pytest.mark.parametrize("how", WAYS)
def test_declared_no_data_is_written(tmp_path, data, how, suffix):
    expected = NODATA
    if how == "masked":
        expected = np.nan
    scene = declared(data, how)
    read = read_scene(write_scene(scene, tmp_path / f"cube{suffix}"))
    np.testing.assert_equal(read.attrs["_FillValue"], expected)
    np.testing.assert_array_equal(read.selfdict.valid().values, EXPECTED)
    if how == "set":  # for this very object
        layer = data.isel(band=2).rio.set_nodata(NODATA)
        path = write_scene(layer, tmp_path / f"map{suffix}")
        assert read_scene(path).attrs["_FillValue"] == NODATA


# rioxarray itself uses what affine and rasterio warn about.
opens_files = pytest.mark.filterwarnings("ignore::PendingDeprecationWarning", "ignore:Dataset has")


@opens_files
@pytest.mark.parametrize("masked", [False, True])
def test_a_file_opened_by_rioxarray(geotiff, masked):
    with rioxarray.open_rasterio(geotiff, masked=masked) as opened:
        np.testing.assert_array_equal(valid_mask(opened).values, EXPECTED)
        result = unmix(opened, 2, method="spa")
    expected = unmix(read_scene(geotiff), 2, method="spa")
    np.testing.assert_array_equal(result.pixels, expected.pixels)
    np.testing.assert_array_equal(result.abundances.values, expected.abundances.values)


def test_a_masked_scene_can_be_written_by_xarray(tmp_path, data):
    """An array with _FillValue in its attributes and in its encoding could not."""
    data = declared(data, "masked")
    as_scene(data).rename("cube").to_netcdf(tmp_path / "cube.nc", engine="h5netcdf")
    np.testing.assert_array_equal(read_scene(tmp_path / "cube.nc").selfdict.valid(), EXPECTED)
    assert data.encoding["_FillValue"] == NODATA
    assert "_FillValue" not in data.attrs


@pytest.mark.parametrize("value", [-9999, "none", np.array([1, 2]), np.nan, 0.5])
def test_a_value_that_no_pixel_can_hold_changes_nothing(data, value):
    data = data.clip(1, 100).astype(np.uint8).assign_attrs(missing_value=value)
    assert valid_mask(data).values.all()


def test_the_lowest_float64_as_no_data_of_float32(data):
    values = data.astype(np.float32).where(data != NODATA, -np.inf)
    values.attrs["missing_value"] = -1.7976931348623157e308
    np.testing.assert_array_equal(valid_mask(values).values, EXPECTED)


@opens_files
def test_an_array_whose_file_is_gone(tmp_path, data):
    path = write_scene(data.clip(1, 100), tmp_path / "cube.tif")
    opened = rioxarray.open_rasterio(path).load()
    opened.rio._manager.close()
    path.unlink()
    assert valid_mask(opened).values.all()
