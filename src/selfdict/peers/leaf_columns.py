"""The columns of a leaf of H2NMF: held in one piece where there is room, else found where they lie in M."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import for_slices
from selfdict.kernels.rank_two import gather, misplaced, swap_rows

SLICE = 4096  # columns a thread works on at a time
_FEW = 1024  # columns to copy at a time where they lie across M: as many as fit into a cache
_HOLD = 1 << 27  # entries of M up to which a copy of it is held
_ROUGH = 1 << 22  # entries of M beyond which single precision will do


class LeafColumns(Protocol):
    """Some columns of M, as rows, negative entries read as zero; what is not finite stays so."""

    indices: Array  # which columns of M
    rough: bool  # whether they and their Gram matrix are in single precision

    def rows(self, start: int, stop: int) -> Array:
        """Return these of the columns as a (stop − start, m) array."""

    def divide(self, first: Array) -> tuple[Self, Self]:
        """Return those where ``first`` is true, and the others; may change the order of the whole."""


def leaf_columns(M: Array, groups: Sequence[Array]) -> "list[LeafColumns]":
    """Return the columns of M in groups."""
    rough = M.size > _ROUGH
    dtype, scale = (np.dtype(np.float32), _unit(M)) if rough else (M.dtype, 1.0)
    if M.size > _HOLD:
        return [ScatteredColumns(M, group, dtype, scale) for group in groups]
    indices = np.concatenate(groups)
    rows = np.empty((indices.size, M.shape[0]), dtype=dtype)
    for_slices(lambda a, b: gather(M, indices[a:b], rows[a:b], scale), indices.size, _FEW)
    stops = np.cumsum([group.size for group in groups])
    parts = (slice(stop - group.size, stop) for group, stop in zip(groups, stops))
    return [HeldColumns(rows[part], indices[part], rough) for part in parts]


def _unit(M: Array) -> float:
    """Return the power of two that brings the largest entry of some columns near 1: squares shall not underflow."""
    largest = float(np.max(M[:, :: -(-M.shape[1] // 64)]))
    return float(2.0 ** min(-np.frexp(largest)[1], 1000)) if 0 < largest < np.inf else 1.0


class HeldColumns:
    """Columns in one piece, ordered so that the columns of each later part are again in one piece."""

    def __init__(self, rows: Array, indices: Array, rough: bool) -> None:
        self._rows, self.indices, self.rough = (
            rows,
            indices,
            rough,
        )  # the first two are reordered together

    def rows(self, start: int, stop: int) -> Array:
        return self._rows[start:stop]

    def divide(self, first: Array) -> "tuple[HeldColumns, HeldColumns]":
        size = int(np.count_nonzero(first))
        left, right = misplaced(first, size)
        for_slices(
            lambda a, b: swap_rows(self._rows, self.indices, left, right, a, b), left.size, SLICE
        )
        return self._part(slice(0, size)), self._part(slice(size, None))

    def _part(self, which: slice) -> "HeldColumns":
        return HeldColumns(self._rows[which], self.indices[which], self.rough)


class ScatteredColumns:
    """Columns of a matrix too large to copy; fast only where a column of it lies in one piece."""

    def __init__(self, M: Array, indices: Array, dtype: np.dtype[Any], scale: float) -> None:
        self._M, self.indices, self._dtype, self._scale = M, indices, dtype, scale
        self.rough = M.size > _ROUGH

    def rows(self, start: int, stop: int) -> Array:
        rows = np.empty((stop - start, self._M.shape[0]), dtype=self._dtype)
        gather(self._M, self.indices[start:stop], rows, self._scale)
        return rows

    def divide(self, first: Array) -> "tuple[ScatteredColumns, ScatteredColumns]":
        return self._part(first), self._part(~first)

    def _part(self, which: Array) -> "ScatteredColumns":
        return ScatteredColumns(self._M, self.indices[which], self._dtype, self._scale)
