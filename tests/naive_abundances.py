"""Nonnegative least squares by trying every support: slow, and plain to read."""

from itertools import combinations

import numpy as np


def supports(r):
    return (list(F) for size in range(r + 1) for F in combinations(range(r), size))


def nnls(U, m):
    """Of the least-squares solutions on all supports, the feasible one with the smallest residual."""
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
