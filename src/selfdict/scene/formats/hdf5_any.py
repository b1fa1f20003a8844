"""Any HDF5 file: one array of three axes, with what is found beside it.

The axes are known by the names of their dimension scales, as NetCDF writes them, or by the number
of wavelengths. Scale, offset and no-data value are those of the CF conventions.
"""

from pathlib import Path
from typing import Any

import h5py
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.arrays import WAVELENGTH
from selfdict.scene.formats.axes import guess_layout, middle_of, parse_layout
from selfdict.scene.formats.hdf5 import (
    is_bare_dimension,
    number_list,
    own_group,
    plain_dataset,
    text_attribute,
)
from selfdict.scene.formats.hdf5_bands import band_data, unit_attribute
from selfdict.scene.formats.hdf5_cube import checked_cube, lazy_dataset, named_axes
from selfdict.scene.formats.hdf5_grid import read_grid_mapping
from selfdict.scene.formats.hdf5_values import value_data
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.packed import load_numbers
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes

# Names in lower case of what may be known about bands, besides the wavelengths.
_FWHM = ("fwhm", "fwhms")
_GOOD_BAND = ("good_wavelengths", "good_band", "good_bands", "bbl")
_MAX_OBJECTS = 10_000  # searched for arrays; a file may hold millions
# Unpacked at most to tell which axis is the bands; chunks may hold whole images.
_MAX_WINDOW_BYTES = 2**28


def read(limit: Limit, variable: str | None = None, layout: str | None = None) -> xr.DataArray:
    """Read one array of three axes.

    Parameters
    ----------
    limit : Limit
        Of the file.
    variable : str, optional
        The path of the array; needed if several have three axes.
    layout : str, optional
        The axes in order, such as ``"band y x"``; default: as the file says, else by what
        it holds.
    """
    path = limit.path
    with h5py.File(path, "r") as file:
        name = _find_cube(limit, file, variable)
        cube = checked_cube(limit, file, name)
        wavelength, units = _find_wavelengths(limit, file, cube)
        axes, axis_note = _find_axes(limit, cube, wavelength, layout)
        n_bands = cube.shape[axes[0]]
        if wavelength is not None and wavelength.size != n_bands:
            wavelength = None
        bands, band_notes = band_data(
            path,
            n_bands,
            wavelength,
            units,
            _find_list(limit, file, cube, _FWHM, n_bands),
            _find_list(limit, file, cube, _GOOD_BAND, n_bands),
        )
        grid = read_grid_mapping(limit, file, cube)
        values, value_notes = value_data(path, cube, n_bands)
        scene = build_scene(
            lazy_dataset(limit, file, name, axes),
            **bands,
            **values,
            crs=grid.crs,
            transform=grid.transform,
            name=name.rpartition("/")[2],
        )
        notes = [f"{name} is read as a plain array", axis_note, *value_notes]
    return add_notes(scene, *notes, *band_notes, *grid.notes)


def _find_cube(limit: Limit, file: Any, variable: str | None) -> str:
    """Return the path of the array to read, without a slash at its start."""
    if variable is not None:
        name = variable.strip("/")
        if name and plain_dataset(file, name) is not None:
            return name
        raise SceneError(
            limit.path, f"has no dataset {variable!r} of its own; {_listed(list_cubes(file))}"
        )
    cubes = list_cubes(file)
    if len(cubes) != 1:
        raise SceneError(
            limit.path,
            f"expected one array of 3 axes, name one by variable=… (--variable); {_listed(cubes)}",
        )
    return next(iter(cubes))


