"""Which rows of X should open: their scores, in tiles, for any rows and any columns.

With the residual R = M − M X and θ_j = s_j r_j, row i may stay zero if and only if

    σ_i = m_iᵀθ_i + Σ_{j≠i} (w_j/w_i) max(0, m_iᵀθ_j) ≤ μ p_i.

With rows and columns scaled to w = 1 this is a plain sum of positive parts, apart from the own
column; atoms of another dictionary have no own column. The sum is taken tile by tile, while a tile
is still in the cache of the core that multiplied it. Where M has few rows, one kernel multiplies
and sums without storing the tiles.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.compute.device import Device
from selfdict.compute.threads import even_slices, for_slices, single_threaded_blas
from selfdict.kernels.screening import (
    add_positive_products,
    add_positive_sums,
    pack,
)

TILE_ROWS = 256
FEWEST_TILE_ROWS = 32
TILE_COLUMNS = 1024
# features up to which BLAS would spend more time on storing the products than on taking them
FUSED_FEATURES = 32

# of θ, the rows to score (None: all), and the dtype of the product
PositiveSums = Callable[[Array, Array | None, Any], Array]


def summation_depth(n: int, device: Device) -> int:
    """Return how many additions a score over n columns has gone through, at most."""
    if device is not None:
        return n  # in whatever order the device takes
    # tiles of at most TILE_COLUMNS, or of 256 columns for few features, and then their sums
    return TILE_COLUMNS + n // 256


def screener(D: Array, v: Array, device: Device) -> PositiveSums:
    """Return :func:`positive_sums` for some atoms and weights, on the CPU or on a device."""
    if device is None:
        return partial(positive_sums, D, v)
    from selfdict.gpu.screening import Screen

    return Screen(D, v, device).positive_sums


def positive_sums(D: Array, v: Array, theta: Array, rows: Array | None, dtype: Any) -> Array:
    """Return Σ_j max(0, (d_i/v_i)ᵀθ_j) for the rows i.

    D is (m, d), θ is (m, l). The product is taken in ``dtype``, the sum in float64.
    """
    count = D.shape[1]
    if rows is not None:
        count = len(rows)
    unit = 1.0
    if dtype == np.float32:
        # far from overflow, whatever the unit of M
        unit = float(np.abs(theta).max(initial=0.0)) or 1.0
        theta = (theta / unit).astype(np.float32)
    sums = np.zeros(count)
    if len(D) <= FUSED_FEATURES:
        _fused_sums(D, v, theta, rows, sums, dtype)
        return unit * sums

    def task(start: int, stop: int) -> None:
        index = _part(rows, start, stop)
        left = np.ascontiguousarray((D[:, index] / v[index]).T, dtype=dtype)
        buffer = np.empty((stop - start) * min(TILE_COLUMNS, theta.shape[1]), dtype)
        for first in range(0, theta.shape[1], TILE_COLUMNS):
            right = theta[:, first : first + TILE_COLUMNS]
            tile = buffer[: len(left) * right.shape[1]].reshape(len(left), -1)
            np.matmul(left, right, out=tile)
            add_positive_sums(tile, sums[start:stop])

    # one thread per tile: BLAS would make every small product wait for all threads
    with single_threaded_blas():
        for_slices(task, count, even_slices(count, TILE_ROWS, FEWEST_TILE_ROWS))
    return unit * sums


def _fused_sums(
    D: Array, v: Array, theta: Array, rows: Array | None, sums: Array, dtype: Any
) -> None:
    """Fill ``sums`` with the positive sums of :func:`positive_sums`, for few features."""
    packed = pack(theta, dtype)

    def task(start: int, stop: int) -> None:
        index = _part(rows, start, stop)
        count = stop - start
        even = count + count % 2  # the kernel takes two rows at a time
        left = np.zeros((even, packed.shape[1]), dtype)
        left[:count, : len(D)] = (D[:, index] / v[index]).T
        out = np.zeros(even)
        add_positive_products(left, packed, out)
        sums[start:stop] = out[:count]

    for_slices(task, len(sums), even_slices(len(sums), TILE_ROWS, FEWEST_TILE_ROWS))


def _part(rows: Array | None, start: int, stop: int) -> slice | Array:
    """Return an index of the rows start to stop; a slice, if all rows are meant, copies nothing."""
    if rows is None:
        return slice(start, stop)
    return rows[start:stop]
