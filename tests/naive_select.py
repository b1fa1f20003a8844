"""Slow, readable twins of the selection methods: explicit residuals, plain loops, dense linear algebra."""

import numpy as np


def first_largest(residuals, norms):
    tied = [j for j in range(len(norms)) if residuals[j] >= (1 - 1e-6) * max(residuals)]
    return max(tied, key=lambda j: (norms[j], -j))


def spa(M, r):
    R = M.astype(np.float64)
    norms = [float(m @ m) for m in R.T]
    selected = []
    for _ in range(r):
        k = first_largest([float(residual @ residual) for residual in R.T], norms)
        selected.append(k)
        u = R[:, k] / np.linalg.norm(R[:, k])
        R = R - np.outer(u, u @ R)
    return selected
