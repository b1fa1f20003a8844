"""Named arrays without dims, as in ``.mat`` and ``.npz`` files: the community's layouts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.model import DIMS, build_scene, to_nanometres, unit_of

_FLAT = ("Y", "V")
WAVELENGTH = {
    "wavelength": None,
    "wavelengths": None,
    "wavelength_nm": "nm",
    "wavelength_um": "um",
    "wavelengths_nm": "nm",
    "wavelengths_um": "um",
    "wl": None,
}
DEFAULT_LAYOUT = "y x band"


def scene_from_arrays(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    load: Callable[[str], Array],
    variable: str | None = None,
    layout: str | None = None,
) -> xr.DataArray:
    """Find the cube among named arrays and return it as a scene.

    Two layouts are known: a matrix ``Y`` or ``V`` (bands, pixels) beside the scalars ``nRow`` and
    ``nCol``, pixels running down the columns as MATLAB has it; or a cube of three axes, ``layout``
    naming them. Beside them ``wavelength(s)`` and ``scale`` or ``maxValue`` (reflectance = value /
    scale) are understood.

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
    flat = (
        [variable]
        if variable in _FLAT
        else [name for name in _FLAT if name in shapes and variable is None]
    )
    if flat and len(shapes[flat[0]]) == 2:
        values = _unfold(path, flat[0], shapes, load)
    else:
        cubes = (
            [variable] if variable else [name for name, shape in shapes.items() if len(shape) == 3]
        )
        if len(cubes) != 1 or len(shapes[cubes[0]]) != 3:
            raise SceneError(
                path,
                "expected one array of 3 axes, or Y or V (bands, pixels) with nRow and nCol; "
                f"name one by variable=… (--variable); there are: {_names(shapes)}",
            )
        values = order_axes(path, load(cubes[0]), layout)
    wavelength = None
    for name, units in WAVELENGTH.items():
        if name in shapes and int(np.prod(shapes[name])) == values.shape[0]:
            listed = load(name).ravel()
            wavelength = to_nanometres(listed, unit_of(listed, units))
    return build_scene(values, wavelength=wavelength, scale_factor=_scale(shapes, load))


def order_axes(path: Path, values: Array, layout: str | None) -> Array:
    """Return a cube as (band, y, x), given the names of its axes in order."""
    axes = (layout or DEFAULT_LAYOUT).split()
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
    sizes = {}
    for key in ("nRow", "nCol"):
        if key not in shapes or int(np.prod(shapes[key])) != 1:
            raise SceneError(path, f"{name} holds pixels as columns, but there is no number {key}")
        sizes[key] = int(load(key).ravel()[0])
    n_bands, n_pixels = shapes[name]
    if min(sizes.values()) < 1 or sizes["nRow"] * sizes["nCol"] != n_pixels:
        raise SceneError(
            path,
            f"nRow {sizes['nRow']} × nCol {sizes['nCol']} is not the {n_pixels} columns of {name}",
        )
    return load(name).reshape(n_bands, sizes["nCol"], sizes["nRow"]).transpose(0, 2, 1)


def _scale(shapes: Mapping[str, tuple[int, ...]], load: Callable[[str], Array]) -> float | None:
    for key in ("scale", "maxValue"):
        if key in shapes and int(np.prod(shapes[key])) == 1:
            scale = float(load(key).ravel()[0])
            if np.isfinite(scale) and scale > 0:
                return 1.0 / scale
    return None


def _names(shapes: Mapping[str, Any]) -> str:
    return (
        ", ".join(f"{name} {tuple(shape)}" for name, shape in list(shapes.items())[:10]) or "none"
    )
