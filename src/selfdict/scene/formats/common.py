"""What several formats need."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.blocks import BLOCK_BYTES
from selfdict.scene.errors import SceneError

ZLIB = 1100  # zlib packs at most 1032 bytes into one
LAZY = 100_000  # other codecs pack tighter, and what is read by groups of rows need not fit in memory
_SMALL = 2**26


def check_declared_size(path: Path, declared: int, held: int, packed: int = ZLIB) -> None:
    """Refuse an array that is far larger than what the file could hold, before anything is allocated."""
    if declared > _SMALL and declared > packed * held:
        raise SceneError(path, f"declares {declared} bytes of data but holds {held}")


class _Cube:
    """What dask needs of an array on disk; failures to read become a SceneError with the file's name."""

    ndim = 3

    def __init__(
        self, path: Path, shape: tuple[int, int, int], dtype: Any, load: Callable[[slice, slice, slice], Array]
    ) -> None:
        self.path, self.shape, self.dtype, self.load = path, shape, np.dtype(dtype), load

    def __getitem__(self, key: tuple[slice, slice, slice]) -> Array:
        try:
            return self.load(*key)
        except SceneError:
            raise
        except Exception as error:  # each library has errors of its own for damaged data
            reason = (str(error).splitlines() or [""])[0] or type(error).__name__
            raise SceneError(self.path, f"the data cannot be read: {reason}") from error


def lazy_cube(
    path: Path,
    shape: tuple[int, int, int],
    dtype: Any,
    load: Callable[[slice, slice, slice], Array],
    *,
    chunk_rows: int = 1,
    chunks: tuple[int, int, int] | None = None,
) -> Any:
    """Return a dask array (band, y, x) of groups of rows that ``load(bands, rows, columns)`` reads when asked.

    The groups hold about 32 MiB and a multiple of ``chunk_rows``, the rows the file packs together.
    """
    cube = _Cube(path, shape, dtype, load)
    if chunks is None:
        rows = BLOCK_BYTES // max(1, shape[0] * shape[2] * cube.dtype.itemsize)
        chunks = (shape[0], min(shape[1], max(chunk_rows, rows // chunk_rows * chunk_rows, 1)), shape[2])
    # name=False: a name from the data itself would read all of it
    return dask.array.from_array(cube, chunks=chunks, name=False, lock=True, meta=np.empty((0, 0, 0), cube.dtype))


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
                path, f"masked pixels of {scene.dtype} need a no-data value: set scene.attrs['_FillValue']"
            )
        fill = np.nan
    keep = xr.DataArray(valid.values, dims=("y", "x"))
    return in_row_chunks(scene).where(keep, scene.dtype.type(fill))


def in_row_chunks(scene: xr.DataArray) -> xr.DataArray:
    """Return the scene as a dask array of groups of rows, so that what follows works on a few at a time."""
    if scene.chunks is not None:
        return scene
    values = scene.values
    cube = lazy_cube(Path("."), scene.shape, scene.dtype, lambda *key: values[key])  # type: ignore[arg-type]  # 3 sizes
    return scene.copy(data=cube)
