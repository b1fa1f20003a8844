"""The values of a file, which the reader process reads: on use, as a dask array, or at once."""

import math
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from selfdict.files.child import allowed_bytes
from selfdict.files.cube import DIMS, Array
from selfdict.files.reader import Reader

BLOCK_BYTES = 32 * 2**20  # stored values in one block
# Values in a block of whole spectra: 256 MiB as float32, of which computing takes some copies.
_MAX_BLOCK_VALUES = 2**26


@dataclass(eq=False)
class _FileArray(BackendArray):
    """An array in a file, as xarray takes arrays of files."""

    reader: Reader
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._load
        )

    def _load(self, key: tuple[Any, ...]) -> Array:
        """Return the values of three numbers or slices, which may have steps."""
        nothing: Array = np.broadcast_to(self.dtype.type(), self.shape)[key]
        if nothing.size == 0:
            return nothing
        ranges = []
        inside: list[Any] = []
        for part, size in zip(key, self.shape):
            places = np.arange(size)[part]
            ranges.append([int(places.min()), int(places.max()) + 1])
            if isinstance(part, slice):
                inside.append(slice(None, None, part.step))
            else:
                inside.append(0)
        values: Array = self.reader.read(ranges, self.dtype)[tuple(inside)]
        return values


def read_values(reader: Reader, known: dict[str, Any], at_once: bool) -> Any:
    """Return the cube of an open file (band, y, x): a small one at once, or as a dask array.

    Its chunks hold whole spectra, about 32 MiB of them, in multiples of the rows and columns that
    the file stores together.
    """
    shape = tuple(known["shape"])
    dtype = np.dtype(known["dtype"])
    allowed = allowed_bytes(reader.held, reader.max_bytes)
    if at_once and math.prod(shape) * dtype.itemsize <= min(BLOCK_BYTES, allowed):
        return reader.read([[0, size] for size in shape], dtype)
    chunks = chunk_shape(shape, dtype.itemsize, tuple(known["chunk"]), allowed)
    values = indexing.LazilyIndexedArray(_FileArray(reader, shape, dtype))
    # A random name: dask would otherwise pickle the reader to make one.
    variable = xr.Variable(DIMS, values).chunk(dict(zip(DIMS, chunks)), name=f"scene-{uuid4().hex}")
    return variable.data


def chunk_shape(
    shape: tuple[int, ...], itemsize: int, file_chunk: tuple[int, ...], allowed: int
) -> tuple[int, int, int]:
    """Return the bands, rows and columns of a chunk; ``allowed`` bytes are the most it may take."""
    n_bands, n_rows, n_columns = shape
    chunk_rows = min(file_chunk[0], n_rows)
    chunk_columns = min(file_chunk[1], n_columns)
    # Whole spectra of one chunk of the file may be too much, if it stores the bands apart: a plane
    # of one band as a chunk would be the whole cube. Fewer rows are read then, and each chunk
    # several times, as a whole.
    most_values = min(_MAX_BLOCK_VALUES, allowed // itemsize)
    if n_bands * chunk_rows * chunk_columns > most_values:
        chunk_columns = min(chunk_columns, max(1, most_values // n_bands))
        chunk_rows = max(1, most_values // (n_bands * chunk_columns))
    pixels = BLOCK_BYTES // max(1, n_bands * itemsize)
    columns = min(n_columns, max(1, pixels // chunk_rows // chunk_columns) * chunk_columns)
    rows = min(n_rows, max(1, pixels // max(1, columns) // chunk_rows) * chunk_rows)
    return n_bands, rows, columns
