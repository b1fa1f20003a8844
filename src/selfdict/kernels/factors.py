"""Triangular factors of a few columns, computed row by row, and solves with them.

The columns F are listed in ``free``. L Lᵀ = R_FᵀR_F serves the active sets of least squares, and
``inverse`` holds the reciprocals of its diagonal. L diag(d) Lᵀ = G_FF serves the gates, and
``inverse`` holds 1/d.
"""

import numpy as np
from numpy.typing import DTypeLike

from selfdict._validation import Array
from selfdict.kernels.jit import helper

# A column whose distance to the span of the free ones is below this, relative to its norm, cannot
# join them. The Gram form computes squared distances, and compares these with it.
_DEPENDENT_COLUMN = 1e-14
# An atom whose squared distance to the span of the free ones is below this, relative to its squared
# norm, cannot join them.
_DEPENDENT_ATOM = 1e-13


def aligned_zeros(n_rows: int, length: int, dtype: DTypeLike = np.float64) -> Array:
    """Return rows of at least ``length`` zeros, each up to the end of a cache line."""
    line = 64 // np.dtype(dtype).itemsize
    width = -(-length // line) * line
    memory = np.zeros(n_rows * width + line, dtype)
    start = -(memory.ctypes.data // memory.itemsize) % line
    return memory[start : start + n_rows * width].reshape((n_rows, width))


@helper
def cholesky_row(G: Array, free: Array, k: int, L: Array, inverse: Array) -> float:
    """Compute row k of L but its pivot, which is returned; 0 for a dependent column."""
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
    """Compute row k of Q, and of L but its pivot, which is returned; 0 for a dependent column."""
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
def affine(A: Array, y: Array, b: Array, out: Array) -> float:
    """Write A y + b into ``out`` and return its smallest entry."""
    smallest = np.inf
    for i in range(A.shape[0]):
        value = b[i]
        for j in range(A.shape[1]):
            value += A[i, j] * y[j]
        out[i] = value
        smallest = min(smallest, value)
    return smallest


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


@helper
def subtract_rows(G: Array, index: Array, v: Array, count: int, r: Array) -> None:
    """Subtract Σ_a v_a G[index_a], a < count, from r."""
    for a in range(count):
        row = G[index[a]]
        x = v[a]
        for e in range(G.shape[1]):
            r[e] -= x * row[e]


@helper
def subtract_row(G: Array, i: int, v: float, r: Array) -> None:
    """Subtract v G[i] from r."""
    row = G[i]
    for e in range(r.shape[0]):
        r[e] -= v * row[e]


@helper
def factor_row(G: Array, free: Array, a: int, L: Array, inverse: Array) -> bool:
    """Compute row a of the factors L diag(d) Lᵀ of G_FF; return False for a dependent atom."""
    row = G[free[a]]
    new = L[a]
    for b in range(a):
        v = row[free[b]]
        old = L[b]
        for e in range(b):
            v -= new[e] * old[e]
        new[b] = v
    d = row[free[a]]
    for b in range(a):
        v = new[b] * inverse[b]
        d -= v * new[b]
        new[b] = v
    if not d > _DEPENDENT_ATOM * row[free[a]]:
        return False
    inverse[a] = 1.0 / d
    return True


@helper
def solve_factored(L: Array, inverse: Array, free: Array, q: int, r: Array, s: Array) -> None:
    """Solve L diag(d) Lᵀ s = r_F."""
    for a in range(q):
        v = r[free[a]]
        row = L[a]
        for e in range(a):
            v -= row[e] * s[e]
        s[a] = v
    for a in range(q):
        s[a] *= inverse[a]
    for a in range(q - 1, 0, -1):
        v = s[a]
        row = L[a]
        for e in range(a):
            s[e] -= row[e] * v
