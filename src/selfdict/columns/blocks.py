"""A matrix that is read block by block: passes over its columns, single columns, and rows of X."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from selfdict._validation import Array
from selfdict.model.score_bounds import ColumnSums, Step
from selfdict.model.scores import (
    Metric,
    RowClusters,
    UnitRows,
    bounds_by_clusters,
    positive_sums,
    summation_depth,
)

Part = TypeVar("Part")
Answer = TypeVar("Answer")


class ColumnBlocks(Protocol):
    """Blocks of columns of a matrix, which are read anew in each pass."""

    @property
    def sizes(self) -> Array:
        """Columns per block, (n_blocks,) of int. None of them is zero."""

    def run(self, task: Callable[[Array, Part], Answer], parts: Iterable[Part]) -> Iterator[Answer]:
        """Yield ``task(M, part)`` of each block M (m, n_b) with its part, in order.

        The task may run in another process: it is pickled, and so are parts and answers. It must
        give the same answer, up to rounding, if it runs twice.
        """

    def everywhere(self, function: Callable[[], None]) -> None:
        """Call a function in each process that runs tasks."""


class BlockMatrix:
    """The columns of blocks, read when they are asked for: ``columns[:, indices]``.

    The columns ``kept``, by increasing indices, are held with their values (m, l).
    """

    def __init__(self, blocks: ColumnBlocks, kept: Array, kept_values: Array) -> None:
        self.blocks = blocks
        self.edges = np.append(0, np.cumsum(blocks.sizes))
        self.shape = (len(kept_values), int(self.edges[-1]))
        self.kept = kept
        self.kept_values = kept_values
        self.remember(kept[:0], kept_values[:, :0])

    def remember(self, indices: Array, values: Array) -> None:
        """Remember columns until others are remembered; ``indices`` are increasing."""
        self.recent = indices
        self.recent_values = values

    def __getitem__(self, key: tuple[slice, Array]) -> Array:
        """Return the columns of an array of indices, (m, k)."""
        indices = np.asarray(key[1])
        out = np.empty((self.shape[0], len(indices)), self.kept_values.dtype)
        missing = np.ones(len(indices), bool)
        for known, values in (self.kept, self.kept_values), (self.recent, self.recent_values):
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

    def run(self, task: Callable[[Array, int], Answer]) -> Iterator[Answer]:
        """Yield ``task(M, number)`` of each block M (m, n_b), in order."""
        return self.blocks.run(task, range(len(self.blocks.sizes)))

    def split(self, indices: Array, *vectors: Array) -> Iterator[tuple[Array, ...]]:
        """Yield, for each block, increasing indices of columns as indices within the block.

        The parts of vectors, one entry per index, follow.
        """
        bounds = np.searchsorted(indices, self.edges)
        for block, first in enumerate(self.edges[:-1]):
            part = slice(bounds[block], bounds[block + 1])
            yield indices[part] - first, *(vector[part] for vector in vectors)


def _take(M: Array, part: tuple[Array, ...]) -> Array:
    return M[:, part[0]]


def _positions(known: Array, indices: Array) -> tuple[Array, Array]:
    """Return where indices are in the increasing array ``known``, and which of them are there."""
    if len(known) == 0:
        return np.zeros(len(indices), np.int64), np.zeros(len(indices), bool)
    position = np.minimum(np.searchsorted(known, indices), len(known) - 1)
    return position, known[position] == indices


class BlockRows:
    """The columns of blocks as rows of X, in clusters; w and norms (n,) are ℓ1 and ℓ2 norms."""

    def __init__(self, M: BlockMatrix, w: Array, norms: Array, clusters: RowClusters) -> None:
        self.M = M
        self.v = w
        self.norms = norms
        self.lengths: Array = norms / w
        self.clusters = clusters

    def worthwhile(self, n_columns: int) -> bool:
        return True  # there is no other way to look at rows that are not in memory

    def steps(self, n_rows: int, n_columns: int, rough: bool) -> Sequence[Step]:
        if rough:
            return Step.CLUSTERS, Step.DIRECTIONS, Step.SINGLE
        return Step.CLUSTERS, Step.DIRECTIONS, Step.SINGLE, Step.DOUBLE

    def values(self, rows: Array) -> Array:
        return self.M[:, rows]

    def unit(self, rows: Array) -> UnitRows:
        return UnitRows(self.M[:, rows], self.norms[rows])

    def positive_sums(self, theta: Array, rows: Array | None, dtype: type) -> Array:
        if rows is None:
            rows = np.arange(len(self.v))
        return positive_sums(self.M[:, rows], self.v[rows], theta, None, dtype)

    def summation_depth(self, n_columns: int) -> int:
        return summation_depth(n_columns, None) + len(self.M.blocks.sizes)

    def cluster_bounds(self, theta: ColumnSums, metric: Metric, rows: Array, most: Array) -> Array:
        centres = self.clusters.centres
        of_centres = theta.sums_of_centres(centres, metric.total)
        task = partial(_cluster_bounds, metric, centres, of_centres)
        parts = self.M.split(rows, self.clusters.labels[rows], self.norms[rows], most)
        bounds = []
        undecided = []
        columns = []
        for first, answer in zip(self.M.edges, self.M.blocks.run(task, parts)):
            bounds.append(answer[0])
            undecided.append(first + answer[1])
            columns.append(answer[2])
        # rows that join, and comparisons of rows with each other, need these columns next
        self.M.remember(np.concatenate(undecided), np.concatenate(columns, axis=1))
        return np.concatenate(bounds)


def _cluster_bounds(
    metric: Metric, centres: Array, of_centres: Array, M: Array, part: tuple[Array, ...]
) -> tuple[Array, Array, Array]:
    """Return bounds of rows of a block, and the indices and columns of those not decided."""
    local, labels, norms, most = part
    rows = UnitRows(M[:, local], norms)
    bounds = bounds_by_clusters(rows, labels, centres, of_centres, metric)
    undecided = local[bounds > most]
    return bounds, undecided, M[:, undecided]
