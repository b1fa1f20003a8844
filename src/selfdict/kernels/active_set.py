"""Nonnegative least squares, with or without Σx = 1, by active sets, for many right-hand sides.

The free set F of a problem grows and shrinks as in the method of Lawson and Hanson. The triangular
factor of its columns, L Lᵀ = R_FᵀR_F, is kept row by row in the order in which the indices entered:
one that enters costs a row, one that leaves costs the rows after it, and the rows that the next
problem needs too are computed once.

Two forms share the loop. The Gram form computes L as the Cholesky factor of (RᵀR)_FF and is the
fast one. The stable form orthogonalises the columns of R_F, L Q = R_Fᵀ, and so never squares the
condition number.

Helpers take few arrays on purpose: a call costs as much as a small solve if it hands over a dozen.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit

_EPS = 2.0**-52
_DEPENDENT = (
    1e-14  # a column that is nearer, relatively, to the span of the free ones cannot join them
)


@jit
def active_set(
    Rt: Array,
    G: Array,
    guess: Array,
    shift: Array,
    Y: Array,
    X: Array,
    simplex: bool,
    stable: bool,
    warm: bool,
) -> None:
    """Write argmin ‖y − R x‖ over x ≥ 0, for every column y of Y, into the rows of X.

    Parameters
    ----------
    Rt : (r, q) ndarray of float64
        Rᵀ, its rows zero or of norm about one.
    G : (r, r) ndarray of float64
        RᵀR.
    guess, shift : (r, q) and (r,) ndarray of float64
        The solution without x ≥ 0 is ``guess @ y + shift``. The stable form only starts there.
    Y : (q, n) ndarray of float64
        One problem a column.
    X : (n, r) ndarray of float64
        The solutions; with ``warm``, first a start.
    simplex : bool
        Whether Σx = 1 must hold. No row of Rt may then be zero.
    stable : bool
        Which of the two forms.
    warm : bool
        Whether the first free set is where X is positive, not where the guess is.

    Notes ----- Once x is feasible the objective falls with every change of the free set, so no set
    comes twice and the loop ends. Rounding can break this only among sets whose objectives agree to
    the last digits; a cap of 10 (r + 1) changes stops at one of them.
    """
    r, q = Rt.shape
    free = np.full(r, -1)  # F, in order of entry
    L, Q = np.empty((r, r)), np.empty((r if stable else 0, q))
    inverse = np.empty(r)  # 1 / diag(L)
    z, e = np.empty(r), np.empty(r)  # L⁻¹ R_Fᵀy and L⁻¹ 1
    s = np.empty(r)  # the minimiser on F
    x, w = np.empty(r), np.empty(r)
    y, c, residual, zero = np.empty(q), np.empty(r), np.empty(q), np.zeros(r)
    rows = 0  # how many rows of the factor belong to free[:rows]
    for problem in range(Y.shape[1]):
        for i in range(q):
            y[i] = Y[i, problem]
        if warm:
            for i in range(r):
                x[i] = X[problem, i]
        else:
            smallest = _affine(guess, y, shift, x)
            if smallest >= 0.0 and not stable:
                for i in range(r):
                    X[problem, i] = x[i]
                continue
        if not stable:
            _affine(Rt, y, zero, c)
        size = 0.0
        for i in range(q):
            size = max(size, abs(y[i]))

        k = 0  # the size of F
        common = 0
        for i in range(r):
            if x[i] > 0.0:
                if common == k and k < rows and free[k] == i:
                    common += 1
                free[k] = i
                k += 1
            x[i] = 0.0
        rows = common
        if simplex and k == 0:
            free[0] = 0
            k = 1

        feasible = False
        entering = -1
        tolerance = 0.0
        for _ in range(10 * (r + 1)):
            while rows < k:
                j = free[rows]
                pivot = (
                    _orthogonal_row(Rt, j, rows, L, Q)
                    if stable
                    else _cholesky_row(G, free, rows, L, inverse)
                )
                if pivot > 0.0:
                    inverse[rows] = 1.0 / pivot
                    rows += 1
                else:
                    x[j] = 0.0
                    k -= 1
                    for t in range(rows, k):
                        free[t] = free[t + 1]

            if stable:
                for t in range(k):
                    value = 0.0
                    for i in range(q):
                        value += Q[t, i] * y[i]
                    z[t] = value
            else:
                for t in range(k):
                    z[t] = c[free[t]]
                _forward(L, inverse, k, z)
            if simplex:
                for t in range(k):
                    e[t] = 1.0
                _forward(L, inverse, k, e)
                length = 0.0
                for t in range(k):
                    length += e[t] * e[t]
                for _ in range(2):  # once would leave a sum as far from one as y is large
                    excess = -1.0
                    for t in range(k):
                        excess += e[t] * z[t]
                    for t in range(k):
                        z[t] -= excess / length * e[t]
            for t in range(k):
                s[t] = z[t]
            _backward(L, inverse, k, s)

            appended = k > 0 and free[k - 1] == entering
            if entering >= 0 and not (appended and s[k - 1] > 0.0):
                # its gradient was positive by rounding only: try the next one
                w[entering] = 0.0
                k -= appended
                rows = k
            else:
                kept, rows = _move(free, s, x, k, feasible)
                if kept < k:
                    k = kept
                    entering = -1
                    continue
                feasible = True
                if stable:  # through Q: R x itself would lose digits where x is large
                    for i in range(q):
                        residual[i] = y[i]
                    for t in range(k):
                        for i in range(q):
                            residual[i] -= z[t] * Q[t, i]
                    _affine(Rt, residual, zero, w)
                    tolerance = 4.0 * _EPS * size
                else:
                    for i in range(r):
                        w[i] = c[i]
                    total = 0.0
                    for t in range(k):
                        total += s[t]
                        for i in range(r):
                            w[i] -= s[t] * G[free[t], i]
                    tolerance = 4.0 * _EPS * (size + total)
                if simplex:
                    level = 0.0
                    for t in range(k):
                        level += s[t] * w[free[t]]
                    for i in range(r):
                        w[i] -= level

            entering = -1
            best = tolerance
            for i in range(r):
                if x[i] == 0.0 and w[i] > best:
                    best = w[i]
                    entering = i
            if entering < 0:
                break
            free[k] = entering
            k += 1
        for i in range(r):
            X[problem, i] = x[i]


@jit
def _affine(A: Array, y: Array, b: Array, out: Array) -> float:
    """Write A y + b into ``out`` and return its smallest entry."""
    smallest = np.inf
    for i in range(A.shape[0]):
        value = b[i]
        for j in range(A.shape[1]):
            value += A[i, j] * y[j]
        out[i] = value
        smallest = min(smallest, value)
    return smallest


@jit
def _cholesky_row(G: Array, free: Array, k: int, L: Array, inverse: Array) -> float:
    """Compute row k of the Cholesky factor, up to its pivot, and return that; 0 if its column is dependent."""
    j = free[k]
    square = G[j, j]
    for t in range(k):
        value = G[j, free[t]]
        for i in range(t):
            value -= L[k, i] * L[t, i]
        value *= inverse[t]
        L[k, t] = value
        square -= value * value
    return float(np.sqrt(square)) if square > _DEPENDENT * G[j, j] else 0.0


@jit
def _orthogonal_row(Rt: Array, j: int, k: int, L: Array, Q: Array) -> float:
    """Compute row k of L, up to its pivot, and of Q from row j of Rt, and return the pivot; 0 if it is dependent."""
    q = Rt.shape[1]
    norm = 0.0
    for i in range(q):
        Q[k, i] = Rt[j, i]
        norm += Rt[j, i] * Rt[j, i]
    for t in range(k):
        L[k, t] = 0.0
    for _ in range(2):  # once would leave Q as far from orthogonal as R is ill-conditioned
        for t in range(k):
            value = 0.0
            for i in range(q):
                value += Q[t, i] * Q[k, i]
            for i in range(q):
                Q[k, i] -= value * Q[t, i]
            L[k, t] += value
    square = 0.0
    for i in range(q):
        square += Q[k, i] * Q[k, i]
    if not square > _DEPENDENT**2 * norm:
        return 0.0
    pivot = np.sqrt(square)
    for i in range(q):
        Q[k, i] /= pivot
    return float(pivot)


@jit
def _forward(L: Array, inverse: Array, k: int, b: Array) -> None:
    """Replace b[:k] by L⁻¹ b."""
    for t in range(k):
        value = b[t]
        for i in range(t):
            value -= L[t, i] * b[i]
        b[t] = value * inverse[t]


@jit
def _backward(L: Array, inverse: Array, k: int, b: Array) -> None:
    """Replace b[:k] by L⁻ᵀ b."""
    for t in range(k - 1, -1, -1):
        value = b[t] * inverse[t]
        b[t] = value
        for i in range(t):
            b[i] -= L[t, i] * value


@jit
def _move(free: Array, s: Array, x: Array, k: int, feasible: bool) -> tuple[int, int]:
    """Go from x towards s while x ≥ 0, and take from F what is zero there; return the new k and the rows that stay.

    A start that is not feasible yet goes to s at once, which mostly drops several wrong guesses
    together.
    """
    step = 1.0
    blocking = -1
    if feasible:
        for t in range(k):
            if s[t] <= 0.0:
                length = x[free[t]] / (x[free[t]] - s[t])
                if blocking < 0 or length < step:
                    step = length
                    blocking = t
    kept = 0
    rows = k
    for t in range(k):
        i = free[t]
        value = s[t] if blocking < 0 else x[i] + step * (s[t] - x[i])
        if t == blocking or value <= 0.0:
            x[i] = 0.0
            rows = min(rows, t)
        else:
            x[i] = value
            free[kept] = i
            kept += 1
    return kept, rows
