"""What several formats need."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import BLOCK_BYTES, in_row_chunks
from selfdict.scene.errors import SceneError, first_line
from selfdict.scene.formats.limits import Limit
from selfdict.scene.indexing import load_indexed
from selfdict.scene.notes import add_notes
from selfdict.scene.quiet import quiet

# Values in a block of whole spectra: 256 MiB as float32, of which computing takes some copies.
_MAX_BLOCK_VALUES = 2**26


class _Cube:
    """An array on disk as dask takes arrays; failures to read become a SceneError."""

    ndim = 3

    def __init__(
        self,
        path: Path,
        shape: tuple[int, int, int],
        dtype: Any,
        load: Callable[[slice, slice, slice], Array],
    ) -> None:
        self.path = path
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.load = load

    def __getitem__(self, key: tuple[Any, Any, Any]) -> Array:
        return load_indexed(self._load, self.shape, key)

    def _load(self, bands: slice, rows: slice, columns: slice) -> Array:
        try:
            with quiet():
                return self.load(bands, rows, columns)
        except SceneError:
            raise
        except Exception as error:
            # The libraries have many exceptions for damaged data, and their messages name no file.
            reason = first_line(error)
            raise SceneError(self.path, f"the data cannot be read: {reason}") from error


def lazy_cube(
    limit: Limit,
    shape: tuple[int, int, int],
    dtype: Any,
    load: Callable[[slice, slice, slice], Array],
    file_chunk: tuple[int, int] = (1, 1),
    block_bytes: int = 0,
) -> Any:
    """Return a dask array (band, y, x) whose chunks ``load(bands, rows, columns)`` reads on use.

    They hold whole spectra, about 32 MiB of them, in multiples of ``file_chunk``: the rows and
    columns that the file stores together, ``block_bytes`` in memory.
    """
    cube = _Cube(limit.path, shape, dtype, load)
    limit.check_lazy_cube(shape, cube.dtype.itemsize, block_bytes)
    n_bands, n_rows, n_columns = shape
    chunk_rows = min(file_chunk[0], n_rows)
    chunk_columns = min(file_chunk[1], n_columns)
    # Whole spectra of one chunk of the file may be too much, if it stores the bands apart: a plane
    # of one band as a chunk would be the whole cube. Fewer rows are read then, and each chunk
    # several times, as a whole.
    most_values = min(_MAX_BLOCK_VALUES, limit.allowed // cube.dtype.itemsize)
    if n_bands * chunk_rows * chunk_columns > most_values:
        chunk_columns = min(chunk_columns, max(1, most_values // n_bands))
        chunk_rows = max(1, most_values // (n_bands * chunk_columns))
    pixels = BLOCK_BYTES // max(1, n_bands * cube.dtype.itemsize)
    columns = min(n_columns, max(1, pixels // chunk_rows // chunk_columns) * chunk_columns)
    rows = min(n_rows, max(1, pixels // max(1, columns) // chunk_rows) * chunk_rows)
    # Without name=False and meta dask would read values, to make a name and to learn the dtype.
    # With the lock one thread reads at a time, as HDF5 needs it.
    meta = np.empty((0, 0, 0), cube.dtype)
    return dask.array.from_array(
        cube, chunks=(n_bands, rows, columns), name=False, lock=True, meta=meta
    )


def whole_nodata(value: float | None, dtype: np.dtype[Any]) -> float | None:
    """Return a no-data value as an integer, if the values are integers.

    Otherwise a comparison would turn the values into floats.
    """
    if value is not None and dtype.kind in "iu" and float(value).is_integer():
        return int(value)
    return value


def with_bad_bands(scene: xr.DataArray, is_bad: Array, reason: str) -> xr.DataArray:
    """Return the scene with further bands marked as bad, and a note of the reason.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x)
    is_bad : (n_bands,) ndarray of bool
        The bands to mark, besides those that are marked already.
    reason : str
        Completes a sentence about the bands, such as "hold no data".
    """
    if not is_bad.any():
        return scene
    good = ~is_bad
    if "good_band" in scene.coords:
        good &= scene["good_band"].values
    scene = scene.assign_coords(good_band=("band", good))
    note = f"bands that {reason} are marked as bad: {int(is_bad.sum())} of {is_bad.size}"
    return add_notes(scene, note)


def fill_masked(scene: xr.DataArray, path: Path) -> xr.DataArray:
    """Return the scene without its ``valid`` coordinate, the excluded pixels set to no-data.

    The no-data value of floats is NaN, if none is declared.
    """
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
                f"masked pixels of {scene.dtype} need a no-data value: "
                "set scene.attrs['_FillValue'], "
                "or write NetCDF or zarr, which keep the mask itself",
            )
        fill = np.nan
    # In the dtype of the scene: ``where`` would otherwise promote its values.
    try:
        fill = scene.dtype.type(fill)
    except OverflowError:
        raise SceneError(path, f"the no-data value {fill} does not fit {scene.dtype}") from None
    return in_row_chunks(scene).where(xr.DataArray(valid.values, dims=("y", "x")), fill)
