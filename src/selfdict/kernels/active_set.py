"""Nonnegative least squares, with or without Σx = 1, by active sets, for many right-hand sides.

The free set F of a column grows and shrinks as in the method of Lawson and Hanson. The triangular factor of its
columns, L Lᵀ = R_FᵀR_F, is kept row by row in the order in which the indices entered: one that enters costs a
row, one that leaves costs the rows after it, and the rows that the next column needs too are computed once.

Two forms share the loop. The Gram form computes L as the Cholesky factor of (RᵀR)_FF and is the fast one. The
stable form orthogonalises the columns of R_F, twice, and so never squares the condition number.
"""

from typing import NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit

_EPS = 2.0**-52
_DEPENDENT = 1e-14  # a column that is nearer, relatively, to the span of the free ones cannot join them


class _Factor(NamedTuple):
    """The factor of the free columns, row by row, and the least-squares solution on them."""

    free: Array  # (r,) the indices, in order of entry
    L: Array  # (r, r)
    inverse: Array  # (r,) 1 / diag(L)
    Q: Array  # (r, q) orthonormal rows with R_Fᵀ = L Q; empty in Gram form
    e: Array  # (r,) L⁻¹ 1
    z: Array  # (r,) L⁻¹ R_Fᵀy
    u: Array  # (r,) z, less the part along e that breaks Σx = 1
    s: Array  # (r,) L⁻ᵀu, the minimiser on the free set


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
        The solution without x ≥ 0 is ``guess @ y + shift``; a poor one costs time only, if ``stable``.
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

    Notes
    -----
    Once x is feasible the objective falls with every change of the free set, so no set comes twice and the loop
    ends. Rounding can break this only among sets whose objectives agree to the last digits; a cap of 10 (r + 1)
    changes stops at one of them.
    """
    r, q = Rt.shape
    free = np.full(r, -1)
    Q = np.empty((r if stable else 0, q))
    factor = _Factor(free, np.empty((r, r)), np.empty(r), Q, np.empty(r), np.empty(r), np.empty(r), np.empty(r))
    y = np.empty(q)
    c = np.empty(r)
    w = np.empty(r)
    zero = np.zeros(r)
    s = factor.s
    rows = 0  # how many leading rows of the factor belong to free[:rows]
    for column in range(Y.shape[1]):
        x = X[column]
        y[:] = Y[:, column]
        if not warm:
            _affine(guess, y, shift, x)
            if not stable and x.min() >= 0.0:
                continue
        if not stable:
            _affine(Rt, y, zero, c)
        largest = 0.0
        for i in range(q):
            largest = max(largest, abs(y[i]))

        k = 0  # the size of the free set
        common = 0
        for i in range(r):
            if x[i] > 0.0:
                if common == k and k < rows and free[k] == i:
                    common += 1
                free[k] = i
                k += 1
            x[i] = 0.0
        rows = common
        for t in range(rows):
            _project(t, factor, y, c, stable)
        if simplex and k == 0:
            free[0] = 0
            k = 1

        feasible = False
        entering = -1
        tolerance = 0.0
        for _ in range(10 * (r + 1)):
            while rows < k:
                if _append(rows, factor, Rt, G, y, c, simplex, stable):
                    rows += 1
                else:
                    x[free[rows]] = 0.0
                    k -= 1
                    free[rows:k] = free[rows + 1 : k + 1]
            _minimise(k, factor, simplex)

            appended = k > 0 and free[k - 1] == entering
            if entering >= 0 and not (appended and s[k - 1] > 0.0):
                # its gradient was positive by rounding only: try the next one
                w[entering] = 0.0
                k -= appended
                rows = k
            else:
                kept, rows = _move(k, factor, x, feasible)
                if kept < k:
                    k = kept
                    entering = -1
                    continue
                feasible = True
                _gradient(k, factor, Rt, G, y, c, x, w, simplex, stable)
                tolerance = 4.0 * _EPS * (largest + (0.0 if stable else x.sum()))

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


@jit
def _affine(A: Array, y: Array, b: Array, out: Array) -> None:
    """Write A y + b into ``out``."""
    for i in range(A.shape[0]):
        value = b[i]
        for j in range(A.shape[1]):
            value += A[i, j] * y[j]
        out[i] = value


@jit
def _append(k: int, factor: _Factor, Rt: Array, G: Array, y: Array, c: Array, simplex: bool, stable: bool) -> bool:
    """Compute row k of the factor, for the index free[k]; False if its column depends on the earlier ones."""
    free, L, inverse, Q, e = factor.free, factor.L, factor.inverse, factor.Q, factor.e
    j = free[k]
    row = L[k]
    if stable:
        q = Q[k]
        q[:] = Rt[j]
        norm = np.sqrt(np.sum(q * q))
        row[:k] = 0.0
        for _ in range(2):  # once leaves errors of the size of the condition number
            for t in range(k):
                projection = np.sum(Q[t] * q)
                q -= projection * Q[t]
                row[t] += projection
        pivot = np.sqrt(np.sum(q * q))
        if not pivot > _DEPENDENT * norm:
            return False
        q /= pivot
    else:
        square = G[j, j]
        for t in range(k):
            value = G[j, free[t]]
            for i in range(t):
                value -= row[i] * L[t, i]
            row[t] = value * inverse[t]
            square -= row[t] * row[t]
        if not square > _DEPENDENT * G[j, j]:
            return False
        pivot = np.sqrt(square)
    row[k] = pivot
    inverse[k] = 1.0 / pivot
    if simplex:
        value = 1.0
        for t in range(k):
            value -= row[t] * e[t]
        e[k] = value * inverse[k]
    _project(k, factor, y, c, stable)
    return True


@jit
def _project(t: int, factor: _Factor, y: Array, c: Array, stable: bool) -> None:
    """Compute z[t] from the rows up to t."""
    L, Q, z = factor.L, factor.Q, factor.z
    if stable:
        z[t] = np.sum(Q[t] * y)
    else:
        value = c[factor.free[t]]
        for i in range(t):
            value -= L[t, i] * z[i]
        z[t] = value * factor.inverse[t]


@jit
def _minimise(k: int, factor: _Factor, simplex: bool) -> None:
    """Compute s, the minimiser on the free set without its signs."""
    L, inverse, e, z, u, s = factor.L, factor.inverse, factor.e, factor.z, factor.u, factor.s
    multiplier = 0.0
    if simplex:
        excess = -1.0
        length = 0.0
        for t in range(k):
            excess += e[t] * z[t]
            length += e[t] * e[t]
        multiplier = excess / length
    for t in range(k):
        u[t] = z[t] - multiplier * e[t] if simplex else z[t]
        s[t] = u[t]
    for t in range(k - 1, -1, -1):
        s[t] *= inverse[t]
        for i in range(t):
            s[i] -= L[t, i] * s[t]


@jit
def _move(k: int, factor: _Factor, x: Array, feasible: bool) -> tuple[int, int]:
    """Go from x towards s while x ≥ 0, and free no longer what is zero then; return the new k and valid rows.

    A start that is not feasible yet goes to s at once, which mostly drops several wrong guesses together.
    """
    free, s = factor.free, factor.s
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
        x[i] = s[t] if blocking < 0 else x[i] + step * (s[t] - x[i])
        if t == blocking or x[i] <= 0.0:
            x[i] = 0.0
            rows = min(rows, t)
        else:
            free[kept] = i
            kept += 1
    return kept, rows


@jit
def _gradient(
    k: int,
    factor: _Factor,
    Rt: Array,
    G: Array,
    y: Array,
    c: Array,
    x: Array,
    w: Array,
    simplex: bool,
    stable: bool,
) -> None:
    """Compute w = Rᵀ(y − R x) at the minimiser x = s, less its value on the free set if Σx = 1."""
    free, Q, u = factor.free, factor.Q, factor.u
    if stable:
        residual = y.copy()
        for t in range(k):  # through Q: R x itself would lose digits where x is large
            residual -= u[t] * Q[t]
        _affine(Rt, residual, np.zeros(x.size), w)
    else:
        w[:] = c
        for t in range(k):
            value = x[free[t]]
            for i in range(w.size):
                w[i] -= value * G[free[t], i]
    if simplex:
        level = 0.0
        for t in range(k):
            level += x[free[t]] * w[free[t]]
        w -= level
