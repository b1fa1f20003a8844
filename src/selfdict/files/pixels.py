"""A matrix of bands and pixels as a cube, by the size of its image."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import Array
from selfdict.files.errors import SceneError

# Names of the numbers of rows and columns, in small letters.
_SIZE_NAMES = (
    ("nrow", "ncol"),
    ("nrows", "ncols"),
    ("n_rows", "n_cols"),
    ("n_rows", "n_columns"),
    ("row", "col"),
    ("rows", "cols"),
    ("rows", "columns"),
    ("lines", "cols"),
    ("lines", "columns"),
    ("lines", "samples"),
    ("nlines", "nsamples"),
    ("height", "width"),
    ("h", "w"),
    ("nr", "nc"),
    ("ny", "nx"),
    ("m", "n"),
)
# How messages name the orders in which pixels are counted.
_ORDERS = {"column-major": "down the columns", "row-major": "along the rows"}
_EXAMINED_BANDS = 16
# Fewer rows or columns are too few to compare.
_FEWEST_PIXELS = 8
# How much rougher the image must be in the other order. Noise stays below 1.05.
_CLEAR_RATIO = 1.1
_MAX_SIZE = 10**9  # of a row or column; more are no sizes of an image


@dataclass(frozen=True)
class NamedArrays:
    """The numeric arrays of a file: their shapes by name, and a function that loads one."""

    path: Path
    shapes: Mapping[str, tuple[int, ...]]
    load: Callable[[str], Array]

    def number(self, name: str) -> float:
        """Return the value of an array of one number."""
        return float(self.load(name).ravel()[0])

    def is_number(self, name: str) -> bool:
        """Whether there is an array of this name that holds one number."""
        return name in self.shapes and prod(self.shapes[name]) == 1


def fitting_matrices(source: NamedArrays, shape: list[int] | None) -> list[str]:
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


def unfold(
    source: NamedArrays, name: str, shape: list[int] | None, order: str | None
) -> tuple[Array, list[str]]:
    """Return the matrix of that name as a cube (band, y, x), and notes of what was assumed.

    Parameters
    ----------
    source : NamedArrays
        With the numbers of rows and columns, unless they are given.
    name : str
        Of the matrix (bands, pixels), or (pixels, bands).
    shape : list of two int, or None
        Rows and columns of the image, if given.
    order : {"column-major", "row-major"} or None
        How pixels are counted: down the columns of the image, as in MATLAB, or along its rows, as
        in NumPy; None: as the image is smoother.
    """
    sizes = _image_sizes(source, shape)
    if not sizes:
        axes = " × ".join(str(size) for size in source.shapes[name])
        raise SceneError(
            source.path,
            f"{name} is a 2-D array, {axes}: for a cube it lacks an axis, and for a matrix of "
            "pixels there is no number nRow and nCol, or of another usual name: pass shape=… "
            "(--shape ROWS,COLUMNS)",
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
                f"{label} and {other_label} are two sizes of the image: "
                "pass shape=… (--shape ROWS,COLUMNS)",
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


def check_order(order: str) -> None:
    """Refuse what is no order of pixels."""
    if order not in _ORDERS:
        raise InputError(f"layout of a matrix must be 'column-major' or 'row-major', got {order!r}")


def _guess_order(images: Mapping[str, Array]) -> tuple[str, str]:
    """Return the order in which the image is smoother along both axes, and how it is known."""
    n_bands, n_rows, n_columns = images["row-major"].shape
    if min(n_rows, n_columns) >= _FEWEST_PIXELS and n_rows != n_columns:
        bands = np.linspace(0, n_bands - 1, min(n_bands, _EXAMINED_BANDS)).astype(int)
        roughness = {order: _roughness(image[bands]) for order, image in images.items()}
        smooth, rough = sorted(roughness, key=lambda order: roughness[order])
        if roughness[rough] > _CLEAR_RATIO * roughness[smooth]:
            how = f"in which it is smoother; layout='{rough}' (--layout {rough}) takes the other"
            return smooth, f"the order {how}"
    return (
        "column-major",
        "as in MATLAB, which is a guess; layout='row-major' (--layout row-major) takes the rows",
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
        n_rows, n_columns = _checked_shape(shape)
        return [(n_rows, n_columns, f"shape {n_rows} × {n_columns}")]
    numbers = {}
    for name in source.shapes:
        if source.is_number(name):
            numbers[name.lower()] = name
    found = []
    for row_name, column_name in _SIZE_NAMES:
        if row_name in numbers and column_name in numbers:
            n_rows = _size(source, numbers[row_name])
            n_columns = _size(source, numbers[column_name])
            if n_rows and n_columns:
                label = f"{numbers[row_name]} {n_rows} × {numbers[column_name]} {n_columns}"
                found.append((n_rows, n_columns, label))
    return found


def _size(source: NamedArrays, name: str) -> int:
    """Return a number as the size of an axis, 0 if it is none."""
    value = source.number(name)
    if value.is_integer() and 1 <= value <= _MAX_SIZE:
        return int(value)
    return 0


def _checked_shape(shape: list[int]) -> tuple[int, int]:
    sizes = tuple(shape)
    if len(sizes) != 2 or not all(isinstance(size, int) and size >= 1 for size in sizes):
        raise InputError(f"shape must be two numbers, rows and columns, got {sizes!r}")
    return sizes[0], sizes[1]
