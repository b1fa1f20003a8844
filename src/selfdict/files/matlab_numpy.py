"""MATLAB's ``.mat`` (versions 4, 5 and 7.3), and NumPy's ``.npy`` and ``.npz``: named arrays.

Numeric arrays are read, of MATLAB also those in structs. Nothing is unpickled.
"""

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files.arrays import NamedArrays, cube_from_arrays
from selfdict.files.axes import order_axes
from selfdict.files.cube import Array, StoredCube
from selfdict.files.errors import SceneError

_MAX_DEPTH = 4  # of structs in structs


def read_matlab(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: list[int] | None = None,
    n_bands: int | None = None,
) -> StoredCube:
    """Read a cube, or a matrix of bands and pixels, see :func:`cube_from_arrays`.

    The fields of a struct are named as in MATLAB, ``scene.cube``. Cells and objects are ignored.
    """
    with path.open("rb") as file:
        start = file.read(520)
    # MATLAB puts a text of 512 bytes before the HDF5 file, other software does not.
    if b"\x89HDF\r\n\x1a\n" in (start[:8], start[512:]):
        arrays = _hdf5_arrays(path)
    else:
        arrays = _matlab_arrays(path)
    return cube_from_arrays(arrays, variable, layout, shape, n_bands)


def _matlab_arrays(path: Path) -> NamedArrays:
    """Return the arrays of versions 4 and 5."""
    from scipy.io import loadmat, whosmat

    with warnings.catch_warnings():
        # scipy warns if it cannot tell how the numbers are stored, and reads them wrongly.
        warnings.simplefilter("error")
        listed = whosmat(path)
    shapes = {}
    fields: dict[str, Array] = {}
    for name, sizes, kind in listed:
        # The others are cells, objects, text and so on.
        if kind in ("double", "single", "logical") or kind.startswith(("int", "uint")):
            shapes[name] = tuple(int(size) for size in sizes)
        elif kind == "struct":
            _add_fields(fields, name, loadmat(path, variable_names=[name])[name])
    shapes |= {name: values.shape for name, values in fields.items()}

    def load(name: str) -> Array:
        if name in fields:
            return fields[name]
        array = np.asarray(loadmat(path, variable_names=[name])[name])
        # The class of a complex array is that of its parts, so that it is not told before.
        if array.dtype.kind not in "biuf":
            raise SceneError(path, f"{name} does not hold real numbers: {array.dtype}")
        return array

    return NamedArrays(path, shapes, load)


def _add_fields(fields: dict[str, Array], name: str, struct: Array, depth: int = 0) -> None:
    """Add the numeric arrays of a struct, and of structs in it, by their names in MATLAB."""
    # An array of several structs is a table, not a scene.
    if struct.size != 1 or depth > _MAX_DEPTH:
        return
    for field in struct.dtype.names or ():
        values = np.asarray(struct.ravel()[0][field])
        if values.dtype.names:
            _add_fields(fields, f"{name}.{field}", values, depth + 1)
        elif values.dtype.kind in "biuf":
            fields[f"{name}.{field}"] = values


def _hdf5_arrays(path: Path) -> NamedArrays:
    """Return the arrays of version 7.3."""
    from selfdict.files.hdf5_file import Hdf5File

    file = Hdf5File(path)
    datasets: dict[str, Any] = {}
    # A struct is a group; what cells refer to is in a group of its own.
    waiting = [name for name in file.members() if not name.startswith("#")]
    while waiting:
        name = waiting.pop(0)
        dataset = file.dataset(name)
        if dataset is None and file.group(name) is not None:
            if name.count("/") < _MAX_DEPTH:
                waiting += [f"{name}/{member}" for member in file.members(name)]
        elif dataset is not None and dataset.dtype.kind in "biuf" and dataset.shape is not None:
            datasets[name.replace("/", ".")] = dataset

    def load(name: str) -> Array:
        # MATLAB stores the first axis contiguously, HDF5 the last: the axes are reversed.
        return np.asarray(datasets[name][()]).T

    shapes = {name: tuple(reversed(dataset.shape)) for name, dataset in datasets.items()}
    return NamedArrays(path, shapes, load)


def read_numpy(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: list[int] | None = None,
    n_bands: int | None = None,
) -> StoredCube:
    """Read an array of three axes (``layout``), or an ``.npz`` in one of the usual layouts."""
    if path.suffix.lower() == ".npz":
        return cube_from_arrays(load_archive(path), variable, layout, shape, n_bands)
    if variable is not None or shape is not None:
        raise SceneError(path, "holds one array of three axes: variable and shape are for .npz")
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    values, note = order_axes(path, mapped, layout, n_bands)
    return StoredCube.from_array(values, notes=[note])


def load_archive(path: Path) -> NamedArrays:
    """Return the numeric arrays of an ``.npz``, loaded on use."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            with archive.open(info) as member:
                read_header = np.lib.format.read_array_header_2_0
                if np.lib.format.read_magic(member) == (1, 0):
                    read_header = np.lib.format.read_array_header_1_0
                shape, _, dtype = read_header(member)
            if dtype.kind in "biuf":
                shapes[info.filename.removesuffix(".npy")] = shape
    return NamedArrays(path, shapes, np.load(path, allow_pickle=False).__getitem__)
