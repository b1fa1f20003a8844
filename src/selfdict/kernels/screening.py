"""The screening pass: positive parts of products, summed along the rows while they are in cache.

With many features BLAS multiplies a tile and :func:`add_positive_sums` reduces it. With few, moving
the tile would cost more than its products: :func:`add_positive_products` multiplies and reduces in
registers and the first-level cache.
"""

from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import aligned_zeros, inlined, jit

# Columns of a packed block: twelve rows of a block and two of sums fill the first-level cache.
_PACKED_COLUMNS = 256


@jit
def add_positive_sums(V: Array, out: Array) -> None:
    """Add Σ_j max(0, V_ij) to ``out[i]``."""
    zero = V.dtype.type(0)
    for i in range(V.shape[0]):
        v = V[i]
        total = zero
        for j in range(v.shape[0]):
            total += max(v[j], zero)
        out[i] += total


def pack(theta: Array, dtype: type[np.floating[Any]]) -> Array:
    """Return θ (q, l) as blocks of b columns, (⌈l/b⌉, q', b) with an even q' ≥ 6."""
    q, n_columns = theta.shape
    n_blocks = -(-n_columns // _PACKED_COLUMNS)
    depth = max(6, q + q % 2)
    # Aligned: a vector across two cache lines would take two loads.
    rows = aligned_zeros(n_blocks * depth, _PACKED_COLUMNS, dtype)
    packed = rows.reshape(n_blocks, depth, _PACKED_COLUMNS)
    for b in range(n_blocks):
        block = theta[:, b * _PACKED_COLUMNS : (b + 1) * _PACKED_COLUMNS]
        packed[b, :q, : block.shape[1]] = block
    return packed


def add_positive_products(left: Array, packed: Array, out: Array) -> None:
    """Add Σ_j max(0, (left θ)_ij) to ``out[i]`` for ``left`` (2k, q') and a packed θ."""
    u = np.empty(_PACKED_COLUMNS, packed.dtype)
    v = np.empty(_PACKED_COLUMNS, packed.dtype)
    _add_positive_products(left, packed, u, v, out)


@jit
def _add_positive_products(left: Array, packed: Array, u: Array, v: Array, out: Array) -> None:
    """Do the work of :func:`add_positive_products` in memory for the products of two rows."""
    # Two rows at a time, so that each number loaded serves two products, and four products between
    # a load and a store of the sums; the last four are added up at once.
    q = packed.shape[1]
    zero = packed.dtype.type(0)
    for b in range(packed.shape[0]):
        theta = packed[b]
        for i in range(0, left.shape[0], 2):
            x = left[i]
            y = left[i + 1]
            if q % 4:  # two products at first leave a multiple of four, since q is even
                t0, t1 = _two(theta, 0)
                x0, x1 = _two(x, 0)
                y0, y1 = _two(y, 0)
                for j in range(_PACKED_COLUMNS):
                    u[j] = x0 * t0[j] + x1 * t1[j]
                    v[j] = y0 * t0[j] + y1 * t1[j]
            else:
                t0, t1, t2, t3 = _four(theta, 0)
                x0, x1, x2, x3 = _four(x, 0)
                y0, y1, y2, y3 = _four(y, 0)
                for j in range(_PACKED_COLUMNS):
                    u[j] = x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j]
                    v[j] = y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j]
            for k in range(2 if q % 4 else 4, q - 4, 4):
                t0, t1, t2, t3 = _four(theta, k)
                x0, x1, x2, x3 = _four(x, k)
                y0, y1, y2, y3 = _four(y, k)
                for j in range(_PACKED_COLUMNS):
                    u[j] += x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j]
                    v[j] += y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j]
            t0, t1, t2, t3 = _four(theta, q - 4)
            x0, x1, x2, x3 = _four(x, q - 4)
            y0, y1, y2, y3 = _four(y, q - 4)
            total_x = total_y = zero
            for j in range(_PACKED_COLUMNS):
                total_x += max(u[j] + x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j], zero)
                total_y += max(v[j] + y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j], zero)
            out[i] += total_x
            out[i + 1] += total_y


@inlined
def _two(a: Array, k: int) -> tuple[Any, Any]:
    """Return the entries k and k + 1 of a vector, or rows of a matrix."""
    return a[k], a[k + 1]


@inlined
def _four(a: Array, k: int) -> tuple[Any, Any, Any, Any]:
    """Return the entries k to k + 3 of a vector, or rows of a matrix."""
    return a[k], a[k + 1], a[k + 2], a[k + 3]


@jit
def add_gram_rows(
    pointers: Array,
    features: Array,
    values: Array,
    row_pointers: Array,
    points: Array,
    entries: Array,
    rows: Array,
    scale: Array,
    out: Array,
) -> None:
    """Add scale_i m_iᵀY to ``out[i]`` for the columns i = ``rows`` of M."""
    # M is in CSC form (pointers, features, values), Y in CSR form (row_pointers, points, entries):
    # each feature of m_i adds a multiple of the row of Y that belongs to it.
    for a in range(len(rows)):
        i = rows[a]
        products = out[a]
        for k in range(pointers[i], pointers[i + 1]):
            factor = scale[a] * values[k]
            feature = features[k]
            for e in range(row_pointers[feature], row_pointers[feature + 1]):
                products[points[e]] += factor * entries[e]
