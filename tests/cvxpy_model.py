"""Model (6) with any of our losses, written out for cvxpy and solved by Clarabel: the independent check."""

import cvxpy as cp
import numpy as np

from selfdict import Huber, PseudoHuber, Weighted


def solve(M, mu, p, w, s, loss):
    """Return X and the optimal objective."""
    m, n = M.shape
    X = cp.Variable((n, n), nonneg=True)
    R = M - M @ X
    weight = np.broadcast_to(s, (m, n))
    if isinstance(loss, Huber):
        fit = 0.5 * cp.sum(cp.multiply(weight, cp.huber(R, loss.delta)))
    elif isinstance(loss, PseudoHuber):  # δ²(√(1 + (r/δ)²) − 1) = δ ‖(δ, r)‖₂ − δ²
        pairs = cp.vstack([np.full(m * n, loss.delta), cp.vec(R, order="C")])
        fit = loss.delta * (weight.ravel() @ (cp.norm(pairs, 2, axis=0) - loss.delta))
    else:
        if isinstance(loss, Weighted):
            a = np.ones(m) if loss.band_variance is None else np.asarray(loss.band_variance)
            b = np.ones(n) if loss.pixel_variance is None else np.asarray(loss.pixel_variance)
            weight = weight / np.outer(a, b)
        fit = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(weight), R))
    gate = cp.diag(X)
    constraints = [
        gate <= 1,
        cp.multiply(np.tile(w[:, None], n), X) <= cp.reshape(gate, (n, 1), order="C") @ w[None, :],
    ]
    program = cp.Problem(cp.Minimize(fit + mu * p @ gate), constraints)
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return X.value, program.value
