"""Named arrays without dims, as in ``.mat`` and ``.npz`` files, in the usual layouts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.model import DIMS, build_scene, to_nanometres, unit_of

# Names of a matrix (bands, pixels).
_MATRIX_NAMES = ("Y", "V")
# Names of the wavelengths, with their unit if the name tells it.
WAVELENGTH = {
    "wavelength": None,
    "wavelengths": None,
    "wavelength_nm": "nm",
    "wavelength_um": "um",
    "wavelengths_nm": "nm",
    "wavelengths_um": "um",
    "wl": None,
}


def scene_from_arrays(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    load: Callable[[str], Array],
    variable: str | None = None,
    layout: str | None = None,
) -> xr.DataArray:
    """Find the cube among named arrays and return it as a scene.

    Two layouts are known: a matrix ``Y`` or ``V`` (bands, pixels) with the scalars ``nRow`` and
    ``nCol``, its pixels counted column by column as in MATLAB; or a cube whose three axes
    ``layout`` names. Optional are ``wavelength(s)``, and ``scale`` or ``maxValue`` (reflectance =
    value / scale).

    Parameters
    ----------
    path : Path
        For messages.
    shapes : mapping of str to shape
        The numeric arrays in the file.
    load : callable
        Returns the array of that name.
    variable : str, optional
        Which array is the cube.
    layout : str, optional
        The axes of a cube in order, ``"y x band"`` by default.
    """
    if variable is not None and variable not in shapes:
        raise SceneError(
            path, f"no numeric array is called {variable!r}; there are: {_names(shapes)}"
        )
    matrix = _find_matrix(shapes, variable)
    if matrix is not None:
        values = _unfold(path, matrix, shapes, load)
    else:
        values = order_axes(path, load(_find_cube(path, shapes, variable)), layout)
    wavelength = None
    for name, units in WAVELENGTH.items():
        if name in shapes and int(np.prod(shapes[name])) == values.shape[0]:
            listed = load(name).ravel()
            wavelength = to_nanometres(listed, unit_of(listed, units))
    return build_scene(values, wavelength=wavelength, scale_factor=_scale(shapes, load))


def _find_matrix(shapes: Mapping[str, tuple[int, ...]], variable: str | None) -> str | None:
    """Return the name of the matrix (bands, pixels), or None if the cube is another array."""
    for name in _MATRIX_NAMES:
        if name in shapes and variable in (None, name):
            # It may also be a cube of three axes.
            is_matrix = len(shapes[name]) == 2
            return name if is_matrix else None
    return None


def _find_cube(path: Path, shapes: Mapping[str, tuple[int, ...]], variable: str | None) -> str:
    """Return the name of the array of three axes."""
    cubes = [name for name, shape in shapes.items() if len(shape) == 3]
    if variable:
        cubes = [variable]
    if len(cubes) != 1 or len(shapes[cubes[0]]) != 3:
        raise SceneError(
            path,
            "expected one array of 3 axes, or Y or V (bands, pixels) with nRow and nCol; "
            f"name one by variable=… (--variable); there are: {_names(shapes)}",
        )
    return cubes[0]


def order_axes(path: Path, values: Array, layout: str | None) -> Array:
    """Return a cube as (band, y, x), given the names of its axes in order."""
    # MATLAB files and most others keep the spectrum of a pixel along the last axis.
    axes = (layout or "y x band").split()
    if sorted(axes) != sorted(DIMS):
        raise InputError(f"layout must name the axes band, y and x in their order, got {layout!r}")
    if values.ndim != 3:
        raise SceneError(
            path, f"a scene must have 3 axes ({', '.join(axes)}), got shape {values.shape}"
        )
    return values.transpose([axes.index(dim) for dim in DIMS])


def _unfold(
    path: Path, name: str, shapes: Mapping[str, tuple[int, ...]], load: Callable[[str], Array]
) -> Array:
    """Return the matrix (bands, pixels) of that name as a cube (band, y, x)."""
    sizes = {}
    for key in ("nRow", "nCol"):
        if key not in shapes or int(np.prod(shapes[key])) != 1:
            raise SceneError(path, f"{name} holds pixels as columns, but there is no number {key}")
        sizes[key] = int(load(key).ravel()[0])
    n_rows = sizes["nRow"]
    n_columns = sizes["nCol"]
    n_bands, n_pixels = shapes[name]
    if min(n_rows, n_columns) < 1 or n_rows * n_columns != n_pixels:
        raise SceneError(
            path, f"nRow {n_rows} × nCol {n_columns} is not the {n_pixels} columns of {name}"
        )
    # MATLAB counts pixels column by column, NumPy row by row: reshape to (x, y) and swap.
    return load(name).reshape(n_bands, n_columns, n_rows).transpose(0, 2, 1)


def _scale(shapes: Mapping[str, tuple[int, ...]], load: Callable[[str], Array]) -> float | None:
    """Return the factor from stored values to reflectance, or None if the file has none."""
    for key in ("scale", "maxValue"):
        if key in shapes and int(np.prod(shapes[key])) == 1:
            scale = float(load(key).ravel()[0])
            if np.isfinite(scale) and scale > 0:
                return 1.0 / scale
    return None


def _names(shapes: Mapping[str, Any]) -> str:
    if not shapes:
        return "none"
    # A MATLAB workspace may hold hundreds of arrays.
    first = list(shapes.items())[:10]
    return ", ".join(f"{name} {tuple(shape)}" for name, shape in first)
