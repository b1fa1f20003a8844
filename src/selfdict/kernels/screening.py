"""The screening pass: positive parts of products, summed along the rows while they are still in cache.

With many features BLAS multiplies a tile and :func:`add_positive_sums` reduces it. With few, moving
the tile would cost more than its products: :func:`add_positive_products` multiplies and reduces in
registers and the first cache.
"""

from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit

BLOCK = 256  # columns: twelve rows of a block and two of sums fill the first cache


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


@jit
def add_positive_differences(K: Array, V: Array, weight: Array, out: Array) -> None:
    """Add Σ_j ω_j max(0, K_ij − V_ij) to ``out[i]``."""
    zero = V.dtype.type(0)
    for i in range(V.shape[0]):
        k, v = K[i], V[i]
        total = zero
        for j in range(v.shape[0]):
            total += weight[j] * max(k[j] - v[j], zero)
        out[i] += total


def pack(theta: Array, dtype: type[np.floating[Any]]) -> Array:
    """Return θ (q, l) as blocks of columns (⌈l/BLOCK⌉, q', BLOCK), with zeros up to an even q' ≥ 6."""
    q, columns = theta.shape
    shape = -(-columns // BLOCK), max(6, q + q % 2), BLOCK
    size, line = int(np.prod(shape)), 64 // np.dtype(dtype).itemsize
    memory = np.zeros(size + line, dtype)
    start = (
        -(memory.ctypes.data // memory.itemsize) % line
    )  # vectors across two cache lines take two loads each
    packed = memory[start : start + size].reshape(shape)
    for b in range(shape[0]):
        block = theta[:, b * BLOCK : (b + 1) * BLOCK]
        packed[b, :q, : block.shape[1]] = block
    return packed


@jit
def add_positive_products(left: Array, packed: Array, out: Array) -> None:
    """Add Σ_j max(0, (left θ)_ij) to ``out[i]``, for ``left`` (2k, q') and θ as :func:`pack` returns it.

    Two rows at a time, so that each number loaded serves two products, and four products between a
    load and a store of the sums; the last four are added up at once.
    """
    q = packed.shape[1]
    zero = packed.dtype.type(0)
    u, v = np.empty(BLOCK, packed.dtype), np.empty(BLOCK, packed.dtype)
    for b in range(packed.shape[0]):
        theta = packed[b]
        for i in range(0, left.shape[0], 2):
            x, y = left[i], left[i + 1]
            t0, t1, x0, x1, y0, y1 = theta[0], theta[1], x[0], x[1], y[0], y[1]
            if q % 4:
                for j in range(BLOCK):
                    u[j] = x0 * t0[j] + x1 * t1[j]
                    v[j] = y0 * t0[j] + y1 * t1[j]
            else:
                t2, t3, x2, x3, y2, y3 = theta[2], theta[3], x[2], x[3], y[2], y[3]
                for j in range(BLOCK):
                    u[j] = x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j]
                    v[j] = y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j]
            for k in range(2 if q % 4 else 4, q - 4, 4):
                t0, t1, t2, t3 = theta[k], theta[k + 1], theta[k + 2], theta[k + 3]
                x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
                y0, y1, y2, y3 = y[k], y[k + 1], y[k + 2], y[k + 3]
                for j in range(BLOCK):
                    u[j] += x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j]
                    v[j] += y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j]
            t0, t1, t2, t3 = theta[q - 4], theta[q - 3], theta[q - 2], theta[q - 1]
            x0, x1, x2, x3 = x[q - 4], x[q - 3], x[q - 2], x[q - 1]
            y0, y1, y2, y3 = y[q - 4], y[q - 3], y[q - 2], y[q - 1]
            total_x = total_y = zero
            for j in range(BLOCK):
                total_x += max(u[j] + x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j], zero)
                total_y += max(v[j] + y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j], zero)
            out[i] += total_x
            out[i + 1] += total_y
