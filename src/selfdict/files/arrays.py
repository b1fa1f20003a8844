"""Named arrays without dims, as in ``.mat`` and ``.npz`` files, in the usual layouts."""

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from selfdict.files.axes import order_axes
from selfdict.files.cube import StoredCube
from selfdict.files.errors import SceneError
from selfdict.files.pixels import NamedArrays, check_order, fitting_matrices, unfold
from selfdict.files.units import to_nanometres, unit_note, unit_of

# Names of a matrix (bands, pixels).
_MATRIX_NAMES = ("Y", "V")
# Names of the wavelengths in small letters, with their unit if the name tells it.
WAVELENGTH = {
    "wavelength": None,
    "wavelengths": None,
    "wavelength_nm": "nm",
    "wavelength_um": "um",
    "wavelengths_nm": "nm",
    "wavelengths_um": "um",
    "wl": None,
    "lambda": None,
    "lambda_nm": "nm",
    "lambda_um": "um",
}


def cube_from_arrays(
    source: NamedArrays,
    variable: str | None = None,
    layout: str | None = None,
    shape: list[int] | None = None,
) -> StoredCube:
    """Find the cube among named arrays and return it.

    Two layouts are known: a matrix (bands, pixels) with the size of the image as two numbers, see
    :mod:`selfdict.files.pixels`; or a cube whose three axes ``layout`` names. Optional are
    ``wavelength(s)``, and ``scale`` or ``maxValue`` (reflectance = value / scale).

    Parameters
    ----------
    source : NamedArrays
        The arrays.
    variable : str, optional
        Which array is the cube, or the matrix.
    layout : str, optional
        The axes of a cube in order, such as ``"y x band"``; of a matrix ``"column-major"`` or
        ``"row-major"``, the order of its pixels. By default they are guessed.
    shape : list of two int, optional
        Rows and columns of the image, for a matrix.
    """
    shapes = source.shapes
    if variable is not None and variable not in shapes:
        raise SceneError(
            source.path, f"no numeric array is called {variable!r}; there are: {_names(shapes)}"
        )
    name = variable or _find_array(source, shape)
    if len(shapes[name]) == 2:
        if layout is not None:
            check_order(layout)
        values, notes = unfold(source, name, shape, layout)
    else:
        if shape is not None:
            raise SceneError(
                source.path,
                f"shape is for a matrix of bands and pixels, {name} has {len(shapes[name])} axes",
            )
        n_wavelengths = _n_wavelengths(shapes, shapes[name])
        values, note = order_axes(source.path, source.load(name), layout, n_wavelengths)
        notes = [note]
    wavelength = None
    for key, units in _wavelength_names(shapes).items():
        if wavelength is None and prod(shapes[key]) == values.shape[0]:
            listed = source.load(key).ravel()
            wavelength = to_nanometres(listed, unit_of(listed, units))
            notes += unit_note(listed, units)
    scale, scale_notes = _scale(source)
    return StoredCube.from_array(
        values, wavelength=wavelength, scale_factor=scale, notes=[*notes, *scale_notes]
    )


def _find_array(source: NamedArrays, shape: list[int] | None) -> str:
    """Return the name of the cube or of the matrix."""
    matrices = fitting_matrices(source, shape)
    named = [name for name in _MATRIX_NAMES if len(source.shapes.get(name, ())) == 2]
    cubes = [name for name, sizes in source.shapes.items() if len(sizes) == 3]
    for name in named:
        if name in matrices:
            return name
    others = [name for name, sizes in source.shapes.items() if len(sizes) == 2 and min(sizes) > 1]
    # Beside a cube a matrix may be anything, such as spectra of materials. The last two do not fit:
    # what is missing is told when the matrix is unfolded.
    for names in (cubes, matrices, named, others):
        if len(names) == 1:
            return names[0]
    raise SceneError(
        source.path,
        "expected one array of 3 axes, or a matrix (bands, pixels) such as Y or V with the size of "
        "the image, such as nRow and nCol, or shape=… (--shape); "
        "name one by variable=… (--variable); "
        f"there are: {_names(source.shapes)}",
    )


def _n_wavelengths(shapes: Mapping[str, tuple[int, ...]], sizes: tuple[int, ...]) -> int | None:
    """Return how many wavelengths there are, None if that is the size of no axis."""
    for key in _wavelength_names(shapes):
        if prod(shapes[key]) in sizes:
            return prod(shapes[key])
    return None


def _wavelength_names(shapes: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the arrays that may hold wavelengths, with their units, the preferred one first."""
    found = {}
    # A name that tells the unit leaves nothing to guess.
    for known, unit in sorted(WAVELENGTH.items(), key=lambda entry: entry[1] is None):
        for name in shapes:
            if name.lower() == known:
                found[name] = unit
    return found


def _scale(source: NamedArrays) -> tuple[float | None, list[str]]:
    """Return the factor from stored values to reflectance, None if the file has none."""
    for key in ("scale", "maxValue"):
        if source.is_number(key):
            scale = source.number(key)
            if np.isfinite(scale) and scale > 0:
                return 1.0 / scale, [f"values are divided by {key}, {scale:g}"]
    return None, []


def _names(shapes: Mapping[str, Any]) -> str:
    if not shapes:
        return "none"
    # A MATLAB workspace may hold hundreds of arrays.
    first = list(shapes.items())[:10]
    return ", ".join(f"{name} {tuple(shape)}" for name, shape in first)
