"""Model (6) with any of our losses, written out for cvxpy and solved by Clarabel."""

import cvxpy as cp
import numpy as np

from selfdict import Huber, Weighted


def solve(M, mu, p, w, s, loss, D=None, closed=()):
    """Return X and the optimal objective; D is a dictionary with gates, by default M."""
    m, n = M.shape
    A, v = (M, w) if D is None else (D, np.abs(D).sum(axis=0))
    X = cp.Variable((A.shape[1], n), nonneg=True)
    R = M - A @ X
    weight = np.broadcast_to(s, (m, n))
    if isinstance(loss, Huber):
        fit = 0.5 * cp.sum(cp.multiply(weight, cp.huber(R, loss.delta)))
    else:
        if isinstance(loss, Weighted):
            a = np.ones(m) if loss.band_variance is None else np.asarray(loss.band_variance)
            b = np.ones(n) if loss.pixel_variance is None else np.asarray(loss.pixel_variance)
            weight = weight / np.outer(a, b)
        fit = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(weight), R))
    gate = cp.diag(X) if D is None else cp.Variable(A.shape[1], nonneg=True)
    rows = cp.reshape(gate, (A.shape[1], 1), order="C") @ w[None, :]
    constraints = [gate <= 1, cp.multiply(np.tile(v[:, None], n), X) <= rows]
    if len(closed) > 0:
        constraints.append(X[np.asarray(closed)] == 0)
    program = cp.Problem(cp.Minimize(fit + mu * p @ gate), constraints)
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return X.value, program.value
