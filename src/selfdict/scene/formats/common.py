"""What several formats need."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import BLOCK_BYTES, in_row_chunks
from selfdict.scene.errors import SceneError

ZLIB = 1100  # zlib packs at most 1032 bytes into one
LAZY = (
    100_000  # other codecs pack tighter, and what is read by groups of rows need not fit in memory
)
_SMALL = 2**26


def check_declared_size(path: Path, declared: int, held: int, packed: int = ZLIB) -> None:
    """Refuse an array that is far larger than what the file could hold, before anything is allocated."""
    if declared > _SMALL and declared > packed * held:
        raise SceneError(path, f"declares {declared} bytes of data but holds {held}")


class _Cube:
    """What dask needs of an array on disk; failures to read become a SceneError with the file's name."""

    ndim = 3

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int, int],
        dtype: Any,
        load: Callable[[slice, slice, slice], Array],
    ) -> None:
        self.path, self.shape, self.dtype, self.load = path, shape, np.dtype(dtype), load

    def __getitem__(self, key: tuple[Any, Any, Any]) -> Array:
        # dask hands on whatever index the scene was given: what lies around it is loaded, and the
        # index taken of that
        around, inside = zip(*(_around(index, size) for index, size in zip(key, self.shape)))
        values = self._load(around)
        for axis in (2, 1, 0):
            values = values[(slice(None),) * axis + (inside[axis],)]
        return values

    def _load(self, key: tuple[slice, slice, slice]) -> Array:
        try:
            return self.load(*key)
        except SceneError:
            raise
        except Exception as error:  # each library has errors of its own for damaged data
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            raise SceneError(self.path, f"the data cannot be read: {reason}") from error


def _around(index: Any, size: int) -> tuple[slice, Any]:
    """Return a slice without steps that holds an index (number, slice or list), and the index inside it."""
    wanted = np.arange(size)[index]
    if wanted.size == 0:
        return slice(0, 0), slice(None)
    first, last = int(wanted.min()), int(wanted.max())
    whole = (
        wanted.ndim == 1
        and wanted[0] == first
        and np.array_equal(wanted, np.arange(first, last + 1))
    )
    return slice(first, last + 1), slice(None) if whole else wanted - first


def lazy_cube(
    path: Path,
    shape: tuple[int, int, int],
    dtype: Any,
    load: Callable[[slice, slice, slice], Array],
    packed: tuple[int, int] = (1, 1),
) -> Any:
    """Return a dask array (band, y, x) whose chunks ``load(bands, rows, columns)`` reads when asked.

    They hold whole spectra, about 32 MiB of them, in multiples of the rows and columns the file
    packs together.
    """
    cube = _Cube(path, shape, dtype, load)
    n_bands, n_rows, n_columns = shape
    pixels = BLOCK_BYTES // max(1, n_bands * cube.dtype.itemsize)
    columns = min(n_columns, max(1, pixels // packed[0] // packed[1]) * packed[1])
    rows = min(n_rows, max(1, pixels // max(1, columns) // packed[0]) * packed[0])
    # name=False: a name from the data itself would read all of it
    meta = np.empty((0, 0, 0), cube.dtype)
    return dask.array.from_array(
        cube, chunks=(n_bands, rows, columns), name=False, lock=True, meta=meta
    )


def uniform(path: Path, values: tuple[float, ...], name: str) -> float:
    """Return the one value all bands share."""
    if len(set(values)) > 1:
        raise SceneError(path, f"its bands differ in {name}; a scene has one for all")
    return float(values[0])


def fill_masked(scene: xr.DataArray, path: Path) -> xr.DataArray:
    """Return the scene with the pixels its ``valid`` coordinate excludes set to no-data (default NaN)."""
    if "valid" not in scene.coords:
        return scene
    valid = scene["valid"].astype(bool)
    scene = scene.drop_vars("valid")
    if bool(valid.all()):
        return scene
    fill = scene.attrs.get("_FillValue")
    if fill is None:
        if scene.dtype.kind != "f":
            raise SceneError(
                path,
                f"masked pixels of {scene.dtype} need a no-data value: set scene.attrs['_FillValue'], "
                "or write NetCDF or zarr, which keep the mask itself",
            )
        fill = np.nan
    try:
        fill = scene.dtype.type(fill)
    except OverflowError:
        raise SceneError(path, f"the no-data value {fill} does not fit {scene.dtype}") from None
    return in_row_chunks(scene).where(xr.DataArray(valid.values, dims=("y", "x")), fill)
