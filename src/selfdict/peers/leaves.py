"""Leaves of H2NMF: their columns, their Gram matrices, and how they are divided in two.

A leaf is divided by rank-two NMF and a threshold on the shares.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from selfdict._validation import Array
from selfdict.compute.linear_algebra import in_order
from selfdict.compute.threads import for_slices
from selfdict.kernels.rank_two import (
    add_deflated,
    deflate,
    extreme_pair,
    leading_eigenpairs,
    project,
    shares,
    swap_rows,
)
from selfdict.peers.successive import RESIDUAL_TIE

COLUMNS_PER_LEAF_SLICE = 4096  # columns that a thread works on at a time


@dataclass(frozen=True)
class LeafColumns:
    """A copy of some columns of M, as rows, ordered so that each part is a contiguous piece."""

    # Both are reordered together.
    rows: Array
    indices: Array  # which columns of M
    single_precision: bool  # of their Gram matrix, too

    @classmethod
    def of(cls, M: Array, single_precision: bool) -> Self:
        """Copy all columns of M, up to a power of two; negative entries become zero."""
        dtype = M.dtype
        scale = 1.0
        if single_precision:
            dtype = np.dtype(np.float32)
            # The largest entry is brought near one, since squares of float64 may leave this range.
            scale = float(2.0 ** -np.frexp(np.max(M))[1])
        rows = np.empty(M.shape[::-1], dtype=dtype)

        def copy(start: int, stop: int) -> None:
            np.multiply(M[:, start:stop].T, scale, out=rows[start:stop], casting="same_kind")
            np.maximum(rows[start:stop], 0, out=rows[start:stop])

        # As many columns at a time as fit into a cache: a row-major M is read across its rows.
        for_slices(copy, M.shape[1], 1024)
        return cls(rows, np.arange(M.shape[1]), single_precision)

    def divide(self, first: Array) -> "tuple[LeafColumns, LeafColumns]":
        """Return the columns where ``first`` is true, and the others; reorders the whole."""
        size = int(np.count_nonzero(first))
        # The rows to exchange so that the first part comes first.
        left = np.flatnonzero(~first[:size])
        right = size + np.flatnonzero(first[size:])

        def swap(start: int, stop: int) -> None:
            swap_rows(self.rows, self.indices, left, right, start, stop)

        for_slices(swap, left.size, COLUMNS_PER_LEAF_SLICE)
        return self._part(slice(0, size)), self._part(slice(size, None))

    def _part(self, which: slice) -> "LeafColumns":
        return LeafColumns(self.rows[which], self.indices[which], self.single_precision)


def gram(columns: LeafColumns) -> Array:
    """Return A Aᵀ (m, m) for the columns A, computed block by block."""
    m = columns.rows.shape[1]
    G = np.zeros((m, m))

    def block_product(start: int, stop: int) -> tuple[Array, Array, Array]:
        """Return S, u, v such that the product is S + u vᵀ + v uᵀ."""
        rows = columns.rows[start:stop]
        u = np.zeros(m)
        v = np.zeros(m)
        if columns.single_precision:
            # Without the part along the mean, rounding errors are those of the spread of the rows.
            R = np.empty_like(rows)
            deflate(rows, R, u, v)
        else:
            R = np.asarray(rows, dtype=np.float64)
        return R.T @ R, u, v

    columns_per_block = 2048
    for S, u, v in in_order(block_product, columns.indices.size, columns_per_block):
        add_deflated(S, u, v, G)
    return G


def smaller_gram(columns: LeafColumns) -> Array:
    """Return AᵀA if A has fewer columns than rows, else A Aᵀ: the eigenvalues are the same."""
    k, m = columns.rows.shape
    if k >= m:
        return gram(columns)
    G = np.empty((k, k))
    block = _columns_per_block(m)

    def task(start: int, stop: int) -> None:
        left = columns.rows[start:stop].astype(np.float64, copy=False)
        for first in range(0, start, block):
            right = columns.rows[first : first + block].astype(np.float64, copy=False)
            tile = left @ right.T
            G[start:stop, first : first + block] = tile
            G[first : first + block, start:stop] = tile.T
        G[start:stop, start:stop] = left @ left.T

    for_slices(task, k, block)
    return G


def _columns_per_block(m: int) -> int:
    """Return how many columns of m entries are converted to float64 at a time."""
    return max(1, (1 << 22) // m)


def _combined(columns: LeafColumns, V: Array, eigenvalues: Array) -> Array:
    """Return the eigenvectors A v/√λ (m, 2) of A Aᵀ for those of AᵀA, V (k, 2); zero for λ = 0."""
    m = columns.rows.shape[1]
    U = np.zeros((m, V.shape[1]))
    block = _columns_per_block(m)
    for start in range(0, len(V), block):
        part = slice(start, start + block)
        U += columns.rows[part].astype(np.float64, copy=False).T @ V[part]
    lengths = np.sqrt(np.maximum(eigenvalues, 0.0))
    return np.divide(U, lengths, out=np.zeros_like(U), where=lengths > 0)


def _products(columns: LeafColumns, U: Array) -> Array:
    """Return u₁ᵀa and u₂ᵀa as the rows of a (2, k) array, for all columns a; U is (m, 2)."""
    vectors = np.ascontiguousarray(U.T)
    out = np.empty((2, columns.indices.size))

    def task(start: int, stop: int) -> None:
        project(columns.rows[start:stop], vectors, out[:, start:stop])

    for_slices(task, columns.indices.size, COLUMNS_PER_LEAF_SLICE)
    return out


def _first_part(columns: LeafColumns, U: Array) -> Array:
    """Return which columns are in the first part; U (m, 2) are their leading singular vectors."""
    Z = _products(columns, U)
    pair = Z[:, extreme_pair(Z, RESIDUAL_TIE)]
    W = U @ pair
    mix = np.ascontiguousarray(pair.T)
    # If no entry is negative, clipping changes nothing, and WᵀA follows from Z.
    if (W < 0).any():
        W = np.maximum(W, 0)
        mix = np.eye(2)
        Z = _products(columns, W)
    x = np.empty(columns.indices.size)
    shares(W.T @ W, mix, Z, x)
    return np.asarray(x >= _threshold(x))


def _threshold(x: Array) -> float:
    """Return the threshold δ that balances the two parts and has few x near it."""
    thresholds = 0.01 * np.arange(101)
    # the window δ ± 0.05 in which shares are counted
    start = np.maximum(thresholds - 0.05, 0.0)
    stop = np.minimum(thresholds + 0.05, 1.0)
    ordered = np.sort(x)
    below = np.searchsorted(ordered, thresholds, side="right") / x.size
    # Thresholds with equal counts are common. The order of operations of the authors' code decides
    # between them.
    inside = np.searchsorted(ordered, stop, side="right") - np.searchsorted(ordered, start)
    density = inside / x.size / (stop - start)
    with np.errstate(divide="ignore"):
        cost = -np.log(below * (1 - below)) + np.exp(density)
    return float(thresholds[np.argmin(cost)])


@dataclass(eq=False)
class Leaf:
    """Some columns A of M, the two leading eigenpairs of A Aᵀ, and the parts of A."""

    columns: LeafColumns
    eigenvalues: Array
    U: Array
    gram: Array | None
    # The trace of the Gram matrix that was summed over columns. That of this leaf, or that of the
    # leaf from which this one's was obtained by subtraction.
    summed_trace: float
    children: "tuple[Leaf, ...] | None" = None  # None before it was tried

    @classmethod
    def of(cls, columns: LeafColumns, G: Array, summed_trace: float = 0.0) -> Self:
        """Return the leaf of columns A with the Gram matrix G, which is A Aᵀ or the smaller AᵀA."""
        eigenvalues, U = leading_eigenpairs(G)
        k, m = columns.rows.shape
        if len(G) < m:
            U = _combined(columns, U, eigenvalues)
        # A leaf of few columns takes less memory than its Gram matrix, which is soon recomputed.
        gram = None
        if k > m:
            gram = G
        return cls(columns, eigenvalues, U, gram, summed_trace or float(np.trace(G)))

    @cached_property
    def bound(self) -> float:
        """The largest possible gain, rounded up; 0 if the columns are multiples of one another."""
        first, second = self.eigenvalues
        # Below this share of λ₁, λ₂ is rounding error.
        if second > 1e-13 * first:
            return float(second + 1e-14 * first)
        return 0.0

    @property
    def gain(self) -> float:
        """How much a division lowers the error."""
        children = self.children or ()
        return float(sum(child.eigenvalues[0] for child in children) - self.eigenvalues[0])

    def divide(self) -> None:
        """Find the two parts; none if one of them would be empty."""
        self.children = ()
        first = _first_part(self.columns, self.U)
        if first.all() or not first.any():
            return
        parts = self.columns.divide(first)
        if self.gram is None:
            self.children = tuple(Leaf.of(part, smaller_gram(part)) for part in parts)
            return
        smaller, larger = sorted(parts, key=lambda part: part.indices.size)
        G = gram(smaller)
        small = Leaf.of(smaller, G)
        large = self._without(G, self.gram, larger)
        if large is None:
            large = Leaf.of(larger, smaller_gram(larger))
        self.children = (large, small)
        if smaller is parts[0]:
            self.children = (small, large)

    def _without(self, G: Array, whole: Array, columns: LeafColumns) -> "Leaf | None":
        """Return the leaf of the columns that are left, or None if its G could be too inexact."""
        remainder = Leaf.of(columns, np.subtract(whole, G, out=whole), self.summed_trace)
        self.gram = None  # it was overwritten
        # The smallest λ₂, as a share of the trace, that the subtraction leaves accurate enough.
        least = 1e-6
        if columns.single_precision:
            least = 1e-4
        if remainder.eigenvalues[1] >= least * self.summed_trace:
            return remainder
        return None
