"""Slow reference implementations of the kernels of the working-set solver."""

from itertools import product

import numpy as np


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


def scores(M, w, theta):
    """σ_i = V_ii + Σ_{j≠i} (w_j/w_i) max(0, V_ij) from the whole of V = Mᵀθ."""
    V = M.T @ theta
    n = M.shape[1]
    return [
        sum(V[i, i] if i == j else w[j] / w[i] * max(0.0, V[i, j]) for j in range(n))
        for i in range(n)
    ]
