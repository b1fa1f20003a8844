"""Columns of dense and sparse matrices, and their norms."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.threads import for_slices
from selfdict.kernels.jit import jit, unsigned


def column_norms(M: Array, dtype: Any = None) -> Array:
    """Return w, the ℓ1 norms of the columns of M (m, n), in ``dtype``, by default that of M."""
    w = np.empty(M.shape[1], dtype=dtype or M.dtype)
    columns_per_block = 1 << 16
    for start in range(0, M.shape[1], columns_per_block):
        columns = slice(start, start + columns_per_block)
        part = abs(M[:, columns])
        if issparse(part):
            part = part.astype(np.float64)  # scipy would sum up in the precision of the data
        w[columns] = part.sum(axis=0, dtype=np.float64)
    return w


def squared_norms(M: Any) -> Array:
    """Return ‖m_j‖² of every column of M (m, n), summed in float64, in one pass over M."""
    if issparse(M):
        # An overflow gives infinity without a warning, as in the compiled loop.
        with np.errstate(over="ignore"):
            return np.asarray(M.astype(np.float64).power(2).sum(axis=0))
    M = np.asarray(M)
    out = np.zeros(M.shape[1])
    add_norms: Callable[[Array, Array, int, int], None] = _add_norms_of_columns
    if abs(M.strides[0]) < abs(M.strides[1]):
        add_norms = _add_norms_of_rows
        M = M.T

    def task(start: int, stop: int) -> None:
        add_norms(M, out, unsigned(start), unsigned(stop))

    # wide, because in a row-major matrix a narrow slice jumps to another memory page at every row
    columns_per_slice = 16384
    for_slices(task, out.size, columns_per_slice)
    return out


@jit
def _add_norms_of_rows(M: Array, out: Array, start: int, stop: int) -> None:
    """Add the squared norm of row j of M to ``out[j]`` for j in [start, stop)."""
    for j in range(start, stop):
        row = M[j]
        total = 0.0
        for i in range(row.size):
            a = np.float64(row[i])
            total += a * a
        out[j] += total


@jit
def _add_norms_of_columns(M: Array, out: Array, start: int, stop: int) -> None:
    """Add the squared norm of column j of M to ``out[j]`` for j in [start, stop)."""
    # Four rows at a time, so that ``out`` is read and written a quarter as often. The bounds must
    # be unsigned: LLVM vectorises the loops only without the test for negative indices.
    m = M.shape[0]
    quads = m - m % 4
    for i in range(0, quads, 4):
        for j in range(start, stop):
            a = np.float64(M[i, j])
            b = np.float64(M[i + 1, j])
            c = np.float64(M[i + 2, j])
            d = np.float64(M[i + 3, j])
            out[j] += a * a + b * b + c * c + d * d
    for i in range(quads, m):
        for j in range(start, stop):
            a = np.float64(M[i, j])
            out[j] += a * a


@jit
def subtract_squares(residuals: Array, slack: Array, change: Array, rounding: Array) -> None:
    """Subtract squares from residuals; each change is known up to ``rounding``."""
    for j in range(residuals.size):
        c = np.float64(change[j])
        residuals[j] -= c * c
        # |(c + δ)² − c²| ≤ ρ (2 |c| + ρ) for every |δ| ≤ ρ.
        slack[j] += rounding[j] * (2.0 * abs(c) + rounding[j])


def dense_columns(M: Any, index: Any) -> Array:
    """Return some columns of M as a dense array, whether M is sparse or not."""
    if issparse(M):
        dense: Array = M[:, index].toarray()
        return dense
    columns: Array = M[:, index]
    return columns
