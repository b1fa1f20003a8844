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
from selfdict.peers._columns import TIE
from selfdict.peers.leaf_columns import SLICE, LeafColumns

_BLOCK = 2048  # columns of which a Gram matrix is computed at a time
_GRID = 0.01 * np.arange(101)
_LOW, _HIGH = np.maximum(_GRID - 0.05, 0.0), np.minimum(_GRID + 0.05, 1.0)
_BELOW_LOW = np.nextafter(_LOW, -1.0)  # x < low is x ≤ the next smaller number
_EDGES = np.unique(np.concatenate([_GRID, _HIGH, _BELOW_LOW]))
_FROM = np.searchsorted(_EDGES, _GRID - 1e-9)  # the first edge beside each value of the grid
_AT_GRID, _AT_HIGH, _AT_LOW = (
    np.searchsorted(_EDGES, values) for values in (_GRID, _HIGH, _BELOW_LOW)
)


def gram(columns: LeafColumns) -> Array:
    """Return A Aᵀ (m, m) for the columns A, a block of them at a time."""
    G = np.zeros((columns.rows(0, 0).shape[1],) * 2)
    blocks = in_order(
        lambda a, b: _squares(columns.rows(a, b), columns.rough), columns.indices.size, _BLOCK
    )
    for S, u, v in blocks:
        add_deflated(S, u, v, G)
    return G


def _squares(rows: Array, rough: bool) -> tuple[Array, Array, Array]:
    """Return S, u, v such that the product of the rows with themselves is S + u vᵀ + v uᵀ."""
    if rough:
        R = np.empty_like(rows)
        u, v = deflate(rows, R)
    else:
        R, u, v = (
            np.asarray(rows, dtype=np.float64),
            np.zeros(rows.shape[1]),
            np.zeros(rows.shape[1]),
        )
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # what is not finite will be an error, not a warning
        return R.T @ R, u, v


def products(columns: LeafColumns, U: Array) -> Array:
    """Return u₁ᵀa and u₂ᵀa as the rows of a (2, k) array, for all columns a; U is (m, 2)."""
    vectors = np.ascontiguousarray(U.T)
    out = np.empty((2, columns.indices.size))
    for_slices(
        lambda a, b: project(columns.rows(a, b), vectors, out[:, a:b]), columns.indices.size, SLICE
    )
    return out


def first_part(columns: LeafColumns, U: Array) -> Array:
    """Say which columns go to the first part; U (m, 2) holds their two leading left singular vectors."""
    Z = products(columns, U)
    pair = Z[:, extreme_pair(Z, TIE)]
    W, mix = U @ pair, np.ascontiguousarray(pair.T)
    # Without a negative entry the clipping changes nothing, and WᵀA follows from Z.
    if (W < 0).any():
        W, mix = np.maximum(W, 0), np.eye(2)
        Z = products(columns, W)
    x = np.empty(columns.indices.size)
    shares(W.T @ W, mix, Z, x)
    return np.asarray(x >= _threshold(x))


def _threshold(x: Array) -> float:
    """Return the δ of the grid that balances the two parts and lies where few x are."""
    counts = count_below(x, _EDGES, _FROM)
    below = counts[_AT_GRID] / x.size
    # Thresholds with equal counts are common; the authors' order of operations decides between
    # them.
    near = (counts[_AT_HIGH] - counts[_AT_LOW]) / x.size / (_HIGH - _LOW)
    with np.errstate(divide="ignore"):
        cost = -np.log(below * (1 - below)) + np.exp(near)
    return float(_GRID[np.argmin(cost)])
