"""Coordinates and masks of DataArrays from elsewhere: their units, their names, their dims."""

import numpy as np
import pytest
import xarray as xr

from selfdict.scene import as_scene, build_scene, valid_mask
from selfdict.scene.metadata import notes_of

MICROMETRES = [0.45, 0.55, 0.65]


def cube(*dims):
    return xr.DataArray(np.ones((3, 4, 3)), dims=dims or ("y", "x", "band"))


@pytest.mark.parametrize("dims", [("y", "x"), ("x", "y"), ("Lon", "lat"), ("samples", "lines")])
def test_the_dims_of_a_mask_are_recognised(dims):
    excluded = np.zeros((3, 3), dtype=bool)
    excluded[1] = True  # a row
    mask = xr.DataArray(excluded, dims=("y", "x"))
    if dims[0] != "y":
        mask = mask.transpose("x", "y")
    mask = mask.rename(dict(zip(mask.dims, dims)))
    scene = build_scene(np.ones((2, 3, 3)))
    np.testing.assert_array_equal(valid_mask(scene, mask), ~excluded)
    # dims that are not known are taken in their order
    unknown = xr.DataArray(excluded, dims=("a", "b"))
    np.testing.assert_array_equal(valid_mask(scene, unknown), ~excluded)


@pytest.mark.parametrize("attrs", [{"units": "um"}, {}, {"units": "unknown"}, {"units": 7}])
def test_wavelengths_along_the_bands_become_nanometres(attrs):
    data = cube().assign_coords(
        wavelength=("band", MICROMETRES, attrs), fwhm=("band", [0.01, 0.01, 0.02])
    )
    scene = as_scene(data)
    np.testing.assert_array_equal(scene.wavelength, [450, 550, 650])
    np.testing.assert_array_equal(scene.fwhm, [10, 10, 20])
    assert scene.wavelength.attrs["units"] == scene.fwhm.attrs["units"] == "nm"
    assert (notes_of(scene) == []) == (attrs.get("units") == "um")  # a guess is noted
    xr.testing.assert_identical(as_scene(scene), scene)
    assert data.wavelength.attrs == attrs  # of the user


def test_widths_in_nanometres_are_no_micrometres():
    data = cube().assign_coords(
        wavelength=("band", MICROMETRES, {"units": "um"}),
        fwhm=("band", [5, 6, 7], {"units": "Nanometers"}),
    )
    np.testing.assert_array_equal(as_scene(data).fwhm, [5, 6, 7])
    data = cube().assign_coords(
        wavelength=("band", [450, 550, 650], {"units": "nm"}), fwhm=("band", [5, 6, 7])
    )
    scene = as_scene(data)
    np.testing.assert_array_equal(scene.fwhm, [5, 6, 7])
    assert scene.fwhm.attrs["units"] == "nm"


@pytest.mark.parametrize("dim", ["band", "wavelength"])
def test_another_unit_is_told_not_used(dim):
    data = cube("y", "x", dim)
    data = data.assign_coords(wavelength=(dim, [22000, 18000, 15000], {"units": "cm-1"}))
    scene = as_scene(data)
    assert "wavelength" not in scene.coords
    assert "cm-1" in notes_of(scene)[0]


def test_wavelengths_that_are_no_numbers():
    names = ["blue", "green", "red"]
    kept = as_scene(cube().assign_coords(wavelength=("band", names)))
    assert list(kept.wavelength.values) == names
    scene = as_scene(cube("y", "x", "wavelength").assign_coords(wavelength=names))
    assert "wavelength" not in scene.coords
    assert "wavelength" in notes_of(scene)[0]


def test_a_coordinate_that_has_the_name_of_a_dim_gives_way():
    data = cube("lat", "lon", "wavelength").assign_coords(
        wavelength=[450.0, 550.0, 650.0],
        lat=[3.0, 2.0, 1.0],
        lon=[1.0, 2.0, 3.0, 4.0],
        band=7,
        y=("lat", [30.0, 20.0, 10.0]),
    )
    scene = as_scene(data)
    assert scene.dims == ("band", "y", "x")
    np.testing.assert_array_equal(scene.y, [3, 2, 1])
    notes = " ".join(notes_of(scene))
    assert "'band'" in notes
    assert "'y'" in notes


def test_map_coordinates_of_counted_rows_stay():
    data = cube("row", "col", "band").assign_coords(y=("row", [30.0, 20.0, 10.0]))
    scene = as_scene(data)
    np.testing.assert_array_equal(scene.y, [30, 20, 10])
    assert notes_of(scene) == []
