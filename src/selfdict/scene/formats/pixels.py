"""A matrix of bands and pixels as a cube, by the size of its image."""

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.array_source import ArraySource

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
_MAX_SIZE = 10**9  # of a row or column; more are no sizes of an image


def fitting_matrices(source: ArraySource, shape: tuple[int, int] | None) -> list[str]:
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
    source: ArraySource, name: str, shape: tuple[int, int] | None
) -> tuple[Array, list[str]]:
    """Return the matrix of that name as a cube (band, y, x), and notes of what was assumed.

    Parameters
    ----------
    source : ArraySource
        With the numbers of rows and columns, unless they are given.
    name : str
        Of the matrix (bands, pixels), or (pixels, bands).
    shape : (int, int) or None
        Rows and columns of the image, if given.
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
    note = (
        f"{name} has one {axis} per pixel, counted down the columns of the image as in MATLAB; "
        f"the size of the image is {label}"
    )
    # MATLAB counts pixels column by column, NumPy row by row: reshape to (x, y) and swap.
    return values.reshape(-1, n_columns, n_rows).transpose(0, 2, 1), [note]


def _image_sizes(source: ArraySource, shape: tuple[int, int] | None) -> list[tuple[int, int, str]]:
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


def _size(source: ArraySource, name: str) -> int:
    """Return a number as the size of an axis, 0 if it is none."""
    value = source.number(name)
    if value.is_integer() and 1 <= value <= _MAX_SIZE:
        return int(value)
    return 0


def _checked_shape(shape: tuple[int, int]) -> tuple[int, int]:
    sizes = tuple(shape)
    if len(sizes) != 2 or not all(isinstance(size, int) and size >= 1 for size in sizes):
        raise InputError(f"shape must be two numbers, rows and columns, got {shape!r}")
    return sizes[0], sizes[1]
