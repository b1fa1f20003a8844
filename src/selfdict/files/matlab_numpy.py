"""MATLAB's ``.mat`` (versions 4, 5 and 7.3), and NumPy's ``.npy`` and ``.npz``: named arrays.

Numeric arrays are read, of MATLAB also those in structs. Nothing is unpickled.
"""

import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import DIMS, Array, StoredCube
from selfdict.files.find_cube import read_cube, without_outliers
from selfdict.files.variables import Variable

# Names of the numbers of rows and of columns, in lower case.
_ROWS = {"nrow", "nrows", "n_rows", "row", "rows", "lines", "nlines", "height", "h", "nr", "ny"}
_ROWS |= {"m"}
_COLUMNS = {"ncol", "ncols", "n_cols", "n_columns", "col", "cols", "columns", "width", "w", "nc"}
_COLUMNS |= {"samples", "nsamples", "nx", "n"}
# The orders of pixels, and how messages name them.
_ORDERS = {"column-major": "down the columns", "row-major": "along the rows"}


def read(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: list[int] | None = None,
    n_bands: int | None = None,
) -> StoredCube:
    """Read a cube, or a matrix of bands and pixels; its image has ``shape``, rows and columns."""
    variables = _list_variables(path)
    if path.suffix.lower() == ".npy" and variable is None:
        (variable,) = variables
    notes = []
    matrix = _find_matrix(variables, variable, shape)
    if matrix is not None:
        variable, n_rows, n_columns, label = matrix
        values = variables[variable].numbers()
        axis = "column"
        if values.shape[1] != n_rows * n_columns:
            values = values.T
            axis = "row"
        notes.append(f"{variable} has one {axis} per pixel; the size of the image is {label}")
        image, note = _unfold(values, n_rows, n_columns, layout)
        notes.append(note)
        variables[variable] = Variable.of(variable, image, DIMS)
        layout = None
    cube = read_cube(variables, variable, layout, n_bands)
    cube.notes = notes + cube.notes
    # The class of an array of MATLAB does not tell the type that it is stored in.
    cube.dtype = cube.load(slice(0, 1), slice(0, 1), slice(0, 1)).dtype.newbyteorder("=")
    for each in variables.values():
        if each.short_name.lower() in ("scale", "maxvalue") and prod(each.shape) == 1:
            scale = float(each.numbers().ravel()[0])
            if cube.scale_factor is None and 0 < scale < np.inf:
                cube.scale_factor = 1.0 / scale
                cube.notes.append(f"values are divided by {each.name}, {scale:g}")
    return cube


def _list_variables(path: Path) -> dict[str, Variable]:
    """Return the numeric arrays of a file."""
    suffix = path.suffix.lower()
    with path.open("rb") as file:
        start = file.read(520)
    if suffix in (".npy", ".npz") and not start.startswith((b"\x93NUMPY", b"PK")):
        raise InputError("is not a NumPy file")
    if suffix == ".npy":
        try:
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise InputError("is cut short or damaged, or holds Python objects") from error
        return {path.stem: Variable.of(path.stem, mapped, ())}
    if suffix == ".npz":
        try:
            return _load_archive(path)
        except (ValueError, zipfile.BadZipFile) as error:
            raise InputError("is cut short or damaged") from error
    # MATLAB puts a text of 512 bytes before the HDF5 file, other software does not.
    if b"\x89HDF\r\n\x1a\n" in (start[:8], start[512:]):
        return _hdf5_variables(path)
    return _matlab_variables(path)


def _load_archive(path: Path) -> dict[str, Variable]:
    """Return the numeric arrays of an ``.npz``."""
    variables = {}
    arrays = np.load(path, allow_pickle=False)
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            with archive.open(info) as member:
                read_header = np.lib.format.read_array_header_2_0
                if np.lib.format.read_magic(member) == (1, 0):
                    read_header = np.lib.format.read_array_header_1_0
                shape, _, dtype = read_header(member)
            name = info.filename.removesuffix(".npy")
            if dtype.kind in "biuf":
                variables[name] = _variable(name, shape, dtype, arrays.__getitem__)
    return variables


def _variable(
    name: str, shape: tuple[int, ...], dtype: Any, whole: Callable[[str], Array]
) -> Variable:
    """Return an array that is loaded as a whole, once; vectors of MATLAB have two axes."""
    if len(shape) == 2:
        shape = tuple(size for size in shape if size != 1)
    load = cache(whole)

    def part(key: Any) -> Any:
        return np.asarray(load(name)).reshape(shape)[key]

    return Variable(name, shape, np.dtype(dtype), part)


def _matlab_variables(path: Path) -> dict[str, Variable]:
    """Return the arrays of versions 4 and 5."""
    from scipy.io import loadmat, whosmat

    def load(name: str) -> Array:
        array = np.asarray(loadmat(path, variable_names=[name])[name])
        # The class of a complex array is that of its parts, so that it is not told before.
        if array.dtype.kind not in "biuf":
            raise InputError(f"{name} does not hold real numbers: {array.dtype}")
        return array

    with warnings.catch_warnings():
        # scipy warns if it cannot tell how the numbers are stored, and reads them wrongly.
        warnings.simplefilter("error")
        listed = whosmat(path)
    variables = {}
    fields: dict[str, Array] = {}
    for name, sizes, kind in listed:
        # The others are cells, objects, text and so on.
        if kind in ("double", "single", "logical") or kind.startswith(("int", "uint")):
            dtype = {"logical": "bool"}.get(kind, kind)
            variables[name] = _variable(name, tuple(map(int, sizes)), dtype, load)
        elif kind == "struct":
            _add_fields(fields, name, loadmat(path, variable_names=[name])[name])
    for name, values in fields.items():
        variables[name] = _variable(name, values.shape, values.dtype, fields.__getitem__)
    return variables


