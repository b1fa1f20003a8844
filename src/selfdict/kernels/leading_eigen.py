"""The two leading eigenpairs of a symmetric positive semidefinite matrix."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import inlined, jit

_FIRST_TEST = 9  # Lanczos steps before the first test of convergence
_TEST_INTERVAL = 3  # Lanczos steps between two tests: each decomposes the tridiagonal matrix
_MAX_LANCZOS_STEPS = 60  # beyond these a dense decomposition costs less


@jit
def leading_eigenpairs(G: Array) -> Array:
    """Return the two leading eigenpairs of G (m, m) ⪰ 0 as a (1 + m, 2) array.

    The first row holds the eigenvalues, in descending order, and the rows below it hold the
    eigenvectors as columns. If G has only one eigenvalue (m = 1), the second pair is zero.

    Lanczos steps with full reorthogonalisation, until both residuals ‖G u − λ u‖ are rounding
    errors of ‖G‖; a dense decomposition if that takes too many steps.
    """
    m = G.shape[0]
    pairs = np.zeros((1 + m, 2))
    steps = min(m, _MAX_LANCZOS_STEPS)
    V = np.empty((steps, m))
    T = np.zeros((steps, steps))
    for i in range(m):
        # The fractional parts of multiples of the golden ratio have no symmetry, which could make
        # the start orthogonal to a leading eigenvector.
        V[0, i] = 1.0 + (0.6180339887498949 * i) % 1.0
    V[0] /= np.sqrt(np.sum(V[0] * V[0]))
    w = np.empty(m)
    trace = np.trace(G)
    trace_left = trace
    next_test = _FIRST_TEST
    for j in range(steps):
        _multiply_and_orthogonalise(G, V, j, w, T)
        beta = np.sqrt(np.sum(w * w))
        size = j + 1
        trace_left -= T[j, j]
        # The Krylov space is exhausted. A multiple eigenvalue appears in it only once: if a part of
        # the trace is missing, such an eigenvalue may be the second one, and only the dense
        # decomposition finds it.
        exhausted = beta <= 1e-15 * trace
        if exhausted and trace_left > 1e-14 * trace:
            break
        if size in (next_test, m) or exhausted:
            next_test += _TEST_INTERVAL
            theta, S = np.linalg.eigh(T[:size, :size])
            last = size - 1
            second = max(last - 1, 0)
            # The residual of a Ritz pair is β times the last entry of its eigenvector of T.
            error = beta * max(abs(S[last, last]), abs(S[last, second]))
            if size == m or exhausted or error <= 1e-15 * theta[last]:
                _write_ritz_pairs(theta, S, V, size, pairs)
                return pairs
        if size < steps:
            T[j, size] = T[size, j] = beta
            V[size] = w / beta
    theta, S = np.linalg.eigh(G)
    for k in range(min(2, m)):
        pairs[0, k] = theta[m - 1 - k]
        pairs[1:, k] = S[:, m - 1 - k]
    return pairs


@inlined
def _multiply_and_orthogonalise(G: Array, V: Array, j: int, w: Array, T: Array) -> None:
    """Write G V[j] without its parts along V[:j + 1] into w; its part along V[j] joins T[j, j]."""
    m = G.shape[0]
    for i in range(m):
        total = 0.0
        for k in range(m):
            total += G[i, k] * V[j, k]
        w[i] = total
    for _ in range(2):  # a second time removes what rounding has left along V
        for t in range(j, -1, -1):
            overlap = 0.0
            for i in range(m):
                overlap += V[t, i] * w[i]
            for i in range(m):
                w[i] -= overlap * V[t, i]
            if t == j:
                T[j, j] += overlap


@inlined
def _write_ritz_pairs(theta: Array, S: Array, V: Array, size: int, pairs: Array) -> None:
    """Write the two leading Ritz pairs, with eigenvectors S of T and the Lanczos basis V."""
    m = V.shape[1]
    last = size - 1
    vectors = pairs[1:]
    for k in range(min(2, size)):
        pairs[0, k] = theta[last - k]
        for t in range(size):
            for i in range(m):
                vectors[i, k] += S[t, last - k] * V[t, i]
