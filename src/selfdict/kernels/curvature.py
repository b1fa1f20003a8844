"""The second derivatives of the fit by the gates, from where the entries of the columns are.

The notation is that of :mod:`selfdict.kernels.gates`.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.factors import factor_row
from selfdict.kernels.gates import FREE, GATE
from selfdict.kernels.jit import inlined, jit_without_allocation


def curvature(G: Array, weight: Array, state: Array, start: int, stop: int) -> Array:
    """Return the Hessian (k, k) of the value of ``fit_columns``, from where the entries are."""
    k = G.shape[0]
    hessian = np.zeros((k, k))
    vectors = np.empty((2 * k + 5, k + 3))
    entries = np.empty((2, k + 1), np.uintp)
    _add_curvature(G, weight, state, start, stop, vectors, entries, hessian)
    return hessian + np.tril(hessian, -1).T


@jit_without_allocation
def _add_curvature(
    G: Array,
    weight: Array,
    state: Array,
    start: int,
    stop: int,
    vectors: Array,
    entries: Array,
    hessian: Array,
) -> None:
    """Add the lower triangle of the Hessian to ``hessian``, in memory of :func:`curvature`."""
    # G_UF G_FF⁻¹ G_FU is Yᵀ diag(1/d) Y with Y = L⁻¹ G_FU. Four rows of Y at a time, so that each
    # sum is read and written a quarter as often.
    k = G.shape[0]
    L = vectors[:k]
    Y = vectors[k : 2 * k + 3]
    r = vectors[2 * k + 3]
    inverse = vectors[2 * k + 4]
    free = entries[0]
    gate = entries[1]
    for j in range(start, stop):
        q = p = 0
        for i in range(k):  # write before the test: no branch, and an entry too many is overwritten
            free[q] = gate[p] = i
            q += state[j, i] == FREE
            p += state[j, i] == GATE
        for a in range(q):
            factor_row(G, free, a, L, inverse)
        for e in range(q):
            row = G[free[e]]
            y = Y[e]
            for a in range(p):
                y[a] = row[gate[a]]
            for d in range(e):
                v = L[e, d]
                other = Y[d]
                for a in range(p):
                    y[a] -= v * other[a]
        for e in range(q, q + 3):  # up to three rows beyond F, in fours
            inverse[e] = 0.0
            for a in range(p):
                Y[e, a] = 0.0
        for a in range(p):
            row = G[gate[a]]
            for b in range(a + 1):
                r[b] = row[gate[b]]
            for e in range(0, q, 4):
                y0, y1, y2, y3 = _four_rows(Y, e)
                v0 = y0[a] * inverse[e]
                v1 = y1[a] * inverse[e + 1]
                v2 = y2[a] * inverse[e + 2]
                v3 = y3[a] * inverse[e + 3]
                for b in range(a + 1):
                    r[b] -= v0 * y0[b] + v1 * y1[b] + v2 * y2[b] + v3 * y3[b]
            target = hessian[gate[a]]
            for b in range(a + 1):
                target[gate[b]] += weight[j] * r[b]


@inlined
def _four_rows(Y: Array, e: int) -> tuple[Array, Array, Array, Array]:
    """Return the rows e to e + 3 of Y."""
    return Y[e], Y[e + 1], Y[e + 2], Y[e + 3]
