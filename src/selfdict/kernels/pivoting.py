"""Nonnegative least squares with few unknowns, for many right-hand sides, by block pivoting.

Of few unknowns there are few free sets F, and many problems have the same. For each set that occurs
a matrix T is computed, once, that gives the minimiser on F and the gradient elsewhere:

    x_F = G_FF⁻¹ c_F,   −w_i = G_iF x_F − c_i   (i not in F),   where G = RᵀR and c = Rᵀy.

The set is that of the solution if none of these is negative. Otherwise all entries of the
wrong sign change sides, or the last one alone if that has not helped for a while (Kim and Park,
SIAM J. Sci. Comput. 33, 2011).
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import aligned_zeros, helper, int64, jit, unsigned

# The matrices of all sets of so many unknowns take 5 MB.
MOST_UNKNOWNS = 12
_EPSILON = 2.0**-52  # the machine epsilon of float64
# An entry above minus this, relative to c, is negative only if it is so after refinement.
_ROUNDING = 1e-12
# Exchanges of all wrong entries that may fail to reduce their number, one after the other.
_CHANCES = 3


class Tables:
    """The matrices T of the sets that have occurred. One thread uses them at a time."""

    def __init__(self, r: int) -> None:
        self.values = np.empty((1 << r, r, r))
        self.is_known = np.zeros(1 << r, dtype=np.bool_)


def block_pivoting(
    G: Array,  # (r, r): RᵀR, well conditioned but for zeros; its diagonal about one
    C: Array,  # (r, n): one problem Rᵀy per column
    X: Array,  # (n, r): one solution per row; with warm, the starts on entry
    warm: bool,  # whether the first free set is where X is positive, not that of all unknowns
    tables: Tables,  # of the same G
) -> Array:
    """Write argmin ‖y − R x‖ over x ≥ 0 into the rows of X; return which problems are left.

    Those have a start in X. They are rare.
    """
    left = np.zeros(len(X), dtype=np.bool_)
    vectors = aligned_zeros(4, len(G))
    _solve(G, C, X, warm, tables.values, tables.is_known, left, vectors)
    return left


@jit
def _solve(
    G: Array,
    C: Array,
    X: Array,
    warm: bool,
    tables: Array,
    is_known: Array,
    left: Array,
    vectors: Array,
) -> None:
    r = len(G)
    c = vectors[0]
    v = vectors[1]  # x on F, −w elsewhere
    x = vectors[2]
    g = vectors[3]
    usable = int64(0)
    for i in range(r):
        if G[i, i] > 0.0:
            usable |= 1 << i
    for problem in range(C.shape[1]):
        size = 0.0
        for i in range(r):
            c[i] = C[i, problem]
            size = max(size, abs(c[i]))
        free = usable
        if warm:
            for i in range(r):
                if not X[problem, i] > 0.0:
                    free &= ~(1 << i)
        left[problem] = True
        fewest = r + 1
        chances = _CHANCES
        for _ in range(10 * (r + 1)):
            T = tables[free]
            if not is_known[free]:
                _compute_table(G, free, T)
                is_known[free] = True
            wrong, count = _multiply(T, c, v, -_ROUNDING * size)
            if count == 0:
                # One step of refinement, which makes up for the rounding of T.
                total = 0.0
                for i in range(r):
                    x[i] = v[i] * ((free >> i) & 1)
                    total += x[i]
                _multiply(G, x, g, 0.0)
                for i in range(r):
                    g[i] = c[i] - g[i]
                _multiply(T, g, v, 0.0)
                tolerance = 4.0 * _EPSILON * (size + total)
                for i in range(r):
                    is_free = (free >> i) & 1
                    value = x[i] + v[i]
                    X[problem, i] = value * is_free
                    is_wrong = int64(value < (is_free - 1) * tolerance)
                    wrong |= is_wrong << i
                    count += is_wrong
                if count == 0:
                    left[problem] = False
                    break
            if count < fewest:
                fewest = count
                chances = _CHANCES
            else:
                chances -= 1
            if chances < 0:
                wrong = _last_bit(wrong)
            free ^= wrong
        if left[problem]:
            for i in range(r):
                X[problem, i] = np.float64((free >> i) & 1)


@helper
def _compute_table(G: Array, free: int, T: Array) -> None:
    """Compute the matrix T of a free set, whose members are the bits of ``free``."""
    r = T.shape[0]
    for i in range(r):
        for j in range(r):
            T[i, j] = G[i, j]
    for k in range(r):
        if (free >> k) & 1:
            # Gauss–Jordan: exchange x_k and w_k.
            inverse = 1.0 / T[k, k]
            for i in range(r):
                if i != k:
                    factor = T[i, k] * inverse
                    for j in range(r):
                        T[i, j] -= factor * T[k, j]
                    T[i, k] = -factor
            for j in range(r):
                T[k, j] *= inverse
            T[k, k] = inverse
    for i in range(r):
        is_free = (free >> i) & 1
        for j in range(r):
            if not (free >> j) & 1:
                # w_i contains c_i itself, and no other c_j outside of F.
                T[i, j] = np.float64(i == j)
            if not is_free:
                T[i, j] = -T[i, j]


@helper
def _multiply(A: Array, b: Array, out: Array, least: float) -> tuple[int, int]:
    """Write A b into ``out``; return the bits of entries below ``least``, and their number."""
    wrong = int64(0)
    count = int64(0)
    for i in range(unsigned(A.shape[0])):
        value = 0.0
        for j in range(unsigned(A.shape[1])):
            value += A[i, j] * b[j]
        out[i] = value
        # without branches, which nobody could predict
        is_below = int64(value < least)
        wrong |= is_below << int64(i)
        count += is_below
    return wrong, count


@helper
def _last_bit(bits: int) -> int:
    """Return the highest bit alone."""
    last = int64(1)
    while 2 * last <= bits:
        last *= 2
    return last
