"""The steps by which rank-two NMF divides some columns of a matrix in two.

Negative entries count as zero.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import inlined, jit_without_allocation

_TINY = float(np.finfo(np.float64).tiny)  # the smallest normal number, in place of a length of zero


def gather(M: Array, columns: Array, rows: Array, scale: float) -> None:
    """Set ``rows[t]`` to ``scale`` times max(M[:, columns[t]], 0).

    ``rows`` is (k, m). An entry that is not finite becomes NaN or infinity.
    """
    if abs(M.strides[0]) < abs(M.strides[1]):
        _gather_rows(M.T, columns, rows, scale)
    else:
        _gather_columns(M, columns, rows, scale)


@jit_without_allocation
def _gather_rows(Mt: Array, columns: Array, rows: Array, scale: float) -> None:
    """Do the work of :func:`gather` for Mᵀ, row-major."""
    for t in range(columns.size):
        column = Mt[columns[t]]
        for i in range(column.size):
            rows[t, i] = _positive_part(scale * column[i])


@jit_without_allocation
def _gather_columns(M: Array, columns: Array, rows: Array, scale: float) -> None:
    """Do the work of :func:`gather` for M, row-major.

    Eight rows of M at a time, in loops of constant length, which are several times faster.
    """
    m = M.shape[0]
    eights = m - m % 8
    for first in range(0, eights, 8):
        for t in range(columns.size):
            j = columns[t]
            for i in range(8):
                rows[t, first + i] = _positive_part(scale * M[first + i, j])
    for t in range(columns.size):
        j = columns[t]
        for i in range(eights, m):
            rows[t, i] = _positive_part(scale * M[i, j])


@inlined
def _positive_part(a: float) -> float:
    """Return max(a, 0), but NaN for −∞, so that the test for finite sums finds it."""
    return a - (a if a < 0 else 0)


def deflate(rows: Array, R: Array) -> Array:
    """Set R to ``rows`` without their parts along u, the direction of their mean.

    Return u and v, (2, m), such that AᵀA = RᵀR + u vᵀ + v uᵀ for the rows A. If R is in single
    precision, RᵀR has rounding errors of the spread of the rows, not of their size.
    """
    out = np.zeros((2, rows.shape[1]))
    _deflate(rows, R, out[0], out[1])
    return out


@jit_without_allocation
def _deflate(rows: Array, R: Array, u: Array, v: Array) -> None:
    """Do the work of :func:`deflate`; u and v are zero on entry."""
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


@jit_without_allocation
def add_deflated(S: Array, u: Array, v: Array, G: Array) -> None:
    """Add S + u vᵀ + v uᵀ to G."""
    for i in range(u.size):
        g = G[i]
        s = S[i]
        a = u[i]
        b = v[i]
        for j in range(u.size):
            g[j] += s[j] + (a * v[j] + b * u[j])


@jit_without_allocation
def project(rows: Array, U: Array, out: Array) -> None:
    """Set ``out[:, t]`` to (u₁ᵀa, u₂ᵀa) for row a = ``rows[t]``.

    ``rows`` is (k, m), U is (2, m) and ``out`` is (2, k).
    """
    for t in range(rows.shape[0]):
        first = second = 0.0
        for i in range(rows.shape[1]):
            a = np.float64(rows[t, i])
            first += U[0, i] * a
            second += U[1, i] * a
        out[0, t] = first
        out[1, t] = second


@jit_without_allocation
def correlate(rows: Array, direction: Array, out: Array) -> None:
    """Set ``out[t]`` to the correlation of row t with ``direction``, times the latter's norm.

    The direction has mean 0. A constant row has no correlation and gets −∞.
    """
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


@jit_without_allocation
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


@jit_without_allocation
def extreme_pair(Z: Array, tie: float) -> tuple[int, int]:
    """Return the two columns of Z (2, k) that SPA selects.

    The residual norm in the plane is a cross product. Among squared residuals within ``tie``,
    relative, the larger norm wins.
    """
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


@jit_without_allocation
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


def count_below(x: Array, edges: Array, first: Array) -> Array:
    """Return how many entries of x ∈ [0, 1] are ≤ each of the increasing edges.

    All edges lie within 1e-9 of a multiple of 0.01; ``first[i]`` is the position of the first edge
    near i/100.
    """
    counts = np.zeros(edges.size + 1, dtype=np.int64)
    _count_between(x, edges, first, counts)
    return np.cumsum(counts[:-1])


@jit_without_allocation
def _count_between(x: Array, edges: Array, first: Array, counts: Array) -> None:
    """Add to ``counts[i]`` how many entries of x are above edge i − 1 and not above edge i."""
    for t in range(x.size):
        value = x[t]
        hundredths = int(100.0 * value)
        # Away from the multiples of 0.01 no edge is near: no comparison is needed.
        if 1e-6 < 100.0 * value - hundredths < 1.0 - 1e-6:
            position = first[hundredths + 1]
        else:
            position = first[hundredths]
            while position < edges.size and edges[position] < value:
                position += 1
        counts[position] += 1
