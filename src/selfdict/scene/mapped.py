"""A mapped file that is pickled as its name, not as its values."""

from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.indexing import load_indexed


class MappedArray:
    """Part of a mapped file as an array for dask, which every process reads for itself.

    Parameters
    ----------
    view : ndarray
        Any view of ``whole`` that slicing and transposing can make.
    whole : numpy.memmap
        What :func:`mapped_file` returns for it.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from selfdict.scene.mapped import MappedArray, mapped_file
    >>> path = tempfile.mkdtemp() + "/numbers"
    >>> np.arange(12).tofile(path)
    >>> view = np.memmap(path, int, shape=(3, 4))[1:].T
    >>> MappedArray(view, mapped_file(view))[0:2, 1]
    array([8, 9])
    """

    def __init__(self, view: Array, whole: Any) -> None:
        self.shape = view.shape
        self.dtype = view.dtype
        self.ndim = view.ndim
        self._path = str(whole.filename)
        self._strides = view.strides
        # The address of the first value of the view, counted from the start of the file; memmap
        # itself forgets it when a view is made.
        first = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        self._offset = int(whole.offset) + first

    def __getitem__(self, key: Any) -> Array:
        return load_indexed(self._load, self.shape, key)

    def _load(self, *ranges: slice) -> Array:
        """Return the values in ranges, one per axis."""
        shape = tuple(part.stop - part.start for part in ranges)
        offset = self._offset
        for part, stride in zip(ranges, self._strides):
            offset += part.start * stride
        # Opened anew each time, so that no open file is pickled.
        with Path(self._path).open("rb", buffering=0) as file:
            return _read_strided(file, offset, shape, self._strides, self.dtype)


def stored_values(values: Any) -> Array:
    """Return the values of an array, those of a mapped file by reading it.

    Another process may cut a mapped file short. Its values are then gone, and the system ends the
    process that touches them. A file that is read gives an error instead.
    """
    whole = mapped_file(values)
    if whole is None:
        return np.asarray(values)
    return MappedArray(values, whole)[()]


def _read_strided(
    file: FileIO,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
) -> Array:
    """Return an array that lies in a file with gaps; offset and strides count bytes."""
    n_bytes = dtype.itemsize
    span = dtype.itemsize
    lowest = 0
    for size, stride in zip(shape, strides):
        n_bytes *= size
        span += (size - 1) * abs(stride)
        lowest += min(0, (size - 1) * stride)
    values = np.empty(shape, dtype)
    if n_bytes == 0:
        return values
    # One read with the gaps, if they are not much more than the values, is faster than many.
    if span <= 2 * n_bytes + 2**16:
        file.seek(offset + lowest)
        data = _read_exactly(file, span)
        values[...] = np.ndarray(shape, dtype, data, -lowest, strides)
        return values
    outer = int(np.argmax(np.abs(strides) * (np.array(shape) > 1)))
    for k in range(shape[outer]):
        values[(slice(None),) * outer + (k,)] = _read_strided(
            file,
            offset + k * strides[outer],
            shape[:outer] + shape[outer + 1 :],
            strides[:outer] + strides[outer + 1 :],
            dtype,
        )
    return values


def _read_exactly(file: FileIO, n_bytes: int) -> bytearray:
    data = bytearray(n_bytes)
    filled = 0
    while filled < n_bytes:
        n_read = file.readinto(memoryview(data)[filled:])
        if not n_read:
            raise SceneError(str(file.name), "has become shorter while it was read")
        filled += n_read
    return data


def mapped_file(values: Any) -> Any:
    """Return the ``numpy.memmap`` of a whole file that an array is a view of, or None."""
    whole = values
    while isinstance(whole, np.ndarray) and isinstance(whole.base, np.ndarray):
        whole = whole.base
    # A memmap of a file object without a name cannot be opened again.
    if isinstance(whole, np.memmap) and whole.filename is not None:
        return whole
    return None
