"""Grids in single precision, irregular ones, and masks of another place."""

import numpy as np
import pytest
import xarray as xr
from scene_sample import TRANSFORM, full_scene

from selfdict.scene import SceneError, build_scene, read_scene, transform_of, write_scene
from selfdict.scene.metadata import notes_of

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
    assert not any(SPACING in note for note in notes_of(scene))


def test_irregular_coordinates_are_noted(tmp_path):
    lat = np.array([50.0, 49.5, 49.0, 48.4])
    scene = read_scene(write_degrees(tmp_path / "cube.nc", np.arange(3.0), lat))
    assert transform_of(scene) is None
    assert any(SPACING in note for note in notes_of(scene))


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
        with pytest.raises(SceneError):
            read_scene(path, mask=layer)
    else:
        assert not read_scene(path, mask=layer)["valid"].values[2, 3]
