"""How H2NMF divides a set of columns in two: rank-two NMF, then a threshold on the shares."""

import numpy as np

from selfdict._validation import Array
from selfdict.compute.sums import in_order
from selfdict.compute.threads import for_slices
from selfdict.kernels.rank_two import (
    add_deflated,
    count_below,
    deflate,
    extreme_pair,
    project,
    shares,
)
from selfdict.peers._columns import RESIDUAL_TIE
from selfdict.peers.leaf_columns import COLUMNS_PER_LEAF_SLICE, LeafColumns

_ENTRIES_PER_BLOCK = 1 << 22  # of the columns that are read in float64 at a time
# The thresholds δ to choose from, and the window δ ± 0.05 in which the shares x are counted.
_THRESHOLDS = 0.01 * np.arange(101)
_WINDOW_START = np.maximum(_THRESHOLDS - 0.05, 0.0)
_WINDOW_STOP = np.minimum(_THRESHOLDS + 0.05, 1.0)
# All counts come from one pass that counts x ≤ edge; x < start is x ≤ the next smaller number.
_BELOW_WINDOW = np.nextafter(_WINDOW_START, -1.0)
_EDGES = np.unique(np.concatenate([_THRESHOLDS, _WINDOW_STOP, _BELOW_WINDOW]))
_FIRST_NEAR_EDGE = np.searchsorted(_EDGES, _THRESHOLDS - 1e-9)  # the first edge near each threshold
_AT_THRESHOLD = np.searchsorted(_EDGES, _THRESHOLDS)
_AT_WINDOW_STOP = np.searchsorted(_EDGES, _WINDOW_STOP)
_AT_BELOW_WINDOW = np.searchsorted(_EDGES, _BELOW_WINDOW)


def gram(columns: LeafColumns) -> Array:
    """Return A Aᵀ (m, m) for the columns A, computed block by block."""
    G = np.zeros((columns.n_features, columns.n_features))
    columns_per_block = 2048

    def block_product(start: int, stop: int) -> tuple[Array, Array, Array]:
        return _deflated_product(columns.rows(start, stop), columns.single_precision)

    for S, u, v in in_order(block_product, columns.indices.size, columns_per_block):
        add_deflated(S, u, v, G)
    return G


def smaller_gram(columns: LeafColumns) -> Array:
    """Return AᵀA if A has fewer columns than rows, else A Aᵀ: the eigenvalues are the same."""
    k = columns.indices.size
    if k >= columns.n_features:
        return gram(columns)
    G = np.empty((k, k))
    columns_per_block = max(1, _ENTRIES_PER_BLOCK // columns.n_features)

    def task(start: int, stop: int) -> None:
        left = _in_double(columns, start, stop)
        for first in range(0, start, columns_per_block):
            right = _in_double(columns, first, first + columns_per_block)
            tile = left @ right.T
            G[start:stop, first : first + columns_per_block] = tile
            G[first : first + columns_per_block, start:stop] = tile.T
        G[start:stop, start:stop] = left @ left.T

    # NaN and infinity raise an error later: no warnings on the way.
    with np.errstate(invalid="ignore", over="ignore"):
        for_slices(task, k, columns_per_block)
    return G


def combined(columns: LeafColumns, V: Array, eigenvalues: Array) -> Array:
    """Return the eigenvectors A v/√λ (m, 2) of A Aᵀ for those of AᵀA, V (k, 2); zero for λ = 0."""
    U = np.zeros((columns.n_features, V.shape[1]))
    columns_per_block = max(1, _ENTRIES_PER_BLOCK // columns.n_features)
    for start in range(0, len(V), columns_per_block):
        stop = min(start + columns_per_block, len(V))
        U += _in_double(columns, start, stop).T @ V[start:stop]
    lengths = np.sqrt(np.maximum(eigenvalues, 0.0))
    return np.divide(U, lengths, out=np.zeros_like(U), where=lengths > 0)


def _in_double(columns: LeafColumns, start: int, stop: int) -> Array:
    return np.asarray(columns.rows(start, stop), dtype=np.float64)


def _deflated_product(rows: Array, single_precision: bool) -> tuple[Array, Array, Array]:
    """Return S, u, v such that the product of the rows with themselves is S + u vᵀ + v uᵀ."""
    if single_precision:
        # Without the part along the mean, the rounding errors are those of the spread of the rows.
        R = np.empty_like(rows)
        u, v = deflate(rows, R)
    else:
        R = np.asarray(rows, dtype=np.float64)
        u = np.zeros(rows.shape[1])
        v = np.zeros(rows.shape[1])
    # NaN and infinity raise an error later: no warnings on the way.
    with np.errstate(invalid="ignore", over="ignore"):
        return R.T @ R, u, v


def products(columns: LeafColumns, U: Array) -> Array:
    """Return u₁ᵀa and u₂ᵀa as the rows of a (2, k) array, for all columns a; U is (m, 2)."""
    vectors = np.ascontiguousarray(U.T)
    out = np.empty((2, columns.indices.size))

    def task(start: int, stop: int) -> None:
        project(columns.rows(start, stop), vectors, out[:, start:stop])

    for_slices(task, columns.indices.size, COLUMNS_PER_LEAF_SLICE)
    return out


def first_part(columns: LeafColumns, U: Array) -> Array:
    """Return which columns belong to the first part, as booleans.

    U (m, 2) holds the two leading left singular vectors of the columns.
    """
    Z = products(columns, U)
    pair = Z[:, extreme_pair(Z, RESIDUAL_TIE)]
    W = U @ pair
    mix = np.ascontiguousarray(pair.T)
    # If no entry is negative, clipping changes nothing, and WᵀA follows from Z.
    if (W < 0).any():
        W = np.maximum(W, 0)
        mix = np.eye(2)
        Z = products(columns, W)
    x = np.empty(columns.indices.size)
    shares(W.T @ W, mix, Z, x)
    return np.asarray(x >= _threshold(x))


def _threshold(x: Array) -> float:
    """Return the threshold δ that balances the two parts and has few x near it."""
    counts = count_below(x, _EDGES, _FIRST_NEAR_EDGE)
    below = counts[_AT_THRESHOLD] / x.size
    # Thresholds with equal counts are common. The order of operations of the authors' code decides
    # between them.
    inside = counts[_AT_WINDOW_STOP] - counts[_AT_BELOW_WINDOW]
    density = inside / x.size / (_WINDOW_STOP - _WINDOW_START)
    with np.errstate(divide="ignore"):
        cost = -np.log(below * (1 - below)) + np.exp(density)
    return float(_THRESHOLDS[np.argmin(cost)])
