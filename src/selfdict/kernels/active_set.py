"""Nonnegative least squares, with or without Σx = 1, by active sets, for many right-hand sides.

The free set F of a problem grows and shrinks as in the method of Lawson and Hanson. The triangular
factor of its columns, L Lᵀ = R_FᵀR_F, is kept row by row in the order in which the indices entered.
An index that enters costs one row; an index that leaves costs the rows after it. The rows that the
next problem needs as well are not computed again.

Two forms share the loop. The Gram form computes L as the Cholesky factor of (RᵀR)_FF and is the
fast one. The stable form orthogonalises the columns of R_F, L Q = R_Fᵀ, and so never squares the
condition number.

A call that passes a dozen arrays takes as long as a small solve: helpers either take few arrays or
are inlined.
"""

from collections.abc import Callable

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.factors import (
    affine,
    aligned_zeros,
    backward,
    cholesky_row,
    forward,
    orthogonal_row,
)
from selfdict.kernels.jit import boolean, helper, inlined, int64, jit_without_allocation

_EPSILON = 2.0**-52  # the machine epsilon of float64


# Rows of the memory of a problem, which all problems share.
_INVERSE = 0  # 1 / diag(L)
_MINIMISER = 1  # s, the minimiser on F, without x ≥ 0
_COORDINATES = 2  # z = L⁻¹ R_Fᵀy; with Σx = 1, projected onto the plane of the constraint
_ONES = 3  # e = L⁻¹ 1
_GRADIENT = 4  # w, the negative gradient, Rᵀ(y − R x)
_PRODUCTS = 5  # c = Rᵀy, used by the Gram form only
_ZERO = 6
_DATA = 7  # y
_RESIDUAL = 8  # y − R x, used by the stable form only
_N_VECTORS = 9


def active_set(
    Rt: Array,  # (r, q): Rᵀ, its rows zero or of norm about one
    G: Array,  # (r, r): RᵀR
    guess: Array,  # (r, q): without x ≥ 0 the solution is guess @ y + shift
    shift: Array,  # (r,)
    Y: Array,  # (q, n): one problem per column
    X: Array,  # (n, r): one solution per row; with warm, the starts on entry
    simplex: bool,  # whether Σx = 1 must hold; no row of Rt may then be zero
    stable: bool,  # the stable form, not the Gram form
    warm: bool,  # whether the first free set is where X is positive, not where the guess is
) -> None:
    """Write argmin ‖y − R x‖ over x ≥ 0, for every column y of Y, into the rows of X."""
    # Once x is feasible the objective falls with every change of the free set, so no set comes
    # twice and the loop ends. Rounding can break this only among sets whose objectives agree to the
    # last digits; a cap of 10 (r + 1) changes stops at one of them.
    r, q = Rt.shape
    # The memory is allocated here, so that the compiled function needs no reference counts.
    free = np.empty(r, dtype=np.int64)
    n_rows = _N_VECTORS + r  # the vectors above and L
    solve_problems = _solve_by_gram_form
    if stable:
        n_rows += r  # Q
        solve_problems = _solve_by_stable_form
    vectors = aligned_zeros(n_rows, max(r, q))
    solve_problems(Rt, G, guess, shift, Y, X, simplex, warm, free, vectors)


def _kernel(stable: bool) -> Callable[..., None]:
    """Return the compiled function of one form."""
    # The form is a constant of the function: numba leaves out the branches of the other one. So the
    # stable form, which few problems need, is compiled only when one does.

    @jit_without_allocation
    def solve_problems(
        Rt: Array,
        G: Array,
        guess: Array,
        shift: Array,
        Y: Array,
        X: Array,
        simplex: bool,
        warm: bool,
        free: Array,
        vectors: Array,
    ) -> None:
        """Do the work of :func:`active_set` in the memory that it has allocated."""
        r = Rt.shape[0]
        L = vectors[_N_VECTORS : _N_VECTORS + r]
        Q = vectors[_N_VECTORS + r :]
        s = vectors[_MINIMISER]
        w = vectors[_GRADIENT]
        rows = 0  # how many rows of the factor belong to free[:rows]
        for problem in range(Y.shape[1]):
            x = X[problem]
            size = _start(Rt, guess, shift, Y, problem, x, vectors, stable, warm)
            if size < 0.0:
                continue
            # Exchange indices of F, at first where x > 0, until x is optimal.
            k, rows = _first_free_set(x, r, free, rows, simplex)
            feasible = False
            entering = -1
            tolerance = 0.0
            for _ in range(10 * (r + 1)):
                k, rows = _extend_factor(Rt, G, free, L, Q, x, vectors, k, rows, stable)
                _minimise_on_free_set(free, L, Q, vectors, k, Rt.shape[1], simplex, stable)
                appended = k > 0 and free[k - 1] == entering
                if entering >= 0 and not (appended and s[k - 1] > 0.0):
                    # Its gradient was positive by rounding only: try the next one.
                    w[entering] = 0.0
                    k -= appended
                    rows = k
                else:
                    kept, rows = _move(free, s, x, int64(k), boolean(feasible))
                    if kept < k:
                        k = kept
                        entering = -1
                        continue
                    feasible = True
                    tolerance = _gradient(Rt, G, free, Q, vectors, k, size, simplex, stable)
                entering = _largest_gradient(x, w, r, tolerance)
                if entering < 0:
                    break
                free[k] = entering
                k += 1

    return solve_problems


_solve_by_gram_form = _kernel(stable=False)
_solve_by_stable_form = _kernel(stable=True)


