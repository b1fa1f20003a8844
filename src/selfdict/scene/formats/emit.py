"""EMIT: reflectance (L2A), its uncertainty, or radiance (L1B), in sensor geometry.

A NetCDF file with groups. Its geographic look-up table (GLT) has the row and column of the sensor
for each pixel of a map.
"""

from itertools import islice
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from affine import Affine

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import lazy_cube
from selfdict.scene.formats.hdf5 import (
    check_blocks,
    load_values,
    number_list,
    plain_dataset,
    required_dataset,
    text_attribute,
)
from selfdict.scene.formats.hdf5_cube import named_axes
from selfdict.scene.formats.hdf5_values import value_data
from selfdict.scene.formats.limits import Limit, product
from selfdict.scene.formats.packed import load_numbers
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes
from selfdict.scene.units import to_nanometres, unit_note, unit_of

_REFLECTANCE = "reflectance"
_BANDS = "sensor_band_parameters"
_WAVELENGTHS = f"{_BANDS}/wavelengths"
_MAX_OBJECTS = 1000  # at the root of a file, searched for a cube


def find_cube(path: Path) -> str | None:
    """Return the name of the cube in a file with the groups of an EMIT product, or None.

    It is ``reflectance``, else the only variable of the root with the axes of the sensor and as
    many bands as there are wavelengths: ``radiance`` or ``reflectance_uncertainty``.
    """
    with h5py.File(path, "r") as file:
        if _BANDS not in file or "location" not in file:
            return None
        if _REFLECTANCE in file:
            return _REFLECTANCE
        wavelengths = plain_dataset(file, _WAVELENGTHS)
        if wavelengths is None:
            return None
        found: list[str] = []
        for name in islice(file, _MAX_OBJECTS):
            cube = plain_dataset(file, name)
            if cube is None or len(cube.shape or ()) != 3 or cube.dtype.kind not in "iuf":
                continue
            has_axes = named_axes(path, cube) in (None, (2, 0, 1))
            if has_axes and wavelengths.shape == cube.shape[2:]:
                found.append(name)
    if len(found) != 1:
        return None
    return found[0]


def read(limit: Limit, *, cube_name: str = _REFLECTANCE, ortho: bool = True) -> xr.DataArray:
    """Read the cube on the map grid, or with ``ortho=False`` in sensor geometry.

    ``cube_name`` is what :func:`find_cube` returns. On the map each pixel is the sensor's nearest
    one, and pixels the sensor did not see are no-data. In sensor geometry the scene has the
    coordinates ``lat`` and ``lon``.
    """
    path = limit.path
    with h5py.File(path, "r") as file:
        cube = required_dataset(path, file, cube_name)
        if cube.ndim != 3 or cube.dtype.kind not in "iuf":
            raise SceneError(
                path,
                f"{cube_name} must have 3 dims of real numbers, got {cube.dtype} {cube.shape}",
            )
        if named_axes(limit.path, cube) not in (None, (2, 0, 1)):
            raise SceneError(path, f"the axes of {cube_name} must be downtrack, crosstrack, bands")
        check_blocks(cube, limit)
        band_data, notes = _band_data(limit, file)
        values, value_notes = value_data(path, cube, cube.shape[2])
        band_data["scale_factor"] = values["scale_factor"]
        band_data["add_offset"] = values["add_offset"]
        fill = values["nodata"]
        if fill is None:
            fill = cube.fillvalue.item()
        band_data["name"] = cube_name
        if ortho:
            scene = _on_map(limit, file, cube, fill, band_data)
        else:
            scene = _in_sensor_geometry(limit, file, cube, fill, band_data)
    if "good_band" not in scene.coords:
        notes.append("the file marks no bands as bad")
    if cube_name != _REFLECTANCE:
        notes.append(f"the values are those of {cube_name[:40]!r}, no reflectances")
    return add_notes(scene, *value_notes, *notes)


