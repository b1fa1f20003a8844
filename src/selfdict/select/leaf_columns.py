"""The columns of a leaf of H2NMF: held in one piece where there is room, else found where they lie in M."""

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.rank_two import gather, swap_rows
from selfdict.kernels.threads import for_slices

SLICE = 1024
_HOLD = 1 << 29  # bytes of M up to which a copy of it is held


class LeafColumns(Protocol):
    """Some columns of M, as rows, negative entries read as zero; what is not finite stays so."""

    indices: Array  # which columns of M

    def rows(self, start: int, stop: int) -> Array:
        """Return these of the columns as a (stop − start, m) array of the precision of M."""

    def divide(self, first: Array) -> tuple[Self, Self]:
        """Return those where ``first`` is true, and the others; may change the order of the whole."""


def leaf_columns(M: Array, groups: Sequence[Array]) -> "list[LeafColumns]":
    """Return the columns of M in groups."""
    if M.nbytes > _HOLD:
        return [ScatteredColumns(M, group) for group in groups]
    indices = np.concatenate(groups)
    rows = np.empty((indices.size, M.shape[0]), dtype=M.dtype)
    for_slices(lambda a, b: gather(M, indices[a:b], rows[a:b]), indices.size, SLICE)
    stops = np.cumsum([group.size for group in groups])
    parts = (slice(stop - group.size, stop) for group, stop in zip(groups, stops))
    return [HeldColumns(rows[part], indices[part]) for part in parts]


class HeldColumns:
    """Columns in one piece, ordered so that the columns of each later part are again in one piece."""

    def __init__(self, rows: Array, indices: Array) -> None:
        self._rows, self.indices = rows, indices  # both are reordered together

    def rows(self, start: int, stop: int) -> Array:
        return self._rows[start:stop]

    def divide(self, first: Array) -> "tuple[HeldColumns, HeldColumns]":
        size = int(np.count_nonzero(first))
        left, right = np.flatnonzero(~first[:size]), size + np.flatnonzero(first[size:])
        for_slices(lambda a, b: swap_rows(self._rows, left, right, a, b), left.size, SLICE)
        ids = self.indices
        ids[left], ids[right] = ids[right], ids[left]  # both sides are copies before they are written
        return HeldColumns(self._rows[:size], ids[:size]), HeldColumns(self._rows[size:], ids[size:])


class ScatteredColumns:
    """Columns of a matrix too large to copy; fast only where a column of it lies in one piece."""

    def __init__(self, M: Array, indices: Array) -> None:
        self._M, self.indices = M, indices

    def rows(self, start: int, stop: int) -> Array:
        rows = np.empty((stop - start, self._M.shape[0]), dtype=self._M.dtype)
        gather(self._M, self.indices[start:stop], rows)
        return rows

    def divide(self, first: Array) -> "tuple[ScatteredColumns, ScatteredColumns]":
        return ScatteredColumns(self._M, self.indices[first]), ScatteredColumns(self._M, self.indices[~first])
