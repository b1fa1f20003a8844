"""The triangular factor of a few columns, computed row by row, and solves with it.

L is the lower triangular factor of R_FᵀR_F for the columns F of a matrix R; ``inverse`` holds the
reciprocals of its diagonal.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import helper

# A column whose distance to the span of the free ones is below this, relative to its norm, cannot
# join them. The Gram form computes squared distances, and compares these with it.
_DEPENDENT_COLUMN = 1e-14


@helper
def cholesky_row(G: Array, free: Array, k: int, L: Array, inverse: Array) -> float:
    """Compute row k of the Cholesky factor, except its pivot, and return the pivot.

    Return 0 if the column depends on those before it.
    """
    j = free[k]
    square = G[j, j]
    for t in range(k):
        value = G[j, free[t]]
        for i in range(t):
            value -= L[k, i] * L[t, i]
        value *= inverse[t]
        L[k, t] = value
        square -= value * value
    if square > _DEPENDENT_COLUMN * G[j, j]:
        return float(np.sqrt(square))
    return 0.0


@helper
def orthogonal_row(Rt: Array, j: int, k: int, L: Array, Q: Array) -> float:
    """Compute row k of L, except its pivot, and of Q from row j of Rt, and return the pivot.

    Return 0 if row j depends on those before it.
    """
    q = Rt.shape[1]
    norm = 0.0
    for i in range(q):
        Q[k, i] = Rt[j, i]
        norm += Rt[j, i] * Rt[j, i]
    for t in range(k):
        L[k, t] = 0.0
    for _ in range(2):  # once would leave Q as far from orthogonal as R is ill-conditioned
        for t in range(k):
            value = 0.0
            for i in range(q):
                value += Q[t, i] * Q[k, i]
            for i in range(q):
                Q[k, i] -= value * Q[t, i]
            L[k, t] += value
    square = 0.0
    for i in range(q):
        square += Q[k, i] * Q[k, i]
    if not square > _DEPENDENT_COLUMN * _DEPENDENT_COLUMN * norm:
        return 0.0
    pivot = np.sqrt(square)
    for i in range(q):
        Q[k, i] /= pivot
    return float(pivot)


@helper
def forward(L: Array, inverse: Array, k: int, b: Array) -> None:
    """Replace b[:k] by L⁻¹ b."""
    for t in range(k):
        value = b[t]
        for i in range(t):
            value -= L[t, i] * b[i]
        b[t] = value * inverse[t]


@helper
def backward(L: Array, inverse: Array, k: int, b: Array) -> None:
    """Replace b[:k] by L⁻ᵀ b."""
    for t in range(k - 1, -1, -1):
        value = b[t] * inverse[t]
        b[t] = value
        for i in range(t):
            b[i] -= L[t, i] * value
