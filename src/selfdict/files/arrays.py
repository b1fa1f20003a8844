"""Named arrays without dims, as in ``.mat`` and ``.npz`` files: a cube, or a matrix of pixels."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict.files.axes import order_axes
from selfdict.files.cube import Array, StoredCube
from selfdict.files.errors import SceneError
from selfdict.files.wavelengths import describe_bands, parse_heading

# Names of a matrix (bands, pixels).
_MATRIX_NAMES = ("Y", "V")
# Names of the numbers of rows and of columns, in small letters.
_ROWS = {
    "nrow",
    "nrows",
    "n_rows",
    "row",
    "rows",
    "lines",
    "nlines",
    "height",
    "h",
    "nr",
    "ny",
    "m",
}
_COLUMNS = {"ncol", "ncols", "n_cols", "n_columns", "col", "cols", "columns", "width", "w", "nc"}
_COLUMNS |= {"samples", "nsamples", "nx", "n"}
# How messages name the orders in which pixels are counted.
_ORDERS = {"column-major": "down the columns", "row-major": "along the rows"}


@dataclass(frozen=True)
class NamedArrays:
    """The numeric arrays of a file: their shapes by name, and a function that loads one."""

    path: Path
    shapes: Mapping[str, tuple[int, ...]]
    load: Callable[[str], Array]


def cube_from_arrays(
    source: NamedArrays,
    variable: str | None = None,
    layout: str | None = None,
    shape: list[int] | None = None,
    n_bands: int | None = None,
) -> StoredCube:
    """Find the cube among named arrays, or a matrix (bands, pixels), and return it.

    ``layout`` names the axes of a cube in order, or the order of the pixels of a matrix, whose
    image has ``shape`` or the size that two numbers of the file tell. Optional are wavelengths, and
    ``scale`` or ``maxValue`` (reflectance = value / scale).
    """
    shapes = source.shapes
    if variable is not None and variable not in shapes:
        raise SceneError(
            source.path, f"no numeric array is called {variable!r}; there are: {_names(shapes)}"
        )
    listed = wavelength_names(shapes)
    n_wavelengths = [prod(shapes[key]) for key in listed]
    if n_bands is not None:
        n_wavelengths = [n_bands]
    name = variable or _find_array(source, shape, n_wavelengths)
    if len(shapes[name]) == 2:
        values, notes = _unfold(source, name, shape, layout)
    else:
        if shape is not None:
            raise SceneError(
                source.path,
                f"shape is for a matrix of bands and pixels, {name} has {len(shapes[name])} axes",
            )
        n_bands = next((n for n in n_wavelengths if n in shapes[name]), None)
        values, note = order_axes(source.path, source.load(name), layout, n_bands)
        notes = [note]
    others = {key: sizes for key, sizes in shapes.items() if len(sizes) == 3 and key != name}
    if others:
        notes.append(f"{name} is read; variable=… reads another array: {_names(others)}")
    cube = StoredCube.from_array(values, notes=notes)
    for key, units in listed.items():
        if cube.wavelength is None and prod(shapes[key]) == values.shape[0]:
            describe_bands(cube, source.load(key).ravel(), units, None)
    for key, sizes in shapes.items():
        if _last_part(key) in ("scale", "maxvalue") and prod(sizes) == 1:
            scale = float(source.load(key).ravel()[0])
            if cube.scale_factor is None and 0 < scale < np.inf:
                cube.scale_factor = 1.0 / scale
                cube.notes.append(f"values are divided by {key}, {scale:g}")
    return cube


def _last_part(name: str) -> str:
    """Return the name of an array, or of the field of a struct, in lower case."""
    return name.rpartition(".")[2].lower()


def _find_array(source: NamedArrays, shape: list[int] | None, n_wavelengths: list[int]) -> str:
    """Return the name of the cube or of the matrix."""
    matrices = _fitting_matrices(source, shape)
    named = [name for name in _MATRIX_NAMES if len(source.shapes.get(name, ())) == 2]
    cubes = [name for name, sizes in source.shapes.items() if len(sizes) == 3]
    for name in named:
        if name in matrices:
            return name
    others = [name for name, sizes in source.shapes.items() if len(sizes) == 2 and min(sizes) > 1]
    # Beside a cube a matrix may be anything, such as spectra of materials. The last two do not fit:
    # what is missing is told when the matrix is unfolded.
    # Of several cubes that of the wavelengths is meant, with its bands last as a rule.
    by_last_axis = [name for name in cubes if source.shapes[name][2] in n_wavelengths]
    by_any_axis = [name for name in cubes if set(n_wavelengths) & set(source.shapes[name])]
    for names in (cubes, by_last_axis, by_any_axis, matrices, named, others):
        if len(names) == 1:
            return names[0]
    raise SceneError(
        source.path,
        "expected one array of 3 axes, or a matrix (bands, pixels) such as Y or V with the size of "
        "the image, such as nRow and nCol, or shape=…; "
        "name one by variable=…; "
        f"there are: {_names(source.shapes)}",
    )


def wavelength_names(names: Iterable[str]) -> dict[str, str | None]:
    """Return the names that wavelengths may have, with their units, the preferred one first."""
    found = {}
    for name in names:
        heading = parse_heading(_last_part(name))
        if heading is not None and heading[0] == "wavelength":
            found[name] = heading[1]
    # A name that tells the unit leaves nothing to guess.
    return dict(sorted(found.items(), key=lambda entry: entry[1] is None))


def _names(shapes: Mapping[str, Any]) -> str:
    if not shapes:
        return "none"
    # A MATLAB workspace may hold hundreds of arrays.
    first = list(shapes.items())[:10]
    return ", ".join(f"{name} {tuple(shape)}" for name, shape in first)


def _fitting_matrices(source: NamedArrays, shape: list[int] | None) -> list[str]:
    """Return the matrices of which one axis has as many entries as the image has pixels."""
    n_pixels = set()
    for n_rows, n_columns, _ in _image_sizes(source, shape):
        n_pixels.add(n_rows * n_columns)
    found = []
    for name, sizes in source.shapes.items():
        # A vector of all pixels is a mask or a map.
        if len(sizes) == 2 and min(sizes) > 1 and not n_pixels.isdisjoint(sizes):
            found.append(name)
    return found


def _unfold(
    source: NamedArrays, name: str, shape: list[int] | None, order: str | None
) -> tuple[Array, list[str]]:
    """Return a matrix as a cube (band, y, x), and notes of what was assumed.

    ``order`` says how pixels are counted: down the columns of the image, as in MATLAB, or along its
    rows, as in NumPy; None: as the image is smoother.
    """
    if order is not None and order not in _ORDERS:
        raise InputError(f"layout of a matrix must be 'column-major' or 'row-major', got {order!r}")
    sizes = _image_sizes(source, shape)
    if not sizes:
        axes = " × ".join(str(size) for size in source.shapes[name])
        raise SceneError(
            source.path,
            f"{name} is a 2-D array, {axes}: for a cube it lacks an axis, and for a matrix of "
            "pixels there is no number nRow and nCol, or of another usual name: pass shape=…",
        )
    fitting = []
    for n_rows, n_columns, label in sizes:
        if n_rows * n_columns in source.shapes[name]:
            fitting.append((n_rows, n_columns, label))
    if not fitting:
        n_rows, n_columns, label = sizes[0]
        raise SceneError(
            source.path,
            f"{label} is not the {source.shapes[name][1]} columns of {name}",
        )
    n_rows, n_columns, label = fitting[0]
    for other_rows, _, other_label in fitting:
        if other_rows != n_rows:
            raise SceneError(
                source.path,
                f"{label} and {other_label} are two sizes of the image: pass shape=…",
            )
    values = source.load(name)
    axis = "column"
    if values.shape[1] != n_rows * n_columns:
        values = values.T
        axis = "row"
    images = {
        # MATLAB counts pixels column by column: reshape to (x, y) and swap.
        "column-major": values.reshape(-1, n_columns, n_rows).transpose(0, 2, 1),
        "row-major": values.reshape(-1, n_rows, n_columns),
    }
    how = "as layout says"
    if order is None:
        order, how = _guess_order(images)
    note = (
        f"{name} has one {axis} per pixel, counted {_ORDERS[order]} of the image, {how}; "
        f"the size of the image is {label}"
    )
    return images[order], [note]


def _guess_order(images: Mapping[str, Array]) -> tuple[str, str]:
    """Return the order in which the image is smoother along both axes, and how it is known."""
    n_bands, n_rows, n_columns = images["row-major"].shape
    # Few rows or columns are too few to compare, and some bands are enough.
    if min(n_rows, n_columns) >= 8 and n_rows != n_columns:
        bands = np.linspace(0, n_bands - 1, min(n_bands, 16)).astype(int)
        roughness = {order: _roughness(image[bands]) for order, image in images.items()}
        smooth, rough = sorted(roughness, key=lambda order: roughness[order])
        # Noise stays below 1.05.
        if roughness[rough] > 1.1 * roughness[smooth]:
            how = f"in which it is smoother; layout='{rough}' takes the other"
            return smooth, f"the order {how}"
    return (
        "column-major",
        "as in MATLAB, which is a guess; layout='row-major' takes the rows",
    )


def _roughness(image: Array) -> float:
    """Return the mean distance of neighbours along both axes of some bands (band, y, x)."""
    with np.errstate(all="ignore"):
        values = np.nan_to_num(image.astype(np.float64), posinf=0.0, neginf=0.0)
        # Fill values would outweigh everything else.
        low, high = np.percentile(values, (1, 99), axis=(1, 2), keepdims=True)
        values = np.clip(values, low, high)
        along_rows = np.abs(np.diff(values, axis=2)).mean()
        along_columns = np.abs(np.diff(values, axis=1)).mean()
    return float(along_rows + along_columns)


def _image_sizes(source: NamedArrays, shape: list[int] | None) -> list[tuple[int, int, str]]:
    """Return rows and columns of the image, and how they are named, for each pair in the file."""
    if shape is not None:
        rows, columns = _checked_shape(shape)
        return [(rows, columns, f"shape {rows} × {columns}")]
    found = []
    for rows_name, n_rows in _sizes(source, _ROWS).items():
        for columns_name, n_columns in _sizes(source, _COLUMNS).items():
            label = f"{rows_name} {n_rows} × {columns_name} {n_columns}"
            found.append((n_rows, n_columns, label))
    return found


def _sizes(source: NamedArrays, known: set[str]) -> dict[str, int]:
    """Return the numbers in the file that may be the size of an axis, by their names."""
    found = {}
    for name, shape in source.shapes.items():
        if _last_part(name) in known and prod(shape) == 1:
            value = float(source.load(name).ravel()[0])
            if value.is_integer() and value >= 1:
                found[name] = int(value)
    return found


def _checked_shape(shape: list[int]) -> tuple[int, int]:
    sizes = tuple(shape)
    if len(sizes) != 2 or not all(isinstance(size, int) and size >= 1 for size in sizes):
        raise InputError(f"shape must be two numbers, rows and columns, got {sizes!r}")
    return sizes[0], sizes[1]