def _add_fields(fields: dict[str, Array], name: str, struct: Array) -> None:
    """Add the numeric arrays of a struct, and of structs in it, by their names in MATLAB."""
    # An array of several structs is a table, not a scene.
    if struct.size != 1:
        return
    for field in struct.dtype.names or ():
        values = np.asarray(struct.ravel()[0][field])
        if values.dtype.names:
            _add_fields(fields, f"{name}.{field}", values)
        elif values.dtype.kind in "biuf":
            fields[f"{name}.{field}"] = values


def _hdf5_variables(path: Path) -> dict[str, Variable]:
    """Return the arrays of version 7.3, in which structs are groups."""
    from selfdict.files.hdf5 import Hdf5File

    stored = {}
    for place, variable in Hdf5File(path).variables().items():
        # What cells refer to is in a group of its own.
        if not place.startswith("#") and variable.dtype.kind in "biuf":
            stored[place.replace("/", ".")] = variable

    def load(name: str) -> Array:
        # MATLAB stores the first axis contiguously, HDF5 the last: the axes are reversed.
        return np.asarray(stored[name][()]).T

    return {
        name: _variable(name, variable.shape[::-1], variable.dtype, load)
        for name, variable in stored.items()
    }


def _find_matrix(
    variables: Mapping[str, Variable], wanted: str | None, shape: list[int] | None
) -> tuple[str, int, int, str] | None:
    """Return the name of a matrix of pixels, rows and columns of its image, and how they are named.

    None: the file has a cube, or another array is wanted.
    """
    sizes = _image_sizes(variables, shape)
    matrices = {}
    for name, each in variables.items():
        if len(each.shape) == 2:
            matrices[name] = [size for size in sizes if size[0] * size[1] in each.shape]
    names = [name for name, fitting in matrices.items() if fitting]
    usual: list[str] = [name for name in ("Y", "V") if name in names]
    if wanted is not None:
        if wanted not in matrices:
            return None
        names = [wanted]
    elif usual:
        names = usual[:1]
    # Beside a cube any other matrix may be anything, such as spectra of materials.
    elif shape is None and any(each.is_cube for each in variables.values()):
        return None
    if len(names) != 1 or not matrices[names[0]]:
        fault = "the size, such as nRow and nCol, is missing: pass shape=…"
        if sizes:
            fault = f"no matrix, or several, fit {' or '.join(label for _, _, label in sizes)}"
        # A MATLAB workspace may hold hundreds of arrays.
        listed = ", ".join(f"{name} {each.shape}" for name, each in list(variables.items())[:10])
        raise InputError(
            "expected one array of 3 axes, or one matrix (bands, pixels) and the size of its "
            f"image; {fault}; the file has: {listed or 'nothing else'}"
        )
    name = names[0]
    (n_rows, n_columns, label), *others = matrices[name]
    for other_rows, _, other_label in others:
        if other_rows != n_rows:
            raise InputError(f"{label} and {other_label} are two sizes of the image: pass shape=…")
    return name, n_rows, n_columns, label


def _image_sizes(
    variables: Mapping[str, Variable], shape: list[int] | None
) -> list[tuple[int, int, str]]:
    """Return rows and columns of the image, and how they are named, for each pair in the file."""
    if shape is not None:
        if len(shape) != 2 or not all(isinstance(size, int) and size >= 1 for size in shape):
            raise InputError(f"shape must be two numbers, rows and columns, got {shape!r}")
        n_rows, n_columns = shape
        return [(n_rows, n_columns, f"shape {n_rows} × {n_columns}")]
    found: dict[str, dict[str, int]] = {"rows": {}, "columns": {}}
    for name, each in variables.items():
        short_name = each.short_name.lower()
        for axis, known in (("rows", _ROWS), ("columns", _COLUMNS)):
            if short_name in known and prod(each.shape) == 1:
                value = float(each.numbers().ravel()[0])
                if value.is_integer() and value >= 1:
                    found[axis][name] = int(value)
    return [
        (n_rows, n_columns, f"{rows} {n_rows} × {columns} {n_columns}")
        for rows, n_rows in found["rows"].items()
        for columns, n_columns in found["columns"].items()
    ]


def _unfold(values: Array, n_rows: int, n_columns: int, order: str | None) -> tuple[Array, str]:
    """Return a matrix (band, pixel) as a cube (band, y, x), and a note.

    ``order`` says how pixels are counted: down the columns of the image, as in MATLAB, or along its
    rows, as in NumPy; None: as the image is smoother.
    """
    if order is not None and order not in _ORDERS:
        raise InputError(f"layout of a matrix must be 'column-major' or 'row-major', got {order!r}")
    images = {
        # MATLAB counts pixels column by column: reshape to (x, y) and swap.
        "column-major": values.reshape(-1, n_columns, n_rows).transpose(0, 2, 1),
        "row-major": values.reshape(-1, n_rows, n_columns),
    }
    how = "as layout=… says"
    if order is None:
        order, how = _guess_order(images)
    return images[order], f"pixels are counted {_ORDERS[order]} of the image ({how})"


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
            how = f"the order in which it is smoother; layout='{rough}' takes the other"
            return smooth, how
    return "column-major", "as in MATLAB, which is a guess; layout='row-major' takes the rows"


def _roughness(image: Array) -> float:
    """Return the mean distance of neighbours along both axes of some bands (band, y, x)."""
    values = without_outliers(image, (1, 2))
    along_rows = np.abs(np.diff(values, axis=2)).mean()
    along_columns = np.abs(np.diff(values, axis=1)).mean()
    return float(along_rows + along_columns)
