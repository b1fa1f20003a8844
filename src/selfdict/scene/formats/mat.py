"""MATLAB's ``.mat``: version 5 through scipy, version 7.3 through h5py.

Only numeric arrays are read.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from scipy.io import loadmat, whosmat

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.arrays import scene_from_arrays
from selfdict.scene.formats.common import check_declared_size
from selfdict.scene.formats.hdf5 import plain_dataset

NAME = "a MATLAB file"
# Bytes per value of the numeric classes.
_ITEMSIZE = {
    "double": 8,
    "single": 4,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "logical": 1,
}


def read(path: Path, *, variable: str | None = None, layout: str | None = None) -> xr.DataArray:
    """Read a cube, or ``Y``/``V`` with ``nRow`` and ``nCol``.

    Structs, cells and objects are ignored.
    """
    if h5py.is_hdf5(path):
        return _read_hdf5(path, variable, layout)
    shapes = {}
    for name, shape, kind in whosmat(path):
        if kind in _ITEMSIZE:
            # As Python integers: the product of damaged sizes may exceed 64 bits.
            declared = int(np.prod(shape, dtype=object)) * _ITEMSIZE[kind]
            check_declared_size(path, declared, path.stat().st_size)
            shapes[name] = tuple(int(size) for size in shape)

    def load(name: str) -> Array:
        array = np.asarray(loadmat(path, variable_names=[name])[name])
        # The class of a complex array is that of its parts, so that it is not told before.
        if array.dtype.kind not in "biuf":
            raise SceneError(path, f"{name} does not hold real numbers: {array.dtype}")
        return array

    return scene_from_arrays(path, shapes, load, variable, layout)


def _read_hdf5(path: Path, variable: str | None, layout: str | None) -> xr.DataArray:
    with h5py.File(path, "r") as file:
        arrays: dict[str, Any] = {}
        for name in file:
            dataset = plain_dataset(file, name)
            if dataset is not None and dataset.dtype.kind in "biuf":
                arrays[name] = dataset

        def load(name: str) -> Array:
            dataset = arrays[name]
            # Checked on use: a damaged array that is not needed does no harm.
            check_declared_size(
                path, dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size()
            )
            # MATLAB stores the first axis contiguously, HDF5 the last: the axes are reversed.
            return np.asarray(dataset[()]).T

        shapes = {name: tuple(reversed(dataset.shape)) for name, dataset in arrays.items()}
        return scene_from_arrays(path, shapes, load, variable, layout)
