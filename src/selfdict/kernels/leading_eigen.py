"""The two leading eigenpairs of a symmetric positive semidefinite matrix."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit

_FIRST_LOOK = 9  # Lanczos steps before the first test of convergence
_NEXT_LOOK = 3
_MAX_STEPS = 60  # then a dense decomposition is the cheaper way


@jit
def leading_eigenpairs(G: Array) -> Array:
    """Return the two largest eigenvalues, descending, and below them their eigenvectors, (1 + m, 2), of G (m, m) ⪰ 0.

    Lanczos steps with full reorthogonalisation, until both residuals ‖G u − λ u‖ are rounding
    errors of ‖G‖; a dense decomposition where that takes too long. Where there is only one
    eigenvalue, the second pair is zero.
    """
    m = G.shape[0]
    pairs = np.zeros((1 + m, 2))
    values, vectors = pairs[0], pairs[1:]
    steps = min(m, _MAX_STEPS)
    V = np.empty((steps, m))
    T = np.zeros((steps, steps))
    for i in range(m):  # any vector without symmetry
        V[0, i] = 1.0 + (0.6180339887498949 * i) % 1.0
    V[0] /= np.sqrt(np.sum(V[0] * V[0]))
    w = np.empty(m)
    trace = trace_left = np.trace(G)
    look = _FIRST_LOOK
    for j in range(steps):
        for i in range(m):
            total = 0.0
            for k in range(m):
                total += G[i, k] * V[j, k]
            w[i] = total
        for _ in range(2):
            for t in range(j, -1, -1):
                overlap = 0.0
                for i in range(m):
                    overlap += V[t, i] * w[i]
                for i in range(m):
                    w[i] -= overlap * V[t, i]
                if t == j:
                    T[j, j] += overlap
        beta = np.sqrt(np.sum(w * w))
        size = j + 1
        trace_left -= T[j, j]
        # The Krylov space is exhausted; a multiple eigenvalue shows in it only once.
        exhausted = beta <= 1e-15 * trace
        if exhausted and trace_left > 1e-14 * trace:
            break
        if size in (look, m) or exhausted:
            look += _NEXT_LOOK
            theta, S = np.linalg.eigh(T[:size, :size])
            last = size - 1
            second = max(last - 1, 0)
            error = beta * max(abs(S[last, last]), abs(S[last, second]))
            if size == m or exhausted or error <= 1e-15 * theta[last]:
                for k in range(min(2, size)):
                    values[k] = theta[last - k]
                    for t in range(size):
                        for i in range(m):
                            vectors[i, k] += S[t, last - k] * V[t, i]
                return pairs
        if size < steps:
            T[j, size] = T[size, j] = beta
            V[size] = w / beta
    theta, S = np.linalg.eigh(G)
    for k in range(min(2, m)):
        values[k] = theta[m - 1 - k]
        vectors[:, k] = S[:, m - 1 - k]
    return pairs
