"""Tanager: HDF-EOS5, as the sensor saw it ("basic", a swath) or on a map grid ("ortho").

The cube ``surface_reflectance`` or ``toa_radiance (band, y, x)`` has the attributes
``wavelengths``, ``fwhm`` and ``good_wavelengths``; ``nodata_pixels`` is 1 for pixels without data.
"""

import json
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from affine import Affine

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.hdf5 import (
    load_values,
    number_list,
    one_number,
    own_group,
    plain_dataset,
    text_attribute,
    text_of,
)
from selfdict.scene.formats.hdf5_bands import band_data
from selfdict.scene.formats.hdf5_cube import checked_cube, lazy_dataset
from selfdict.scene.formats.hdf5_grid import MapGrid, crs_from_text, transform_from_numbers
from selfdict.scene.formats.hdf5_values import value_data
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.packed import load_numbers
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes
from selfdict.scene.units import unit_of

_GRID = "HDFEOS/GRIDS/HYP"
_SWATH = "HDFEOS/SWATHS/HYP"
_CUBES = ("surface_reflectance", "toa_radiance")  # the first of them that there is is read


def find_cube(file: Any) -> str | None:
    """Return the path of the array that is read, or None if this is no Tanager file."""
    for root in (_GRID, _SWATH):
        for name in _CUBES:
            if plain_dataset(file, f"{root}/Data Fields/{name}") is not None:
                return f"{root}/Data Fields/{name}"
    return None


def read(limit: Limit, cube_name: str) -> xr.DataArray:
    """Read the reflectance, or the radiance if that is what the file holds, see :func:`find_cube`.

    A swath has the coordinates ``lat`` and ``lon`` instead of a map grid.
    """
    path = limit.path
    with h5py.File(path, "r") as file:
        fields, _, name = cube_name.rpartition("/")
        is_grid = fields.startswith(_GRID)
        cube = checked_cube(limit, file, cube_name)
        wavelength = number_list(path, cube, "wavelengths")
        bands, band_notes = band_data(
            path,
            cube.shape[0],
            wavelength,
            _unit(path, cube, wavelength),
            number_list(path, cube, "fwhm"),
            number_list(path, cube, "good_wavelengths"),
        )
        values, value_notes = value_data(path, cube, cube.shape[0])
        # Planet_Ortho_Framing of a swath describes the grid of another file.
        grid = MapGrid(None, None)
        if is_grid:
            grid = _read_grid(limit, file, cube.shape[1:])
        scene = build_scene(
            lazy_dataset(limit, file, cube_name, (0, 1, 2)),
            **bands,
            **values,
            crs=grid.crs,
            transform=grid.transform,
            name=name,
        )
        scene = add_notes(scene, *_cube_notes(file, fields, name), *value_notes, *band_notes)
        scene = add_notes(scene, *_axis_notes(scene), *grid.notes)
        scene = _mask_nodata(limit, file, fields, scene)
        if not is_grid:
            scene = _with_positions(limit, file, scene)
    return scene


def _unit(path: Path, cube: Any, wavelength: Array | None) -> str | None:
    """Return the unit of the wavelengths, None if they do not seem to be in nanometres."""
    named = text_attribute(path, cube, "wavelength_units")
    if named is None and wavelength is not None and unit_of(wavelength, None) == "nm":
        # The specification of the product says so.
        return "nm"
    return named


def _axis_notes(scene: xr.DataArray) -> list[str]:
    """Return a note about the axes if no list of wavelengths confirms which are the bands."""
    if "wavelength" in scene.coords:
        return []
    sizes = " × ".join(str(size) for size in scene.shape)
    return [f"the axes {sizes} are taken as band, y, x, the order of the product"]


def _cube_notes(file: Any, fields: str, name: str) -> list[str]:
    notes = []
    if name == "toa_radiance":
        notes.append("the values are radiances at the top of the atmosphere, not reflectances")
    elif plain_dataset(file, f"{fields}/toa_radiance") is not None:
        notes.append("the file has toa_radiance, too, which is not read (variable)")
    if plain_dataset(file, f"{fields}/beta_cloud_mask") is not None:
        notes.append("the cloud masks of the file are not used (mask)")
    return notes


