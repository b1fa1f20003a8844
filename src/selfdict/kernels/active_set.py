"""Nonnegative least squares, with or without Σx = 1, by active sets, for many right-hand sides.

The free set F of a problem grows and shrinks as in the method of Lawson and Hanson. The triangular
factor of its columns, L Lᵀ = R_FᵀR_F, is kept row by row in the order in which the indices entered.
An index that enters costs one row; an index that leaves costs the rows after it. The rows that the
next problem needs as well are not computed again.

Two forms share the loop. The Gram form computes L as the Cholesky factor of (RᵀR)_FF and is the
fast one. The stable form orthogonalises the columns of R_F, L Q = R_Fᵀ, and so never squares the
condition number.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import aligned_zeros, boolean, helper, inlined, int64, jit

# A column whose distance to the span of the free ones is below this, relative to its norm, cannot
# join them. The Gram form computes squared distances, and compares these with it.
_DEPENDENT_COLUMN = 1e-14
_EPSILON = 2.0**-52  # the machine epsilon of float64


class _Memory(NamedTuple):
    """Arrays that all problems share."""

    Rt: Array
    G: Array
    free: Array  # F, in order of entry
    inverse: Array  # 1 / diag(L)
    s: Array  # the minimiser on F, without x ≥ 0
    z: Array  # L⁻¹ R_Fᵀy; with Σx = 1, projected onto the plane of the constraint
    e: Array  # L⁻¹ 1
    w: Array  # the negative gradient, Rᵀ(y − R x)
    c: Array  # Rᵀy, used by the Gram form only
    zero: Array
    y: Array
    residual: Array  # y − R x, used by the stable form only
    L: Array
    Q: Array  # of the stable form


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
    free = np.empty(r, dtype=np.int64)
    n_rows = 9 + r  # the vectors of the memory, and L
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

    @jit
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
        r = Rt.shape[0]
        memory = _Memory(
            Rt=Rt,
            G=G,
            free=free,
            inverse=vectors[0],
            s=vectors[1],
            z=vectors[2],
            e=vectors[3],
            w=vectors[4],
            c=vectors[5],
            zero=vectors[6],
            y=vectors[7],
            residual=vectors[8],
            L=vectors[9 : 9 + r],
            Q=vectors[9 + r :],
        )
        s = memory.s
        w = memory.w
        rows = 0  # how many rows of the factor belong to free[:rows]
        for problem in range(Y.shape[1]):
            x = X[problem]
            size = _start(memory, guess, shift, Y[:, problem], x, stable, warm)
            if size < 0.0:
                continue
            # Exchange indices of F, at first where x > 0, until x is optimal.
            k, rows = _first_free_set(x, r, free, rows, simplex)
            feasible = False
            entering = -1
            tolerance = 0.0
            for _ in range(10 * (r + 1)):
                k = _extend_factor(memory, x, k, rows, stable)
                rows = k
                _minimise_on_free_set(memory, k, simplex, stable)
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
                    tolerance = _gradient(memory, k, size, simplex, stable)
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
    memory: _Memory, guess: Array, shift: Array, data: Array, x: Array, stable: bool, warm: bool
) -> float:
    """Take the data and the start x of a problem; return max |y_i|, or −1 if x solves it."""
    y = memory.y
    size = 0.0
    for i in range(data.size):
        y[i] = data[i]
        size = max(size, abs(y[i]))
    smallest = -1.0
    if not warm:
        smallest = _affine(guess, y, shift, x)
    if stable:
        return size
    if smallest >= 0.0:
        return -1.0  # x ≥ 0 holds without being enforced
    _affine(memory.Rt, y, memory.zero, memory.c)
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
def _extend_factor(memory: _Memory, x: Array, k: int, rows: int, stable: bool) -> int:
    """Compute the missing rows of L, take dependent columns out of F; return its size."""
    free = memory.free
    while rows < k:
        j = free[rows]
        if stable:
            pivot = _orthogonal_row(memory.Rt, j, int64(rows), memory.L, memory.Q)
        else:
            pivot = _cholesky_row(memory.G, free, int64(rows), memory.L, memory.inverse)
        if pivot > 0.0:
            memory.inverse[rows] = 1.0 / pivot
            rows += 1
        else:
            x[j] = 0.0
            k -= 1
            for t in range(rows, k):
                free[t] = free[t + 1]
    return k


@helper
def _cholesky_row(G: Array, free: Array, k: int, L: Array, inverse: Array) -> float:
    """Compute row k of L but its pivot, which is returned; 0 for a dependent column."""
    j = free[k]
    square = G[j, j]
    for t in range(k):
        value = G[j, free[t]]
        for i in range(t):
            value -= L[k, i] * L[t, i]
        value *= inverse[t]
        L[k, t] = value
        square -= value * value
    if square > _DEPENDENT_COLUMN * G[j, j]:
        return float(np.sqrt(square))
    return 0.0


@helper
def _orthogonal_row(Rt: Array, j: int, k: int, L: Array, Q: Array) -> float:
    """Compute row k of Q, and of L but its pivot, which is returned; 0 for a dependent column."""
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
    if not square > _DEPENDENT_COLUMN * _DEPENDENT_COLUMN * norm:
        return 0.0
    pivot = np.sqrt(square)
    for i in range(q):
        Q[k, i] /= pivot
    return float(pivot)


@inlined
def _minimise_on_free_set(memory: _Memory, k: int, simplex: bool, stable: bool) -> None:
    """Compute z and the minimiser s."""
    z = memory.z
    e = memory.e
    if stable:
        for t in range(k):
            value = 0.0
            for i in range(memory.Rt.shape[1]):
                value += memory.Q[t, i] * memory.y[i]
            z[t] = value
    else:
        for t in range(k):
            z[t] = memory.c[memory.free[t]]
        _forward(memory.L, memory.inverse, k, z)
    if simplex:
        # With s = L⁻ᵀz, the constraint Σs = 1 reads eᵀz = 1: project z onto that plane.
        for t in range(k):
            e[t] = 1.0
        _forward(memory.L, memory.inverse, k, e)
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
        memory.s[t] = z[t]
    _backward(memory.L, memory.inverse, k, memory.s)


@helper
def _forward(L: Array, inverse: Array, k: int, b: Array) -> None:
    """Replace b[:k] by L⁻¹ b."""
    for t in range(k):
        value = b[t]
        for i in range(t):
            value -= L[t, i] * b[i]
        b[t] = value * inverse[t]


@helper
def _backward(L: Array, inverse: Array, k: int, b: Array) -> None:
    """Replace b[:k] by L⁻ᵀ b."""
    for t in range(k - 1, -1, -1):
        value = b[t] * inverse[t]
        b[t] = value
        for i in range(t):
            b[i] -= L[t, i] * value


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


@inlined
def _gradient(memory: _Memory, k: int, size: float, simplex: bool, stable: bool) -> float:
    """Compute w at x = s and return the size of its rounding errors; ``size`` is max |y_i|."""
    s = memory.s
    w = memory.w
    r, q = memory.Rt.shape
    if stable:
        # The residual through Q: R x itself would lose digits where x is large.
        for i in range(q):
            memory.residual[i] = memory.y[i]
        for t in range(k):
            for i in range(q):
                memory.residual[i] -= memory.z[t] * memory.Q[t, i]
        _affine(memory.Rt, memory.residual, memory.zero, w)
        tolerance = 4.0 * _EPSILON * size
    else:
        for i in range(r):
            w[i] = memory.c[i]
        total = 0.0
        for t in range(k):
            total += s[t]
            for i in range(r):
                w[i] -= s[t] * memory.G[memory.free[t], i]
        tolerance = 4.0 * _EPSILON * (size + total)
    if simplex:
        # On F the entries of w equal the multiplier of Σx = 1, up to rounding: take their mean with
        # weights s, and subtract it.
        level = 0.0
        for t in range(k):
            level += s[t] * w[memory.free[t]]
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
