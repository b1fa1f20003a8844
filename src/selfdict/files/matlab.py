"""MATLAB's ``.mat``: versions 4, 5 and 7.3 (HDF5). Only numeric arrays are read."""

import warnings
from pathlib import Path

import numpy as np
from scipy.io import loadmat, whosmat

from selfdict.files.arrays import NamedArrays, cube_from_arrays
from selfdict.files.cube import Array, StoredCube
from selfdict.files.errors import SceneError

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
# The classes of arrays that hold numbers; the others are cells, structs, objects, text and so on.
_NUMERIC = (
    "double",
    "single",
    "logical",
    *(f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64)),
)


def read(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: list[int] | None = None,
) -> StoredCube:
    """Read a cube, or a matrix of bands and pixels, see :func:`cube_from_arrays`.

    Structs, cells and objects are ignored.
    """
    with path.open("rb") as file:
        start = file.read(520)
    # MATLAB puts a text of 512 bytes before the HDF5 file, other software does not.
    if _HDF5_SIGNATURE in (start[:8], start[512:]):
        arrays = _hdf5_arrays(path)
    else:
        arrays = _matlab_arrays(path)
    return cube_from_arrays(arrays, variable, layout, shape)


def _matlab_arrays(path: Path) -> NamedArrays:
    """Return the arrays of versions 4 and 5."""
    with warnings.catch_warnings():
        # scipy warns if it cannot tell how the numbers are stored, and reads them wrongly.
        warnings.simplefilter("error")
        listed = whosmat(path)
    shapes = {}
    for name, sizes, kind in listed:
        if kind in _NUMERIC:
            shapes[name] = tuple(int(size) for size in sizes)

    def load(name: str) -> Array:
        array = np.asarray(loadmat(path, variable_names=[name])[name])
        # The class of a complex array is that of its parts, so that it is not told before.
        if array.dtype.kind not in "biuf":
            raise SceneError(path, f"{name} does not hold real numbers: {array.dtype}")
        return array

    return NamedArrays(path, shapes, load)


def _hdf5_arrays(path: Path) -> NamedArrays:
    """Return the arrays of version 7.3."""
    from selfdict.files.hdf5_file import Hdf5File

    file = Hdf5File(path)
    datasets = {}
    for name in file.members():
        dataset = file.dataset(name)
        if dataset is not None and dataset.dtype.kind in "biuf" and dataset.shape is not None:
            datasets[name] = dataset

    def load(name: str) -> Array:
        # MATLAB stores the first axis contiguously, HDF5 the last: the axes are reversed.
        return np.asarray(datasets[name][()]).T

    shapes = {name: tuple(reversed(dataset.shape)) for name, dataset in datasets.items()}
    return NamedArrays(path, shapes, load)
