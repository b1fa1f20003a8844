"""Any index of an array on disk, by readers that take ranges only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from selfdict._validation import Array


def load_indexed(load: Callable[..., Array], shape: tuple[int, ...], key: Any) -> Array:
    """Return the part of an array that dask asks for.

    dask passes on any index the scene was given, but the readers take plain slices only: load the
    range that contains the index, and index the result.

    Parameters
    ----------
    load : callable
        Returns the values in ranges, one slice without steps per axis.
    shape : tuple of int
        Of the whole array.
    key : tuple
        One number, slice or list per axis; axes at the end may be left out.
    """
    if not isinstance(key, tuple):
        key = (key,)
    key += (slice(None),) * (len(shape) - len(key))
    ranges = []
    indices = []
    for index, size in zip(key, shape):
        enclosing, inside = _enclosing_range(index, size)
        ranges.append(enclosing)
        indices.append(inside)
    values = load(*ranges)
    # Last axis first: a number removes its axis, and would shift those after it.
    for axis in reversed(range(len(shape))):
        values = values[(slice(None),) * axis + (indices[axis],)]
    return values


def _enclosing_range(index: Any, size: int) -> tuple[slice, Any]:
    """Return a slice without steps that contains an index, and the index within that slice.

    The index is a number, a slice or a list; ``size`` is that of its axis.
    """
    wanted = np.arange(size)[index]
    if wanted.size == 0:
        return slice(0, 0), slice(None)
    first = int(wanted.min())
    last = int(wanted.max())
    enclosing = slice(first, last + 1)
    if wanted.ndim == 1 and np.array_equal(wanted, np.arange(first, last + 1)):
        # The whole range: a list of its numbers would copy the values.
        return enclosing, slice(None)
    return enclosing, wanted - first