def list_cubes(file: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays of three axes in all groups, by path."""
    cubes: dict[str, tuple[int, ...]] = {}
    n_seen = 0

    def visit(name: Any, node: Any) -> bool | None:
        nonlocal n_seen
        n_seen += 1
        # h5py returns names that are no UTF-8 as bytes, and nobody can type them.
        if isinstance(node, h5py.Dataset) and isinstance(name, str):
            is_own = not node.external and not node.is_virtual
            if is_own and len(node.shape or ()) == 3 and node.dtype.kind in "iuf":
                cubes[name] = node.shape
        # True ends the search.
        if n_seen >= _MAX_OBJECTS:
            return True
        return None

    # It follows no links to other files, and no group twice.
    file.visititems(visit)
    return cubes


def _listed(cubes: dict[str, tuple[int, ...]]) -> str:
    if not cubes:
        return "there is none with 3 axes of real numbers"
    first = [f"{name} {shape}" for name, shape in list(cubes.items())[:8]]
    more = ""
    if len(cubes) > len(first):
        more = f" and {len(cubes) - len(first)} more"
    return f"there are: {', '.join(first)}{more}"


def _find_axes(
    limit: Limit, cube: Any, wavelength: Array | None, layout: str | None
) -> tuple[tuple[int, int, int], str]:
    """Return which axes are band, y and x, and how that is known."""
    if layout is not None:
        names = parse_layout(layout)
        return _positions(names), f"its axes are {', '.join(names)}, as layout says"
    named = named_axes(limit.path, cube)
    if named is not None:
        return named, "its axes are those that its dimension scales name"
    n_wavelengths = None
    if wavelength is not None:
        n_wavelengths = wavelength.size
    load = cube.__getitem__
    if _bytes_of_chunks(cube, middle_of(cube.shape)) > _MAX_WINDOW_BYTES:
        load = None
    names, note = guess_layout(cube.shape, load, n_wavelengths)
    return _positions(names), note


def _bytes_of_chunks(cube: Any, window: tuple[slice, ...]) -> int:
    """Return how many bytes HDF5 unpacks to read a window."""
    n_bytes = int(cube.dtype.itemsize)
    for axis, part in enumerate(window):
        if cube.chunks is None:
            n_bytes *= part.stop - part.start
        else:
            size = cube.chunks[axis]
            n_bytes *= size * (-(-part.stop // size) - part.start // size)
    return n_bytes


def _positions(names: tuple[str, ...]) -> tuple[int, int, int]:
    return names.index("band"), names.index("y"), names.index("x")


def _find_wavelengths(limit: Limit, file: Any, cube: Any) -> tuple[Array | None, str | None]:
    """Return wavelengths that fit one of the axes, and their unit if it is named."""
    path = limit.path
    for name, unit in WAVELENGTH.items():
        values = number_list(path, cube, name)
        if values is not None and values.size in cube.shape:
            return values, unit or text_attribute(path, cube, "wavelength_units")
    dataset = _find_beside(path, file, cube, tuple(WAVELENGTH), set(cube.shape))
    if dataset is None:
        return None, None
    unit = WAVELENGTH[dataset.name.rpartition("/")[2].lower()]
    return load_numbers(limit, dataset), unit or unit_attribute(path, dataset)


def _find_list(
    limit: Limit, file: Any, cube: Any, names: tuple[str, ...], n_bands: int
) -> Array | None:
    """Return one number per band, from an attribute of the cube or a dataset beside it."""
    for name in names:
        values = number_list(limit.path, cube, name)
        if values is not None and values.size == n_bands:
            return values
    dataset = _find_beside(limit.path, file, cube, names, {n_bands})
    if dataset is None:
        return None
    return load_numbers(limit, dataset)


def _find_beside(path: Path, file: Any, cube: Any, names: tuple[str, ...], sizes: set[int]) -> Any:
    """Return a dataset of one axis in the group of the cube or in a group around it, or None."""
    group = cube.name.strip("/")
    while group:
        group = group.rpartition("/")[0]
        members = file
        if group:
            members = own_group(file, group)
        for member in members:
            if not isinstance(member, str) or member.lower() not in names:
                continue
            dataset = plain_dataset(members, member)
            if dataset is None or dataset.dtype.kind not in "biuf":
                continue
            fits = len(dataset.shape or ()) == 1 and dataset.shape[0] in sizes
            if fits and not is_bare_dimension(path, dataset):
                return dataset
    return None
