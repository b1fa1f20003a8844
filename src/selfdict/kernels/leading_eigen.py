"""The two leading eigenpairs of a symmetric positive semidefinite matrix."""

import numpy as np
from scipy.linalg.lapack import dstev

from selfdict._validation import Array
from selfdict.kernels.jit import jit_without_allocation

_FIRST_TEST = 9  # Lanczos steps before the first test of convergence
_TEST_INTERVAL = 3  # Lanczos steps between two tests: each decomposes the tridiagonal matrix
_MAX_LANCZOS_STEPS = 60  # beyond these a dense decomposition costs less


def leading_eigenpairs(G: Array) -> Array:
    """Return the two leading eigenpairs of G (m, m) ⪰ 0 as a (1 + m, 2) array.

    The first row holds the eigenvalues, in descending order, and the rows below it hold the
    eigenvectors as columns. If G has only one eigenvalue (m = 1), the second pair is zero.

    Lanczos steps with full reorthogonalisation, until both residuals ‖G u − λ u‖ are rounding
    errors of ‖G‖; a dense decomposition if that takes too many steps.
    """
    m = G.shape[0]
    max_steps = min(m, _MAX_LANCZOS_STEPS)
    V = np.empty((max_steps, m))
    # The fractional parts of multiples of the golden ratio have no symmetry, which could make the
    # start orthogonal to a leading eigenvector.
    V[0] = 1.0 + (0.6180339887498949 * np.arange(m)) % 1.0
    V[0] /= np.sqrt(V[0] @ V[0])
    w = np.empty(m)
    diagonal = np.zeros(max_steps)
    betas = np.zeros(max_steps)
    trace = float(np.trace(G))
    size = 0
    next_test = _FIRST_TEST
    while size < max_steps:
        stop = min(next_test, max_steps)
        size = _lanczos_steps(G, V, w, diagonal, betas, size, stop, 1e-15 * trace)
        beta = betas[size - 1]
        # The Krylov space is exhausted. A multiple eigenvalue appears in it only once: if a part of
        # the trace is missing, such an eigenvalue may be the second one, and only the dense
        # decomposition finds it.
        exhausted = beta <= 1e-15 * trace
        if exhausted and trace - diagonal[:size].sum() > 1e-14 * trace:
            break
        theta, S, _ = dstev(diagonal[:size], betas[: max(size - 1, 1)])
        # The residual of a Ritz pair is β times the last entry of its eigenvector.
        error = beta * np.abs(S[-1, -2:]).max()
        if size == m or exhausted or error <= 1e-15 * theta[-1]:
            return _as_result(theta, V[:size].T @ S[:, -2:])
        next_test = size + _TEST_INTERVAL
    theta, S = np.linalg.eigh(G)
    return _as_result(theta, S[:, -2:])


def _as_result(values: Array, vectors: Array) -> Array:
    """Return the last eigenvalues, in ascending order, and their vectors in the form above."""
    count = vectors.shape[1]
    pairs = np.zeros((1 + vectors.shape[0], 2))
    pairs[0, :count] = values[: -1 - count : -1]
    pairs[1:, :count] = vectors[:, ::-1]
    return pairs


@jit_without_allocation
def _lanczos_steps(
    G: Array,
    V: Array,
    w: Array,
    diagonal: Array,
    betas: Array,
    done: int,
    stop: int,
    negligible: float,
) -> int:
    """Take Lanczos steps after the first ``done`` ones; return how many are done then.

    End at ``stop``, or earlier if β is not above ``negligible``. The rows of V are the basis, and w
    is what the last step has left of G V[j], with the norm ``betas[j]``. ``diagonal`` and ``betas``
    without its last entry are the tridiagonal matrix.
    """
    m = G.shape[0]
    for j in range(done, stop):
        if j > 0:
            for i in range(m):
                V[j, i] = w[i] / betas[j - 1]
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
                    diagonal[j] += overlap
        square = 0.0
        for i in range(m):
            square += w[i] * w[i]
        betas[j] = np.sqrt(square)
        if betas[j] <= negligible:
            return j + 1
    return stop