def _mask_nodata(limit: Limit, file: Any, fields: str, scene: xr.DataArray) -> xr.DataArray:
    """Return the scene with the pixels left out that the file marks as empty."""
    marked = plain_dataset(file, f"{fields}/nodata_pixels")
    if marked is None:
        return add_notes(scene, "the file has no nodata_pixels")
    if marked.shape != scene.shape[1:]:
        raise SceneError(
            limit.path,
            f"nodata_pixels must have the shape {scene.shape[1:]}, got {marked.shape}",
        )
    # 1 marks a pixel without data. Other numbers are the fill value of the mask itself.
    return scene.assign_coords(valid=(("y", "x"), load_values(limit, marked) == 0))


def _with_positions(limit: Limit, file: Any, scene: xr.DataArray) -> xr.DataArray:
    """Return a swath with the latitudes and longitudes of its pixels."""
    for key, name in (("lat", "Latitude"), ("lon", "Longitude")):
        dataset = plain_dataset(file, f"{_SWATH}/Geolocation Fields/{name}")
        if dataset is None or dataset.shape != scene.shape[1:]:
            return add_notes(scene, f"the file has no {name} of its pixels")
        scene = scene.assign_coords({key: (("y", "x"), load_numbers(limit, dataset))})
    return add_notes(scene, "the scene is in sensor geometry: it has lat and lon, but no map grid")


def _read_grid(limit: Limit, file: Any, shape: tuple[int, int]) -> MapGrid:
    """Return CRS and transform of an ortho product."""
    path = limit.path
    group = own_group(file, _GRID)
    notes: tuple[str, ...] = ("the file names no CRS (epsg_code)",)
    crs = None
    code = one_number(path, group, "epsg_code")
    transform = _grid_from_structure(limit, file, shape)
    framing = _read_framing(limit, group, shape)
    if transform is None:
        transform = transform_from_numbers(_numbers(framing.get("geotransform")))
    if code is None:
        codes = _numbers(framing.get("epsg_code"))
        if codes is not None and codes.size == 1:
            code = float(codes[0])
    if code is not None and np.isfinite(code):
        crs, notes = crs_from_text(f"EPSG:{int(code)}")
    if transform is None:
        notes = (*notes, "the corners of the grid are missing: there are no map coordinates")
    return MapGrid(crs, transform, notes)


def _grid_from_structure(limit: Limit, file: Any, shape: tuple[int, int]) -> Affine | None:
    """Return the transform that the outer corners in ``StructMetadata.0`` give, or None."""
    dataset = plain_dataset(file, "HDFEOS INFORMATION/StructMetadata.0")
    if dataset is None:
        return None
    text = text_of(load_values(limit, dataset))
    upper_left = _pair(text, "UpperLeftPointMtrs")
    lower_right = _pair(text, "LowerRightMtrs")
    if upper_left is None or lower_right is None:
        return None
    # The product registers pixels by their corners (HE5_HDFE_CORNER): the two points are the
    # outer corners of the grid.
    n_rows, n_columns = shape
    dx = (lower_right[0] - upper_left[0]) / n_columns
    dy = (lower_right[1] - upper_left[1]) / n_rows
    return transform_from_numbers(np.array([upper_left[0], dx, 0.0, upper_left[1], 0.0, dy]))


def _pair(text: str, name: str) -> tuple[float, float] | None:
    """Return two numbers written as ``name=(x,y)``, or None."""
    number = r"\s*([-+0-9.eE]{1,40})\s*"
    match = re.search(rf"{name}\s*=\s*\({number},{number}\)", text)
    if match is None:
        return None
    try:
        return float(match[1]), float(match[2])
    except ValueError:
        return None


def _read_framing(limit: Limit, group: Any, shape: tuple[int, int]) -> dict[str, Any]:
    """Return the attribute ``Planet_Ortho_Framing``, unless it is about a grid of another shape."""
    for node in (group, own_group(group, "Data Fields")):
        text = text_attribute(limit.path, node, "Planet_Ortho_Framing")
        if text is None:
            continue
        try:
            framing = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(framing, dict):
            continue
        n_rows, n_columns = shape
        # A framing without sizes cannot be compared.
        if framing.get("rows", n_rows) == n_rows and framing.get("cols", n_columns) == n_columns:
            return framing
    return {}


def _numbers(value: Any) -> Array | None:
    """Return numbers from JSON as float64 (n,), or None if they are none."""
    if value is None:
        return None
    try:
        return np.asarray(value, dtype=np.float64).ravel()
    except (OverflowError, TypeError, ValueError):
        return None
