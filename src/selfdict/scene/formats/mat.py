"""MATLAB's ``.mat``: versions 4, 5 and 7.3 (HDF5). Only numeric arrays are read."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr
from scipy.io import loadmat, whosmat

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats import mat5
from selfdict.scene.formats.array_source import ArraySource
from selfdict.scene.formats.arrays import scene_from_arrays
from selfdict.scene.formats.hdf5 import check_blocks, plain_dataset
from selfdict.scene.formats.hdf5_text import check_heaps
from selfdict.scene.formats.limits import Limit, product

NAME = "a MATLAB file"
_ToScene = Callable[[ArraySource], xr.DataArray]


def read(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: tuple[int, int] | None = None,
    max_bytes: int | None = None,
) -> xr.DataArray:
    """Read a cube, or a matrix of bands and pixels, see :func:`scene_from_arrays`.

    Structs, cells and objects are ignored.
    """
    limit = Limit(path, path.stat().st_size, max_bytes)
    to_scene = partial(scene_from_arrays, variable=variable, layout=layout, shape=shape)
    if h5py.is_hdf5(path):
        check_heaps(path)
        return _read_hdf5(path, limit, to_scene)
    with path.open("rb") as file:
        start = file.read(4)
    # Version 4 begins with a number below 5000, whose bytes contain zeros, version 5 with text.
    if 0 in start:
        return _read_version_4(path, limit, to_scene)
    arrays = mat5.list_variables(path, limit)

    def load(name: str) -> Array:
        if arrays[name].is_complex:
            raise SceneError(path, f"{name} does not hold real numbers, but complex ones")
        return mat5.load_variable(path, arrays[name], limit)

    shapes = {name: array.shape for name, array in arrays.items()}
    return to_scene(ArraySource(path, shapes, load))


def _read_version_4(path: Path, limit: Limit, to_scene: _ToScene) -> xr.DataArray:
    shapes = {}
    with warnings.catch_warnings():
        # scipy warns if it cannot tell how the numbers are stored, and reads them wrongly.
        warnings.simplefilter("error")
        listed = whosmat(path)
    for name, shape, kind in listed:
        # The other kinds of this version are text and sparse matrices.
        if kind == "double":
            limit.check(8 * product(shape), "an array")
            shapes[name] = tuple(int(size) for size in shape)

    def load(name: str) -> Array:
        array = np.asarray(loadmat(path, variable_names=[name])[name])
        # The class of a complex array is that of its parts, so that it is not told before.
        if array.dtype.kind not in "biuf":
            raise SceneError(path, f"{name} does not hold real numbers: {array.dtype}")
        return array

    return to_scene(ArraySource(path, shapes, load))


def _read_hdf5(path: Path, limit: Limit, to_scene: _ToScene) -> xr.DataArray:
    with h5py.File(path, "r") as file:
        arrays: dict[str, Any] = {}
        for name in file:
            dataset = plain_dataset(file, name)
            if dataset is not None and dataset.dtype.kind in "biuf":
                arrays[name] = dataset

        def load(name: str) -> Array:
            dataset = arrays[name]
            # Checked on use: a damaged array that is not needed does no harm.
            check_blocks(dataset, limit)
            limit.check(product(dataset.shape) * dataset.dtype.itemsize, "an array")
            # MATLAB stores the first axis contiguously, HDF5 the last: the axes are reversed.
            return np.asarray(dataset[()]).T

        shapes = {name: tuple(reversed(dataset.shape)) for name, dataset in arrays.items()}
        return to_scene(ArraySource(path, shapes, load))
