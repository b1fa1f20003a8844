"""How H2NMF divides a set of columns in two: rank-two NMF, then a threshold on the shares."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.rank_two import count_below, extreme_pair, project, shares
from selfdict.kernels.threads import for_slices
from selfdict.select._columns import TIE, sum_slices
from selfdict.select.leaf_columns import SLICE, LeafColumns

_GRID = 0.01 * np.arange(101)
_LOW, _HIGH = np.maximum(_GRID - 0.05, 0.0), np.minimum(_GRID + 0.05, 1.0)
_BELOW_LOW = np.nextafter(_LOW, -1.0)  # x < low is x ≤ the next smaller number
_EDGES = np.unique(np.concatenate([_GRID, _HIGH, _BELOW_LOW]))
_FROM = np.searchsorted(_EDGES, _GRID - 1e-9)  # the first edge beside each value of the grid
_AT_GRID, _AT_HIGH, _AT_LOW = (np.searchsorted(_EDGES, values) for values in (_GRID, _HIGH, _BELOW_LOW))


def gram(columns: LeafColumns) -> Array:
    """Return A Aᵀ (m, m) for the columns A, a block of them at a time."""

    def product(start: int, stop: int) -> Array:
        rows = np.asarray(columns.rows(start, stop), dtype=np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite will be an error, not a warning
            return np.asarray(rows.T @ rows)

    # Wide slices are quicker, but a small leaf too should keep several threads busy.
    size = columns.indices.size
    return sum_slices(product, size, min(max(-(-size // 8), 1024), 4096))


def products(columns: LeafColumns, U: Array) -> Array:
    """Return u₁ᵀa, u₂ᵀa and aᵀa as the rows of a (3, k) array, for all columns a; U is (m, 2)."""
    vectors = np.ascontiguousarray(U.T)
    out = np.empty((3, columns.indices.size))
    for_slices(lambda a, b: project(columns.rows(a, b), vectors, out[:, a:b]), columns.indices.size, SLICE)
    return out


def first_part(columns: LeafColumns, U: Array) -> Array:
    """Say which columns go to the first part; U (m, 2) holds their two leading left singular vectors."""
    Z = products(columns, U)
    pair = Z[:2, extreme_pair(Z, TIE)]
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
    # Thresholds with equal counts are common; the authors' order of operations decides between them.
    near = (counts[_AT_HIGH] - counts[_AT_LOW]) / x.size / (_HIGH - _LOW)
    with np.errstate(divide="ignore"):
        cost = -np.log(below * (1 - below)) + np.exp(near)
    return float(_GRID[np.argmin(cost)])
