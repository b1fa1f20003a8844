"""AVIRIS-3, AVIRIS-5 and AVIRIS-NG L2A reflectance: NetCDF with the cube in a group, on a map grid.

The group ``reflectance`` holds ``reflectance (wavelength, northing, easting)``, ``wavelength`` and
``fwhm``; the root holds the grid mapping and the coordinates ``easting`` and ``northing``.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.formats.hdf5 import (
    is_bare_dimension,
    plain_dataset,
    required_dataset,
)
from selfdict.scene.formats.hdf5_bands import band_data, unit_attribute
from selfdict.scene.formats.hdf5_cube import checked_cube, lazy_dataset, named_axes
from selfdict.scene.formats.hdf5_grid import load_axis, read_grid_mapping
from selfdict.scene.formats.hdf5_values import value_data
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.packed import load_numbers
from selfdict.scene.georef import spacing_notes, to_map
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes

CUBE = "reflectance/reflectance"
_WAVELENGTH = "reflectance/wavelength"


def is_aviris(path: Path, file: Any) -> bool:
    """Whether this HDF5 file has the group of an AVIRIS L2A product."""
    wavelength = plain_dataset(file, _WAVELENGTH)
    if wavelength is None or is_bare_dimension(path, wavelength):
        return False
    return plain_dataset(file, CUBE) is not None


def read(limit: Limit) -> xr.DataArray:
    """Read the reflectance on the map grid of the file."""
    path = limit.path
    with h5py.File(path, "r") as file:
        cube = checked_cube(limit, file, CUBE)
        # Other software may have written the axes in another order.
        axes = named_axes(limit.path, cube) or (0, 1, 2)
        n_bands = cube.shape[axes[0]]
        wavelength = required_dataset(path, file, _WAVELENGTH)
        bands, band_notes = band_data(
            path,
            n_bands,
            load_numbers(limit, wavelength),
            unit_attribute(path, wavelength),
            _load_optional(limit, file, "reflectance/fwhm"),
            _load_optional(limit, file, "reflectance/good_wavelengths"),
        )
        values, value_notes = value_data(path, cube, n_bands)
        grid = read_grid_mapping(limit, file, cube)
        scene = build_scene(
            lazy_dataset(limit, file, CUBE, axes),
            **bands,
            **values,
            crs=grid.crs,
            transform=grid.transform,
        )
        scene = add_notes(scene, *value_notes, *band_notes, *grid.notes)
        easting = load_axis(limit, file, "easting", scene.sizes["x"])
        northing = load_axis(limit, file, "northing", scene.sizes["y"])
    if easting is None or northing is None:
        return scene
    return _compare_axes(scene, grid.transform, easting, northing)


def _compare_axes(
    scene: xr.DataArray, transform: Any, easting: Array, northing: Array
) -> xr.DataArray:
    """Return the scene with a note if its axes say something else than its transform.

    Without a transform the axes are its map coordinates.
    """
    if transform is None:
        scene = scene.assign_coords(x=easting, y=northing)
        note = "the file has no GeoTransform: easting and northing are taken as pixel centres"
        return add_notes(scene, note, *spacing_notes(scene))
    # The first and the last pixel: a shift or another step shows in one of them.
    columns = np.array([0, easting.size - 1])
    rows = np.array([0, northing.size - 1])
    x, y = to_map(transform, columns + 0.5, rows + 0.5)
    distance = np.hypot(easting[columns] - x, northing[rows] - y).max()
    # A tenth of a pixel: coordinates in single precision are off by less.
    if not distance < 0.1 * np.sqrt(abs(transform.determinant)):
        return add_notes(
            scene,
            f"easting and northing are up to {distance:.3g} away from the pixel centres of the "
            "GeoTransform, which is used",
        )
    return scene


def _load_optional(limit: Limit, file: Any, name: str) -> Array | None:
    dataset = plain_dataset(file, name)
    if dataset is None:
        return None
    return load_numbers(limit, dataset)
