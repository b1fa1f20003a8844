"""Slow reference implementations of the kernels, to be checked by eye against the paper."""

import heapq
from itertools import product

import numpy as np


def project_row_heap(x, w, i, upper=1.0):
    """Algorithm 2 with its heap, as the paper means it: break points from the largest down."""
    n = len(x)
    z = np.zeros(n)
    if w[i] == 0:
        return z
    others = [j for j in range(n) if j != i and w[j] > 0 and x[j] > 0]
    lowest = min(upper, max(0.0, x[i]))
    b = {j: w[i] / w[j] * x[j] for j in others}
    active = [j for j in others if b[j] > upper]
    p = w[i] * x[i] + sum(w[j] * x[j] for j in active)
    q = w[i] ** 2 + sum(w[j] ** 2 for j in active)
    t = w[i] * p / q
    heap = [(-b[j], j) for j in others if lowest <= b[j] <= upper]
    heapq.heapify(heap)
    while heap and t < -heap[0][0]:
        _, j = heapq.heappop(heap)
        active.append(j)
        p += w[j] * x[j]
        q += w[j] ** 2
        t = w[i] * p / q
    t = min(upper, max(0.0, t))
    for j in others:
        z[j] = x[j]
    for j in active:
        z[j] = t * w[j] / w[i]
    z[i] = t
    return z


def project_omega(X, w, upper=1.0):
    """Project a whole n×n matrix, row by row."""
    return np.array([project_row_heap(X[i], w, i, upper) for i in range(len(X))])


def row_scores(atoms, theta, w, v=None):
    """σ_i(θ) of the dual bound, from the whole of V = Dᵀθ; without v the atoms are the points."""
    V = atoms.T @ theta
    scores = np.zeros(len(V))
    for i, length in enumerate(w if v is None else v):
        if length > 0:
            counted = np.maximum(V[i], 0.0)
            if v is None:
                counted[i] = V[i, i]
            scores[i] = w @ counted / length
    return scores


def bounded_least_squares(G, c, t, own):
    """Minimise ½zᵀGz − cᵀz over 0 ≤ z ≤ t, z_own = t_own, by trying every choice of bounds.

    Returns z and the set of free entries and of those at their gate.
    """
    k = len(t)
    best, answer = np.inf, None
    for choice in product((0, 1, 2), repeat=k):  # at zero, free, at the gate
        if own >= 0 and choice[own] != 2:
            continue
        free = [i for i in range(k) if choice[i] == 1]
        gate = [i for i in range(k) if choice[i] == 2]
        z = np.where(np.array(choice) == 2, t, 0.0)
        if free:
            z[free] = np.linalg.lstsq(
                G[np.ix_(free, free)], c[free] - G[np.ix_(free, gate)] @ t[gate], rcond=None
            )[0]
        value = 0.5 * z @ G @ z - c @ z
        if (z >= -1e-12).all() and (z <= t + 1e-12).all() and value < best - 1e-14:
            best, answer = value, (z, free, gate)
    return answer


def fit_columns(G, C, weight, t, own):
    """Σ_j ω_j (φ_j(t) − ½‖y_j‖²), its gradient and its Hessian, by the formulas; all gates open."""
    value, gradient, hessian = 0.0, np.zeros(len(t)), np.zeros((len(t), len(t)))
    for j in range(len(C)):
        z, F, U = bounded_least_squares(G, C[j], t, own[j])
        value += weight[j] * (0.5 * z @ G @ z - C[j] @ z)
        gradient[U] -= weight[j] * (C[j] - G @ z)[U]
        schur = G[np.ix_(U, U)] - G[np.ix_(U, F)] @ np.linalg.solve(
            G[np.ix_(F, F)], G[np.ix_(F, U)]
        )
        hessian[np.ix_(U, U)] += weight[j] * schur
    return value, gradient, hessian
