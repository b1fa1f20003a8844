"""A matrix that is read block by block: passes over its columns, and single columns of it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from selfdict._validation import Array


class ColumnBlocks(Protocol):
    """Blocks of columns of a matrix, which are read anew in each pass."""

    @property
    def sizes(self) -> Array:
        """Columns per block, (n_blocks,) of int. None of them is zero."""
        ...

    def run(self, task: Callable[[Array, Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        """Yield ``task(M, part)`` of each block M (m, n_b) with its part, in order.

        The task may run in another process: it is pickled, and so are parts and answers. It must
        give the same answer, up to rounding, if it runs twice.
        """
        ...

    def everywhere(self, function: Callable[[], Any]) -> None:
        """Call a function in each process that runs tasks."""
        ...


class BlockColumns:
    """The columns of blocks, read when they are asked for: ``columns[:, indices]``.

    Columns that a search needs again are remembered.
    """

    def __init__(self, blocks: ColumnBlocks, n_features: int, dtype: Any) -> None:
        self.blocks = blocks
        self.dtype = np.dtype(dtype)
        self.edges = np.append(0, np.cumsum(blocks.sizes))
        self.shape = (n_features, int(self.edges[-1]))
        self.kept = np.empty(0, np.int64)
        self.kept_values = np.empty((n_features, 0), self.dtype)
        self.recent = self.kept
        self.recent_values = self.kept_values

    def keep(self, indices: Array, values: Array) -> None:
        """Remember columns for good; ``indices`` are increasing."""
        self.kept = indices
        self.kept_values = values

    def remember(self, indices: Array, values: Array) -> None:
        """Remember columns until others are remembered; ``indices`` are increasing."""
        self.recent = indices
        self.recent_values = values

    def __getitem__(self, key: tuple[slice, Array]) -> Array:
        """Return the columns of an array of indices, (m, k)."""
        indices = np.asarray(key[1])
        out = np.empty((self.shape[0], len(indices)), self.dtype)
        missing = np.ones(len(indices), bool)
        for known, values in (
            (self.kept, self.kept_values),
            (self.recent, self.recent_values),
        ):
            position, is_known = _positions(known, indices)
            out[:, is_known] = values[:, position[is_known]]
            missing &= ~is_known
        if missing.any():
            out[:, missing] = self._read(indices[missing])
        return out

    def _read(self, indices: Array) -> Array:
        """Read columns from their blocks."""
        wanted = np.unique(indices)
        found = np.concatenate(list(self.blocks.run(_take, self.split(wanted))), axis=1)
        return np.asarray(found[:, np.searchsorted(wanted, indices)])

    def split(self, indices: Array) -> list[Array]:
        """Return increasing indices of columns as indices within each block."""
        bounds = np.searchsorted(indices, self.edges)
        parts = []
        for block in range(len(self.blocks.sizes)):
            parts.append(indices[bounds[block] : bounds[block + 1]] - self.edges[block])
        return parts

    def slices(self, *vectors: Array) -> Iterator[tuple[Array, ...]]:
        """Yield the parts of vectors (n,) that belong to each block."""
        for start, stop in zip(self.edges[:-1], self.edges[1:]):
            yield tuple(vector[start:stop] for vector in vectors)


def _take(M: Array, indices: Array) -> Array:
    return M[:, indices]


def _positions(known: Array, indices: Array) -> tuple[Array, Array]:
    """Return where indices are in the increasing array ``known``, and which of them are there."""
    if len(known) == 0:
        return np.zeros(len(indices), np.int64), np.zeros(len(indices), bool)
    position = np.minimum(np.searchsorted(known, indices), len(known) - 1)
    return position, known[position] == indices
