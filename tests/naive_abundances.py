"""Nonnegative least squares by trying every support: slow, and plain to read."""

from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np


def supports(r):
    return (list(F) for size in range(r + 1) for F in combinations(range(r), size))


def nnls(U, m):
    """The feasible least-squares solution with the smallest residual, of those on all supports."""
    r = U.shape[1]
    best, h_best = np.inf, None
    for F in supports(r):
        h = np.zeros(r)
        h[F] = np.linalg.lstsq(U[:, F], m, rcond=None)[0]
        residual = np.linalg.norm(m - U @ h)
        if h.min() >= 0 and residual < best:
            best, h_best = residual, h
    return h_best


def fcls(U, m):
    """The same with Σh = 1: the first endmember of a support takes what the others leave."""
    r = U.shape[1]
    best, h_best = np.inf, None
    for F in supports(r):
        if not F:
            continue
        first, *others = F
        h = np.zeros(r)
        h[others] = np.linalg.lstsq(U[:, others] - U[:, [first]], m - U[:, first], rcond=None)[0]
        h[first] = 1 - h[others].sum()
        residual = np.linalg.norm(m - U @ h)
        if h.min() >= 0 and residual < best:
            best, h_best = residual, h
    return h_best


def nnls_violation(U, M, H):
    """The largest violation of the optimality conditions, over ‖u_i‖ ‖m_j‖.

    These are g_i ≤ 0 and, where h_i > 0, g_i = 0, for the gradient g = Uᵀ(m − U h).
    """
    U, M, H = (array.astype(np.float64) for array in (U, M, H))
    G = U.T @ (M - U @ H)
    unit = np.outer(np.linalg.norm(U, axis=0), np.linalg.norm(M, axis=0))
    violation = np.where(H > 0, np.abs(G), np.maximum(G, 0.0))
    return np.divide(violation, unit, out=np.zeros_like(G), where=unit > 0).max()


def fcls_violation(U, M, H, at_most=False):
    """The same with Σh = 1, or at most 1: g_i ≤ λ and, where h_i > 0, g_i = λ.

    λ = gᵀh, and the unit is a (a + ‖m_j‖) with a = max ‖u_i‖.
    """
    if at_most:  # the slack is the abundance of the origin
        U = np.column_stack([U, np.zeros(len(U))])
        H = np.vstack([H, np.maximum(1 - H.sum(axis=0), 0.0)])
        H[-1, H[-1] < 1e-14] = 0.0
    G = U.T @ (M - U @ H)
    G -= (G * H).sum(axis=0)
    violation = np.where(H > 0, np.abs(G), np.maximum(G, 0.0)).max(axis=0)
    a = np.linalg.norm(U, axis=0).max()
    size = a * (a + np.linalg.norm(M, axis=0))
    return (violation / np.where(size > 0, size, 1.0)).max()


def exact_nnls(U, m, support):
    """The solution in sixty digits, from its support; an assertion tests the support."""
    with localcontext(prec=60):
        U, m = (np.vectorize(Decimal, otypes=[object])(array) for array in (U, m))
        h = np.full(U.shape[1], Decimal(0), dtype=object)
        h[support] = gauss(U[:, support].T @ U[:, support], U[:, support].T @ m)
        gradient = U.T @ (m - U @ h)
        assert all(h >= 0)
        assert all(np.delete(gradient, support) <= 0)
        return h.astype(np.float64)


def gauss(A, b):
    """Solve A x = b, A positive definite, by elimination."""
    A, b = A.copy(), b.copy()
    for t in range(len(b)):
        for i in range(t + 1, len(b)):
            factor = A[i, t] / A[t, t]
            A[i] -= factor * A[t]
            b[i] -= factor * b[t]
    for t in reversed(range(len(b))):
        b[t] = (b[t] - sum(A[t, t + 1 :] * b[t + 1 :])) / A[t, t]
    return b