def _band_data(limit: Limit, file: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what the file says about its bands, by the names of a scene, and notes."""
    wavelengths = required_dataset(limit.path, file, _WAVELENGTHS)
    listed = load_numbers(limit, wavelengths)
    named = text_attribute(limit.path, wavelengths, "units")
    units = unit_of(listed, named)
    band_data: dict[str, Any] = {"wavelength": to_nanometres(listed, units)}
    fwhm = plain_dataset(file, f"{_BANDS}/fwhm")
    if fwhm is not None:
        band_data["fwhm"] = to_nanometres(load_numbers(limit, fwhm), units)
    good = plain_dataset(file, f"{_BANDS}/good_wavelengths")
    if good is not None:
        band_data["good_band"] = load_numbers(limit, good) != 0
    return band_data, unit_note(listed, named)


def _in_sensor_geometry(
    limit: Limit, file: Any, cube: Any, fill: float, band_data: dict[str, Any]
) -> xr.DataArray:
    n_rows, n_columns, n_bands = cube.shape
    file_chunk = (1, 1)
    if cube.chunks:
        file_chunk = cube.chunks[:2]
    shape = (n_bands, n_rows, n_columns)
    values = lazy_cube(limit, shape, cube.dtype, _Swath(limit.path, band_data["name"]), file_chunk)
    scene = build_scene(values, nodata=fill, **band_data)
    for key in ("lat", "lon"):
        coordinate = plain_dataset(file, f"location/{key}")
        if coordinate is not None:
            scene = scene.assign_coords({key: (("y", "x"), load_numbers(limit, coordinate))})
    return scene


def _on_map(
    limit: Limit, file: Any, cube: Any, fill: float, band_data: dict[str, Any]
) -> xr.DataArray:
    path = limit.path
    glt_y = required_dataset(path, file, "location/glt_y")
    glt_x = required_dataset(path, file, "location/glt_x")
    # Both are held as 64-bit integers below.
    limit.check(2 * 8 * product(glt_y.shape), "the GLT")
    glt_y = load_values(limit, glt_y)
    glt_x = load_values(limit, glt_x)
    # The table counts from 1. It is negative for a gap filled from a neighbour, and 0 for a pixel
    # the sensor did not see, which becomes −1.
    glt = np.abs(np.stack([glt_y, glt_x]).astype(np.int64)) - 1
    if glt.ndim != 3 or (glt >= np.reshape(cube.shape[:2], (2, 1, 1))).any():
        raise SceneError(
            path,
            f"the GLT points outside the {cube.shape[0]} × {cube.shape[1]} pixels of the sensor",
        )
    transform = number_list(path, file, "geotransform")
    if transform is None or transform.size != 6:
        raise SceneError(path, "has a GLT but no geotransform of 6 numbers")
    shape = (cube.shape[2], *glt.shape[1:])
    # Square tiles of the map: the lines of the sensor run across the map at an angle, so that a row
    # of the map would touch many of them.
    tile = (128, 128)
    gather = _Gather(_Swath(path, band_data["name"]), glt, fill, cube.dtype)
    return build_scene(
        lazy_cube(limit, shape, cube.dtype, gather, tile),
        crs=text_attribute(path, file, "spatial_ref") or "EPSG:4326",
        transform=Affine.from_gdal(*(float(value) for value in transform)),
        nodata=fill,
        **band_data,
    )


class _Swath:
    """Reads a window in sensor geometry.

    The file stays open, since its cache of chunks serves neighbouring windows.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.cube: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # An open file cannot be pickled: every process opens it for itself.
        return {"path": self.path, "name": self.name, "cube": None}

    def __call__(self, bands: slice, rows: slice, columns: slice) -> Array:
        if self.cube is None:
            # Unpacked chunks that neighbouring tiles of the map share. HDF5 advises a prime number
            # of slots, well above the number of chunks that fit.
            cache_bytes = 256 * 2**20
            file = h5py.File(self.path, "r", rdcc_nbytes=cache_bytes, rdcc_nslots=10_007)
            self.cube = file[self.name]
        return np.asarray(self.cube[rows, columns, bands]).transpose(2, 0, 1)


class _Gather:
    """Reads a window of the map: the part of the swath that the GLT points to, then its pixels."""

    def __init__(self, read: _Swath, glt: Array, fill: float, dtype: Any) -> None:
        self.read = read
        self.glt = glt
        self.fill = fill
        self.dtype = dtype

    def __call__(self, bands: slice, rows: slice, columns: slice) -> Array:
        row, column = self.glt[:, rows, columns]
        seen = (row >= 0) & (column >= 0)
        values = np.full((bands.stop - bands.start, *seen.shape), self.fill, self.dtype)
        if seen.any():
            row = row[seen]
            column = column[seen]
            top = row.min()
            left = column.min()
            # One read of the enclosing window is faster than one per pixel.
            part = self.read(bands, slice(top, row.max() + 1), slice(left, column.max() + 1))
            values[:, seen] = part[:, row - top, column - left]
        return values