@inlined
def _start(
    Rt: Array,
    guess: Array,
    shift: Array,
    Y: Array,
    problem: int,
    x: Array,
    vectors: Array,
    stable: bool,
    warm: bool,
) -> float:
    """Take y and the start x of a problem, and return max |y_i|; −1 if x solves it already."""
    y = vectors[_DATA]
    size = 0.0
    for i in range(Rt.shape[1]):
        y[i] = Y[i, problem]
        size = max(size, abs(y[i]))
    smallest = -1.0
    if not warm:
        smallest = affine(guess, y, shift, x)
    if stable:
        return size
    if smallest >= 0.0:
        return -1.0  # x ≥ 0 holds without being enforced
    affine(Rt, y, vectors[_ZERO], vectors[_PRODUCTS])
    return size


@inlined
def _first_free_set(x: Array, r: int, free: Array, rows: int, simplex: bool) -> tuple[int, int]:
    """Let F be where x > 0 and set x to zero; return the size of F and the valid rows of L."""
    k = 0
    common = 0
    for i in range(r):
        if x[i] > 0.0:
            # The rows of the last problem stay valid as long as its free indices are the same.
            if common == k and k < rows and free[k] == i:
                common += 1
            free[k] = i
            k += 1
        x[i] = 0.0
    if simplex and k == 0:  # Σx = 1 needs a free index
        free[0] = 0
        k = 1
    return k, common


@inlined
def _extend_factor(
    Rt: Array,
    G: Array,
    free: Array,
    L: Array,
    Q: Array,
    x: Array,
    vectors: Array,
    k: int,
    rows: int,
    stable: bool,
) -> tuple[int, int]:
    """Compute the missing rows of L, take dependent columns out of F; return its size, twice."""
    inverse = vectors[_INVERSE]
    while rows < k:
        j = free[rows]
        if stable:
            pivot = orthogonal_row(Rt, j, int64(rows), L, Q)
        else:
            pivot = cholesky_row(G, free, int64(rows), L, inverse)
        if pivot > 0.0:
            inverse[rows] = 1.0 / pivot
            rows += 1
        else:
            x[j] = 0.0
            k -= 1
            for t in range(rows, k):
                free[t] = free[t + 1]
    return k, rows


@inlined
def _minimise_on_free_set(
    free: Array, L: Array, Q: Array, vectors: Array, k: int, q: int, simplex: bool, stable: bool
) -> None:
    """Compute z and the minimiser s."""
    inverse = vectors[_INVERSE]
    s = vectors[_MINIMISER]
    z = vectors[_COORDINATES]
    e = vectors[_ONES]
    c = vectors[_PRODUCTS]
    y = vectors[_DATA]
    if stable:
        for t in range(k):
            value = 0.0
            for i in range(q):
                value += Q[t, i] * y[i]
            z[t] = value
    else:
        for t in range(k):
            z[t] = c[free[t]]
        forward(L, inverse, k, z)
    if simplex:
        # With s = L⁻ᵀz, the constraint Σs = 1 reads eᵀz = 1: project z onto that plane.
        for t in range(k):
            e[t] = 1.0
        forward(L, inverse, k, e)
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
    backward(L, inverse, k, s)


@inlined
def _gradient(
    Rt: Array,
    G: Array,
    free: Array,
    Q: Array,
    vectors: Array,
    k: int,
    size: float,
    simplex: bool,
    stable: bool,
) -> float:
    """Compute w at x = s and return the size of its rounding errors; ``size`` is max |y_i|."""
    s = vectors[_MINIMISER]
    w = vectors[_GRADIENT]
    c = vectors[_PRODUCTS]
    y = vectors[_DATA]
    z = vectors[_COORDINATES]
    residual = vectors[_RESIDUAL]
    r, q = Rt.shape
    if stable:
        # The residual through Q: R x itself would lose digits where x is large.
        for i in range(q):
            residual[i] = y[i]
        for t in range(k):
            for i in range(q):
                residual[i] -= z[t] * Q[t, i]
        affine(Rt, residual, vectors[_ZERO], w)
        tolerance = 4.0 * _EPSILON * size
    else:
        for i in range(r):
            w[i] = c[i]
        total = 0.0
        for t in range(k):
            total += s[t]
            for i in range(r):
                w[i] -= s[t] * G[free[t], i]
        tolerance = 4.0 * _EPSILON * (size + total)
    if simplex:
        # On F the entries of w equal the multiplier of Σx = 1, up to rounding: take their mean with
        # weights s, and subtract it.
        level = 0.0
        for t in range(k):
            level += s[t] * w[free[t]]
        for i in range(r):
            w[i] -= level
    return tolerance


@inlined
def _largest_gradient(x: Array, w: Array, r: int, tolerance: float) -> int:
    """Return the index at zero with the largest w above the tolerance, or −1."""
    entering = -1
    best = tolerance
    for i in range(r):
        if x[i] == 0.0 and w[i] > best:
            best = w[i]
            entering = i
    return entering


@helper
def _move(free: Array, s: Array, x: Array, k: int, feasible: bool) -> tuple[int, int]:
    """Go from x towards s while x ≥ 0; return the size of F then, and the valid rows of L."""
    # If x is not feasible yet, go to s at once: this mostly removes several wrong guesses together.
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
        value = s[t]
        if blocking >= 0:
            value = x[i] + step * (s[t] - x[i])
        if t == blocking or value <= 0.0:
            x[i] = 0.0
            rows = min(rows, t)
        else:
            x[i] = value
            free[kept] = i
            kept += 1
    return kept, rows
