"""Squared Euclidean norms of the columns of a matrix."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.threads import for_slices
from selfdict.kernels.jit import jit

# Wide slices: with rows in one piece, a narrow slice jumps to another memory page at every step.
_SLICE = 16384


def squared_norms(M: Any) -> Array:
    """Return ‖m_j‖² of every column of M (m, n), summed in float64, in one pass over M."""
    if issparse(M):
        with np.errstate(over="ignore"):  # as in the compiled loop
            return np.asarray(M.astype(np.float64).power(2).sum(axis=0))
    M = np.asarray(M)
    out = np.zeros(M.shape[1])
    for_slices(lambda start, stop: add_squared_norms(M, out, start, stop), M.shape[1], _SLICE)
    return out


@jit
def add_squared_norms(M: Array, out: Array, start: int, stop: int) -> None:
    """Add ‖m_j‖² to ``out[j]`` for the columns j in [start, stop)."""
    m = M.shape[0]
    if abs(M.strides[0]) < abs(M.strides[1]):  # columns lie in one piece: a sum each
        for j in range(start, stop):
            total = 0.0
            for i in range(m):
                a = np.float64(M[i, j])
                total += a * a
            out[j] += total
        return
    # Rows lie in one piece: four of them at a time, so that ``out`` is read and written a quarter
    # as often. Loops over views of the slice, from 0, become vector instructions.
    sums = out[start:stop]
    quads = m - m % 4
    for i in range(0, quads, 4):
        first, second = M[i, start:stop], M[i + 1, start:stop]
        third, fourth = M[i + 2, start:stop], M[i + 3, start:stop]
        for j in range(sums.size):
            a, b = np.float64(first[j]), np.float64(second[j])
            c, d = np.float64(third[j]), np.float64(fourth[j])
            sums[j] += a * a + b * b + c * c + d * d
    for i in range(quads, m):
        row = M[i, start:stop]
        for j in range(sums.size):
            a = np.float64(row[j])
            sums[j] += a * a
