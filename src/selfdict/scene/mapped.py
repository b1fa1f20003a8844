"""A mapped file that is pickled as its name, not as its values."""

from typing import Any

import numpy as np

from selfdict._validation import Array


class MappedArray:
    """Part of a mapped file as an array for dask, which every process maps for itself.

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
        # Opened anew each time, so that no open file is pickled.
        stored: Any = np.memmap(self._path, np.uint8, mode="r")
        view: Array = np.ndarray(self.shape, self.dtype, stored, self._offset, self._strides)
        return np.array(view[key])


def mapped_file(values: Any) -> Any:
    """Return the ``numpy.memmap`` of a whole file that an array is a view of, or None."""
    whole = values
    while isinstance(whole, np.ndarray) and isinstance(whole.base, np.ndarray):
        whole = whole.base
    # A memmap of a file object without a name cannot be opened again.
    if isinstance(whole, np.memmap) and whole.filename is not None:
        return whole
    return None
