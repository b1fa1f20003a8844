"""The steps by which rank-two NMF divides some columns of a matrix in two.

First the two leading eigenpairs of a Gram matrix, then shares of the columns in two directions.
Negative entries count as zero.
"""

import numpy as np
from scipy.linalg.lapack import dstev

from selfdict._validation import Array
from selfdict.kernels.jit import jit

_TINY = float(np.finfo(np.float64).tiny)  # the smallest normal number, in place of a length of zero


def leading_eigenpairs(G: Array) -> tuple[Array, Array]:
    """Return the two leading eigenvalues of G (m, m) ⪰ 0, and their vectors (m, 2)."""
    # Lanczos steps with full reorthogonalisation, until both residuals ‖G u − λ u‖ are rounding
    # errors of ‖G‖; beyond 60 steps a dense decomposition costs less.
    m = G.shape[0]
    max_steps = min(m, 60)
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
    next_test = 9
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
            return _in_descending_order(theta, V[:size].T @ S[:, -2:])
        next_test = size + 3  # a test decomposes the tridiagonal matrix
    theta, S = np.linalg.eigh(G)
    return _in_descending_order(theta, S[:, -2:])


def _in_descending_order(values: Array, vectors: Array) -> tuple[Array, Array]:
    """Return the last two of ascending eigenvalues, and their vectors; zeros if there is one."""
    count = vectors.shape[1]
    two_values = np.zeros(2)
    two_vectors = np.zeros((len(vectors), 2))
    two_values[:count] = values[: -1 - count : -1]
    two_vectors[:, :count] = vectors[:, ::-1]
    return two_values, two_vectors


@jit
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
    """Take Lanczos steps until ``stop``, or until β is negligible; return how many are done."""
    # The rows of V are the basis, and w is what the last step has left of G V[j], with the norm
    # betas[j]. ``diagonal`` and ``betas`` without its last entry are the tridiagonal matrix.
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


@jit
def deflate(rows: Array, R: Array, u: Array, v: Array) -> None:
    """Set R to the rows of A without their parts along u, and v so that AᵀA = RᵀR + u vᵀ + v uᵀ.

    u and v are zero on entry.
    """
    # u is the direction of the mean: in single precision, RᵀR then has rounding errors of the
    # spread of the rows, not of their size.
    k, m = rows.shape
    for t in range(0, k, 16):  # any direction near that of the mean will do
        for i in range(m):
            u[i] += rows[t, i]
    length = 0.0
    for i in range(m):
        length += u[i] * u[i]
    length = max(np.sqrt(length), _TINY)
    for i in range(m):
        u[i] /= length
    square = 0.0
    for t in range(k):
        along = 0.0
        row = rows[t]
        remainder = R[t]
        for i in range(m):
            along += u[i] * row[i]
        for i in range(m):
            r = row[i] - along * u[i]
            remainder[i] = r
            v[i] += along * r
        square += along * along
    # The term (Σ along²) u uᵀ, one half in each of u vᵀ and v uᵀ.
    for i in range(m):
        v[i] += 0.5 * square * u[i]


@jit
def add_deflated(S: Array, u: Array, v: Array, G: Array) -> None:
    """Add S + u vᵀ + v uᵀ to G."""
    for i in range(u.size):
        g = G[i]
        s = S[i]
        a = u[i]
        b = v[i]
        for j in range(u.size):
            g[j] += s[j] + (a * v[j] + b * u[j])


@jit
def project(rows: Array, U: Array, out: Array) -> None:
    """Set ``out[:, t]`` (2, k) to (u₁ᵀa, u₂ᵀa) for row a = ``rows[t]`` (k, m) and U (2, m)."""
    for t in range(rows.shape[0]):
        first = second = 0.0
        for i in range(rows.shape[1]):
            a = np.float64(rows[t, i])
            first += U[0, i] * a
            second += U[1, i] * a
        out[0, t] = first
        out[1, t] = second


@jit
def correlate(rows: Array, direction: Array, out: Array) -> None:
    """Set ``out[t]`` to the correlation of row t with a direction of mean 0, times its norm."""
    k, m = rows.shape
    for t in range(k):
        along = total = square = 0.0
        for i in range(m):
            a = np.float64(rows[t, i])
            along += direction[i] * a
            total += a
            square += a * a
        spread = square - total * total / m
        # Below this share of the square, the spread is the rounding error of the subtraction.
        if spread > 1e-14 * square:
            out[t] = along / np.sqrt(spread)
        else:
            out[t] = -np.inf


@jit
def swap_rows(
    rows: Array, indices: Array, left: Array, right: Array, start: int, stop: int
) -> None:
    """Exchange the rows ``left[t]`` and ``right[t]``, and their indices, for t in [start, stop)."""
    for t in range(start, stop):
        a = left[t]
        b = right[t]
        indices[a], indices[b] = indices[b], indices[a]
        x = rows[a]
        y = rows[b]
        for i in range(x.size):
            x[i], y[i] = y[i], x[i]


@jit
def extreme_pair(Z: Array, tie: float) -> tuple[int, int]:
    """Return the two columns of Z (2, k) that SPA selects; among ties the larger norm wins."""
    x = Z[0]
    y = Z[1]
    first = second = 0
    largest = -1.0
    for t in range(x.size):
        norm = x[t] * x[t] + y[t] * y[t]
        if norm > largest:
            first = t
            largest = norm
    p = x[first]
    q = y[first]
    residual = 0.0
    for t in range(x.size):
        cross = abs(x[t] * q - y[t] * p)
        if cross > residual:
            residual = cross
    least = (1.0 - tie) * residual * residual
    largest = -1.0
    for t in range(x.size):
        cross = x[t] * q - y[t] * p
        if cross * cross >= least:  # for few columns only: the norm is computed when needed
            norm = x[t] * x[t] + y[t] * y[t]
            if norm > largest:
                second = t
                largest = norm
    return first, second


@jit
def shares(left: Array, mix: Array, Z: Array, x: Array) -> None:
    """Set x to h₁/(h₁ + h₂) for each column of H = argmin ‖A − W H‖ over H ≥ 0.

    ``left`` is WᵀW (2, 2); WᵀA is ``mix`` (2, 2) times Z. If a column of A is zero, its x is 0.
    """
    a = left[0, 0]
    b = left[0, 1]
    d = left[1, 1]
    rank_one = a * d - b * b <= 1e-15 * a * d
    for t in range(x.size):
        p = mix[0, 0] * Z[0, t] + mix[0, 1] * Z[1, t]
        q = mix[1, 0] * Z[0, t] + mix[1, 1] * Z[1, t]
        # The solution without signs, times the determinant, which cancels in the share.
        h1 = d * p - b * q
        h2 = a * q - b * p
        if rank_one or h1 < 0.0 or h2 < 0.0:
            # One coefficient is zero: the column of W that fits better on its own.
            x[t] = 1.0 if p * np.sqrt(d) >= q * np.sqrt(a) else 0.0
        elif h1 > 0.0:
            x[t] = h1 / (h1 + h2)
        else:
            x[t] = 0.0
