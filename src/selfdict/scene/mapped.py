"""A mapped file that travels to other processes as its name, not as its values."""

from typing import Any

import numpy as np

from selfdict._validation import Array


class MappedArray:
    """Part of a mapped file as dask takes arrays: it is mapped anew wherever it arrives.

    Parameters
    ----------
    view : ndarray
        Any view of ``whole`` that slicing and transposing can make.
    whole : numpy.memmap
        What :func:`mapped_file` finds behind it.

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
        self.shape, self.dtype, self.ndim = view.shape, view.dtype, view.ndim
        self._path, self._strides = str(whole.filename), view.strides
        first = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        self._offset = int(whole.offset) + first

    def __getitem__(self, key: Any) -> Array:
        stored: Any = np.memmap(self._path, np.uint8, mode="r")
        return np.array(
            np.ndarray(self.shape, self.dtype, stored, self._offset, self._strides)[key]
        )


def mapped_file(values: Any) -> Any:
    """Return the ``numpy.memmap`` of a whole file that an array is a view of, or None."""
    whole = values
    while isinstance(whole, np.ndarray) and isinstance(whole.base, np.ndarray):
        whole = whole.base
    return whole if isinstance(whole, np.memmap) and whole.filename is not None else None
