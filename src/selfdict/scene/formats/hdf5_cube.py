"""A cube (band, y, x) in one or several datasets of an HDF5 file, read on use."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import lazy_cube
from selfdict.scene.formats.hdf5 import check_blocks, check_dimensions, required_dataset
from selfdict.scene.formats.limits import Limit
from selfdict.scene.model import as_scene


@dataclass(frozen=True)
class CubePart:
    """Bands of a scene that one dataset holds.

    Attributes
    ----------
    name : str
        The dataset.
    axes : tuple of int
        Which axes of the dataset are band, y and x.
    indices : (n,) ndarray of int
        The bands in the dataset, counted from 0.
    positions : (n,) ndarray of int
        The bands in the scene that these are.
    """

    name: str
    axes: tuple[int, int, int]
    indices: Array
    positions: Array


def lazy_parts(limit: Limit, file: Any, parts: Sequence[CubePart]) -> Any:
    """Return the bands of all parts as a dask array (band, y, x).

    Parameters
    ----------
    limit : Limit
        Of the file.
    file : h5py.File
        To look up sizes; values are read from the file when they are used.
    parts : sequence of CubePart
        Each position in the scene occurs once.
    """
    datasets = [checked_cube(limit, file, part.name) for part in parts]
    grids = set()
    dtypes = set()
    chunk_rows = 1
    chunk_columns = 1
    for part, dataset in zip(parts, datasets):
        _, y_axis, x_axis = part.axes
        grids.add((dataset.shape[y_axis], dataset.shape[x_axis]))
        dtypes.add(dataset.dtype)
        if dataset.chunks is not None:
            chunk_rows = max(chunk_rows, dataset.chunks[y_axis])
            chunk_columns = max(chunk_columns, dataset.chunks[x_axis])
    if len(grids) > 1 or len(dtypes) > 1:
        names = " and ".join(part.name for part in parts)
        raise SceneError(limit.path, f"{names} differ in their rows, columns or data types")
    ((n_rows, n_columns),) = grids
    n_bands = sum(part.indices.size for part in parts)
    reader = _PartsReader(limit.path, tuple(parts), datasets[0].dtype)
    shape = (n_bands, n_rows, n_columns)
    return lazy_cube(limit, shape, datasets[0].dtype, reader, (chunk_rows, chunk_columns))


def lazy_dataset(limit: Limit, file: Any, name: str, axes: tuple[int, int, int]) -> Any:
    """Return one dataset, whose axes of band, y and x are given, as a dask array (band, y, x)."""
    bands = np.arange(checked_cube(limit, file, name).shape[axes[0]])
    return lazy_parts(limit, file, [CubePart(name, axes, bands, bands)])


def checked_cube(limit: Limit, file: Any, name: str) -> Any:
    """Return a dataset if it is a cube of real numbers whose chunks may be allocated."""
    dataset = required_dataset(limit.path, file, name)
    if dataset.ndim != 3 or dataset.dtype.kind not in "iuf" or 0 in dataset.shape:
        raise SceneError(
            limit.path,
            f"{name} must have 3 axes of real numbers, got {dataset.dtype} {dataset.shape}",
        )
    check_blocks(dataset, limit)
    return dataset


def named_axes(path: Path, cube: Any) -> tuple[int, int, int] | None:
    """Return which axes are band, y and x by the names of the dimension scales, or None."""
    check_dimensions(path, cube)
    names = []
    for dimension in cube.dims:
        if len(dimension) == 0:
            return None
        names.append(str(dimension[0].name).rpartition("/")[2])
    # as_scene knows the names but does not tell them: the sizes of a small array do.
    try:
        sizes = as_scene(xr.DataArray(np.empty((1, 2, 3)), dims=names)).shape
    except ValueError:
        return None
    return sizes[0] - 1, sizes[1] - 1, sizes[2] - 1


class _PartsReader:
    """Reads a window.

    It opens the file each time, since an open one cannot be used by other processes. Windows are
    whole chunks as a rule, so that there is nothing to keep for the next one.
    """

    def __init__(self, path: Path, parts: tuple[CubePart, ...], dtype: Any) -> None:
        self.path = path
        self.parts = parts
        self.dtype = dtype

    def __call__(self, bands: slice, rows: slice, columns: slice) -> Array:
        shape = (bands.stop - bands.start, rows.stop - rows.start, columns.stop - columns.start)
        values = np.empty(shape, self.dtype)
        with h5py.File(self.path, "r") as file:
            for part in self.parts:
                # Looked up again: the file may have been replaced by one with links.
                dataset = required_dataset(self.path, file, part.name)
                _read_part(values, dataset, part, bands, (rows, columns))
        return values


def _read_part(
    values: Array, dataset: Any, part: CubePart, bands: slice, window: tuple[slice, slice]
) -> None:
    """Fill in the bands of a window that one dataset holds."""
    is_wanted = (part.positions >= bands.start) & (part.positions < bands.stop)
    indices = part.indices[is_wanted]
    if indices.size == 0:
        return
    first = int(indices.min())
    key = [slice(None)] * 3
    band_axis, y_axis, x_axis = part.axes
    key[band_axis] = slice(first, int(indices.max()) + 1)
    key[y_axis] = window[0]
    key[x_axis] = window[1]
    stored = dataset[tuple(key)].transpose(part.axes)
    # Band by band: an index of many bands would copy them once more.
    for position, index in zip(part.positions[is_wanted], indices):
        values[position - bands.start] = stored[index - first]
