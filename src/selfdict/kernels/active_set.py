"""Nonnegative least squares, with or without a sum-to-one row, by primal active sets: many right-hand sides.

The free set F of a column grows and shrinks as in Lawson and Hanson's method. Its triangular factor L is kept
row by row in the order in which indices entered, so an index that enters costs one new row, an index that
leaves costs the rows behind it, and the rows that two neighbouring columns share are computed once.

Two forms share the loop. In Gram form, A = RᵀR and a row of D is c = Rᵀy: L is the Cholesky factor of A_FF.
In the stable form, A = Rᵀ and a row of D is y itself: L comes from orthogonalising the columns R_F twice, which
never squares the condition number.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit

_EPS = 2.0**-52
_DEPENDENT = 1e-14  # a column this close (relative) to the span of the free ones cannot join them


@jit
def active_set(
    A: Array, D: Array, X: Array, simplex: bool, stable: bool, accept: bool, start: int, stop: int
) -> None:
    """Replace rows ``start`` to ``stop`` of X, a start ≥ 0 where positive, by argmin ½‖y − R x‖² over x ≥ 0.

    Parameters
    ----------
    A : (r, r) or (r, q) ndarray of float64
        RᵀR in Gram form, Rᵀ in stable form.
    D : (n, r) or (n, q) ndarray of float64
        One problem a row: Rᵀy in Gram form, y in stable form.
    X : (n, r) ndarray of float64
        The start; entries ≤ 0 count as zero. Replaced by the solution.
    simplex : bool
        Whether Σx = 1 must hold. The columns of R are then linearly independent where they are affinely so
        (the caller sees to it by a row of ones), and positive rows of X have sum one.
    stable : bool
        Which of the two forms.
    accept : bool
        Whether X holds the unconstrained solutions, so that a row without negative entries is done.
    start, stop : int
        The slice of problems.

    Notes
    -----
    The objective falls with every change of the free set, so no set comes twice and the loop ends; rounding
    can break this only among sets of equal objective, and 10 (r + 1) changes a column stop that. X is
    feasible at every moment.
    """
    r = X.shape[1]
    L = np.empty((r, r))
    inverse = np.empty(r)  # of the diagonal of L
    Q = np.empty((r if stable else 0, D.shape[1]))
    e = np.empty(r)  # L⁻¹ 1, for the sum-to-one row
    z = np.empty(r)  # L⁻¹ c_F, or Qᵀy
    s = np.empty(r)
    w = np.empty(r)
    residual = np.empty(D.shape[1])
    free = np.full(r, -1)
    n_rows = 0  # rows of L that belong to free[:n_rows]
    for column in range(start, stop):
        x = X[column]
        d = D[column]
        if accept and x.min() >= 0.0:
            continue
        k = 0
        same = True
        valid = 0
        for i in range(r):
            if x[i] > 0.0:
                same = same and k < n_rows and free[k] == i
                valid += same
                free[k] = i
                k += 1
            else:
                x[i] = 0.0
        n_rows = valid
        if simplex and k == 0:
            free[0] = 0
            x[0] = 1.0
            k = 1
            n_rows = 0
        n_solved = 0  # entries of z that belong to this column and free set
        size = np.abs(d).max()
        changes = 0
        entering = -1
        while True:
            position = n_rows
            while position < k:
                if _append(A, free, position, L, inverse, Q, e, simplex, stable):
                    position += 1
                    continue
                x[free[position]] = 0.0
                k -= 1
                for t in range(position, k):
                    free[t] = free[t + 1]
            n_rows = k
            _solve(d, free, n_solved, k, L, inverse, Q, e, z, s, simplex, stable)
            n_solved = k

            if entering >= 0 and (k == 0 or free[k - 1] != entering or s[k - 1] <= 0.0):
                # dependent on the free columns, or its gradient was only rounding: the next best one
                if k > 0 and free[k - 1] == entering:
                    k -= 1
                n_rows = k
                n_solved = k
                w[entering] = 0.0
            else:
                step = 1.0
                blocking = -1
                for t in range(k):
                    if s[t] <= 0.0:
                        ratio = x[free[t]] / (x[free[t]] - s[t])
                        if blocking < 0 or ratio < step:
                            step = ratio
                            blocking = t
                if blocking >= 0:
                    first = k
                    kept = 0
                    for t in range(k):
                        i = free[t]
                        x[i] += step * (s[t] - x[i])
                        if t == blocking or x[i] <= 0.0:
                            x[i] = 0.0
                            first = min(first, t)
                        else:
                            free[kept] = i
                            kept += 1
                    k = kept
                    n_rows = first
                    n_solved = first
                    changes += 1
                    entering = -1
                    if changes > 10 * (r + 1):
                        break
                    continue
                total = 0.0
                for t in range(k):
                    x[free[t]] = s[t]
                    total += s[t]
                _gradient(A, d, free, k, x, residual, w, simplex, stable)
                tolerance = 4.0 * _EPS * (size + total)

            entering = -1
            best = tolerance
            for i in range(r):
                if x[i] == 0.0 and w[i] > best:
                    best = w[i]
                    entering = i
            changes += 1
            if entering < 0 or changes > 10 * (r + 1):
                break
            free[k] = entering
            k += 1


@jit
def _append(
    A: Array,
    free: Array,
    k: int,
    L: Array,
    inverse: Array,
    Q: Array,
    e: Array,
    simplex: bool,
    stable: bool,
) -> bool:
    """Compute row k of the factor, for the index free[k]; False if its column depends on the earlier ones."""
    a = A[free[k]]
    if stable:
        norm = np.sqrt(np.sum(a * a))
        v = Q[k]
        v[:] = a
        L[k, :k] = 0.0
        for _ in range(2):
            for t in range(k):
                projection = 0.0
                for i in range(v.size):
                    projection += Q[t, i] * v[i]
                for i in range(v.size):
                    v[i] -= projection * Q[t, i]
                L[k, t] += projection
        pivot = np.sqrt(np.sum(v * v))
        if not pivot > _DEPENDENT * norm:
            return False
        for i in range(v.size):
            v[i] /= pivot
    else:
        square = a[free[k]]
        for t in range(k):
            value = a[free[t]]
            for i in range(t):
                value -= L[k, i] * L[t, i]
            L[k, t] = value * inverse[t]
            square -= L[k, t] * L[k, t]
        if not square > _DEPENDENT * a[free[k]]:
            return False
        pivot = np.sqrt(square)
    L[k, k] = pivot
    inverse[k] = 1.0 / pivot
    if simplex:
        value = 1.0
        for t in range(k):
            value -= L[k, t] * e[t]
        e[k] = value * inverse[k]
    return True


@jit
def _solve(
    d: Array,
    free: Array,
    start: int,
    k: int,
    L: Array,
    inverse: Array,
    Q: Array,
    e: Array,
    z: Array,
    s: Array,
    simplex: bool,
    stable: bool,
) -> None:
    """Fill z from ``start`` on and s[:k], the minimiser on the free set without the signs."""
    for t in range(start, k):
        value = 0.0
        if stable:
            for i in range(d.size):
                value += Q[t, i] * d[i]
            z[t] = value
        else:
            for i in range(t):
                value += L[t, i] * z[i]
            z[t] = (d[free[t]] - value) * inverse[t]
    multiplier = 0.0
    if simplex:
        along = -1.0
        length = 0.0
        for t in range(k):
            along += e[t] * z[t]
            length += e[t] * e[t]
        multiplier = along / length
        for t in range(k):
            s[t] = z[t] - multiplier * e[t]
    else:
        s[:k] = z[:k]
    for t in range(k - 1, -1, -1):
        s[t] *= inverse[t]
        for i in range(t):
            s[i] -= L[t, i] * s[t]


@jit
def _gradient(
    A: Array,
    d: Array,
    free: Array,
    k: int,
    x: Array,
    residual: Array,
    w: Array,
    simplex: bool,
    stable: bool,
) -> None:
    """w = Rᵀ(y − R x), less its value on the free set where Σx = 1."""
    if stable:
        residual[:] = d
        for t in range(k):
            residual -= x[free[t]] * A[free[t]]
        for i in range(w.size):
            value = 0.0
            for j in range(residual.size):
                value += A[i, j] * residual[j]
            w[i] = value
    else:
        w[:] = d
        for t in range(k):
            value = x[free[t]]
            row = A[free[t]]
            for i in range(w.size):
                w[i] -= value * row[i]
    if simplex:
        level = 0.0
        for t in range(k):
            level += x[free[t]] * w[free[t]]
        for i in range(w.size):
            w[i] -= level
