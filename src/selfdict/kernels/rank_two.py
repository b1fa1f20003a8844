"""The steps by which rank-two NMF divides some columns of a matrix in two; negative entries are read as zero."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@jit
def gather(M: Array, columns: Array, rows: Array, scale: float) -> None:
    """Set ``rows[t]`` to ``scale`` times max(M[:, columns[t]], 0), what is not finite to NaN or infinity.

    ``rows`` is (k, m).
    """
    m = M.shape[0]
    if abs(M.strides[0]) < abs(M.strides[1]):  # columns of M lie in one piece
        for t in range(columns.size):
            j = columns[t]
            for i in range(m):
                a = scale * M[i, j]
                rows[t, i] = a - (a if a < 0 else 0)  # NaN for −infinity
        return
    # Eight rows of M at a time. Loops with simple bounds, here and above, are several times faster
    # than one for both.
    eights = m - m % 8
    for first in range(0, eights, 8):
        for t in range(columns.size):
            j = columns[t]
            for i in range(8):
                a = scale * M[first + i, j]
                rows[t, first + i] = a - (a if a < 0 else 0)
    for t in range(columns.size):
        j = columns[t]
        for i in range(eights, m):
            a = scale * M[i, j]
            rows[t, i] = a - (a if a < 0 else 0)


@jit
def deflate(rows: Array, R: Array) -> Array:
    """Set R to ``rows`` without their parts along u, the direction of their mean; return u and v, (2, m).

    With A the rows, AᵀA = RᵀR + u vᵀ + v uᵀ. Where R is in single precision, RᵀR is so to within
    rounding errors of the spread of the rows, not of their size.
    """
    k, m = rows.shape
    out = np.zeros((2, m))
    u, v = out[0], out[1]
    for t in range(0, k, 16):  # any direction near that of the mean will do
        for i in range(m):
            u[i] += rows[t, i]
    u /= max(np.sqrt(np.sum(u * u)), np.finfo(np.float64).tiny)
    square = 0.0
    for t in range(k):
        along = 0.0
        row, rest = rows[t], R[t]
        for i in range(m):
            along += u[i] * row[i]
        for i in range(m):
            r = row[i] - along * u[i]
            rest[i] = r
            v[i] += along * r
        square += along * along
    for i in range(m):
        v[i] += 0.5 * square * u[i]
    return out


@jit
def add_deflated(S: Array, u: Array, v: Array, G: Array) -> None:
    """Add S + u vᵀ + v uᵀ to G."""
    for i in range(u.size):
        g, s = G[i], S[i]
        a, b = u[i], v[i]
        for j in range(u.size):
            g[j] += s[j] + (a * v[j] + b * u[j])


@jit
def project(rows: Array, U: Array, out: Array) -> None:
    """Set ``out[:, t]`` to (u₁ᵀa, u₂ᵀa) for each row a of ``rows`` (k, m); U is (2, m), ``out`` (2, k)."""
    for t in range(rows.shape[0]):
        first = second = 0.0
        for i in range(rows.shape[1]):
            a = np.float64(rows[t, i])
            first += U[0, i] * a
            second += U[1, i] * a
        out[0, t], out[1, t] = first, second


@jit
def correlate(rows: Array, direction: Array, out: Array) -> None:
    """Set ``out[t]`` to the correlation of row t with a direction of mean 0, times its norm; −∞ for a constant row."""
    k, m = rows.shape
    for t in range(k):
        along = total = square = 0.0
        for i in range(m):
            a = np.float64(rows[t, i])
            along += direction[i] * a
            total += a
            square += a * a
        spread = square - total * total / m
        out[t] = along / np.sqrt(spread) if spread > 1e-14 * square else -np.inf


@jit
def misplaced(first: Array, size: int) -> Array:
    """Return where ``first`` is false before ``size``, the count of its true entries, and true after it: (2, p)."""
    k = first.size
    out = np.empty((2, min(size, k - size) + 1), dtype=np.intp)
    left, right = out[0], out[1]
    p = q = 0
    for t in range(size):
        left[p] = t
        p += not first[t]
    for t in range(size, k):
        right[q] = t
        q += first[t]
    return out[:, :p]


@jit
def swap_rows(
    rows: Array, indices: Array, left: Array, right: Array, start: int, stop: int
) -> None:
    """Exchange the rows ``left[t]`` and ``right[t]``, and their indices, for t in [start, stop)."""
    for t in range(start, stop):
        a, b = left[t], right[t]
        indices[a], indices[b] = indices[b], indices[a]
        x, y = rows[a], rows[b]
        for i in range(x.size):
            x[i], y[i] = y[i], x[i]


@jit
def extreme_pair(Z: Array, tie: float) -> tuple[int, int]:
    """SPA with r = 2 on the columns of Z (2, k).

    The residual in the plane is a cross product; among residuals within ``tie`` relative the larger
    norm wins.
    """
    x, y = Z[0], Z[1]
    first = second = 0
    largest = -1.0
    for t in range(x.size):
        norm = x[t] * x[t] + y[t] * y[t]
        if norm > largest:
            first, largest = t, norm
    p, q = x[first], y[first]
    residual = 0.0
    for t in range(x.size):
        cross = abs(x[t] * q - y[t] * p)
        residual = cross if cross > residual else residual
    least = (1.0 - tie) * residual * residual
    largest = -1.0
    for t in range(x.size):
        cross = x[t] * q - y[t] * p
        if cross * cross >= least:  # rarely
            norm = x[t] * x[t] + y[t] * y[t]
            if norm > largest:
                second, largest = t, norm
    return first, second


@jit
def shares(left: Array, mix: Array, Z: Array, x: Array) -> None:
    """Set x to h₁/(h₁ + h₂) for each column of H = argmin ‖A − W H‖ over H ≥ 0.

    ``left`` is WᵀW (2, 2); WᵀA is ``mix`` (2, 2) times Z. Where A has a zero column, x is 0.
    """
    a, b, d = left[0, 0], left[0, 1], left[1, 1]
    rank_one = a * d - b * b <= 1e-15 * a * d
    for t in range(x.size):
        p = mix[0, 0] * Z[0, t] + mix[0, 1] * Z[1, t]
        q = mix[1, 0] * Z[0, t] + mix[1, 1] * Z[1, t]
        # The solution without signs, times the determinant, which cancels in the share.
        h1, h2 = d * p - b * q, a * q - b * p
        if rank_one or h1 < 0.0 or h2 < 0.0:  # the better column of W alone
            x[t] = 1.0 if p * np.sqrt(d) >= q * np.sqrt(a) else 0.0
        else:
            x[t] = h1 / (h1 + h2) if h1 > 0.0 else 0.0


@jit
def count_below(x: Array, edges: Array, first: Array) -> Array:
    """Return how many entries of x ∈ [0, 1] are ≤ each of the increasing edges.

    All edges lie within 1e-9 of a multiple of 0.01; ``first[i]`` is the position of the first one
    beside i/100.
    """
    counts = np.zeros(edges.size + 1, dtype=np.int64)
    for value in x:
        hundredths = int(100.0 * value)
        if 1e-6 < 100.0 * value - hundredths < 1.0 - 1e-6:
            position = first[hundredths + 1]
        else:
            position = first[hundredths]
            while position < edges.size and edges[position] < value:
                position += 1
        counts[position] += 1
    return np.cumsum(counts)[:-1]
