"""The columns of a leaf of H2NMF: copied if M is small enough, else read from M when needed."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import for_slices
from selfdict.kernels.rank_two import gather, swap_rows

COLUMNS_PER_LEAF_SLICE = 4096  # columns that a thread works on at a time
_MAX_COPIED_ENTRIES = 1 << 27  # a larger M is not copied
_MAX_DOUBLE_ENTRIES = 1 << 22  # a larger M is read in single precision, which is enough


class LeafColumns(Protocol):
    """Some columns of M, as rows.

    Negative entries count as zero; entries that are not finite stay so.
    """

    indices: Array  # which columns of M
    n_features: int  # the rows of M
    single_precision: bool  # whether they and their Gram matrix are in single precision

    def rows(self, start: int, stop: int) -> Array:
        """Return the columns ``start`` to ``stop`` of these as a (stop − start, m) array."""

    def divide(self, first: Array) -> tuple[Self, Self]:
        """Return the columns where ``first`` is true, and the others.

        This may change the order of the whole.
        """


def leaf_columns(
    M: Array, groups: Sequence[Array], scale: float | None = None
) -> "list[LeafColumns]":
    """Return the columns of M in groups, each given by its indices.

    They are multiplied by ``scale``, by default one that is enough for ordinary data.
    """
    single_precision = M.size > _MAX_DOUBLE_ENTRIES
    dtype = M.dtype
    if single_precision:
        dtype = np.dtype(np.float32)
    if scale is None:
        scale = 1.0
        if single_precision:
            scale = unit_scale(M[:, :: -(-M.shape[1] // 64)])  # some columns are enough
    if M.size > _MAX_COPIED_ENTRIES:
        return [ScatteredColumns(M, group, dtype, scale) for group in groups]
    indices = np.concatenate(groups)
    rows = np.empty((indices.size, M.shape[0]), dtype=dtype)

    def copy(start: int, stop: int) -> None:
        gather(M, indices[start:stop], rows[start:stop], scale)

    # As many columns at a time as fit into a cache, since a row-major M is read across its rows.
    for_slices(copy, indices.size, 1024)
    parts: list[LeafColumns] = []
    start = 0
    for group in groups:
        stop = start + group.size
        parts.append(HeldColumns(rows[start:stop], indices[start:stop], single_precision))
        start = stop
    return parts


def unit_scale(M: Array) -> float:
    """Return the power of two that brings the largest entry near 1; 1 if none is positive.

    Otherwise squares could leave the range, in single precision above all.
    """
    largest = float(np.max(M))
    if not 0 < largest < np.inf:
        return 1.0
    return float(2.0 ** min(-np.frexp(largest)[1], 1000))


class HeldColumns:
    """A copy of columns, ordered so that each part is a contiguous piece of the whole."""

    def __init__(self, rows: Array, indices: Array, single_precision: bool) -> None:
        # Both are reordered together.
        self._rows = rows
        self.indices = indices
        self.n_features = rows.shape[1]
        self.single_precision = single_precision

    def rows(self, start: int, stop: int) -> Array:
        return self._rows[start:stop]

    def divide(self, first: Array) -> "tuple[HeldColumns, HeldColumns]":
        size = int(np.count_nonzero(first))
        # The rows to exchange so that the first part comes first.
        left = np.flatnonzero(~first[:size])
        right = size + np.flatnonzero(first[size:])

        def swap(start: int, stop: int) -> None:
            swap_rows(self._rows, self.indices, left, right, start, stop)

        for_slices(swap, left.size, COLUMNS_PER_LEAF_SLICE)
        return self._part(slice(0, size)), self._part(slice(size, None))

    def _part(self, which: slice) -> "HeldColumns":
        return HeldColumns(self._rows[which], self.indices[which], self.single_precision)


class ScatteredColumns:
    """Columns of a matrix too large to copy; fast only if the matrix is column-major."""

    def __init__(self, M: Array, indices: Array, dtype: np.dtype[Any], scale: float) -> None:
        self._M = M
        self.indices = indices
        self.n_features = M.shape[0]
        self._dtype = dtype
        self._scale = scale
        self.single_precision = M.size > _MAX_DOUBLE_ENTRIES

    def rows(self, start: int, stop: int) -> Array:
        rows = np.empty((stop - start, self._M.shape[0]), dtype=self._dtype)
        gather(self._M, self.indices[start:stop], rows, self._scale)
        return rows

    def divide(self, first: Array) -> "tuple[ScatteredColumns, ScatteredColumns]":
        return self._part(first), self._part(~first)

    def _part(self, which: Array) -> "ScatteredColumns":
        return ScatteredColumns(self._M, self.indices[which], self._dtype, self._scale)
