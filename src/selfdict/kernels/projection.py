"""Euclidean projection of rows onto Ω (appendix B of the paper), by Newton's method instead of a heap.

The optimal gate t of a row solves c'(t) = 0, where c' is increasing, piecewise linear and concave. A
Newton step from any point therefore lands left of the root, and from there the steps increase and end,
after finitely many, at the exact root. One step is one pass over a row that is in cache.
"""

from selfdict._validation import Array
from selfdict.kernels.jit import jit

ROWS_PER_SLICE = 64


@jit
def project_row(z: Array, w: Array, i: int, upper: float, guess: float) -> float:
    """Project the row ``z``, row i of X, in place; return its diagonal entry. ``guess`` only saves steps.

    A row with w_i = 0 becomes zero, and so does every entry with w_j = 0.
    """
    n = z.shape[0]
    zero = z.dtype.type(0.0)
    wi = w[i]
    if wi == 0.0:
        z[:] = 0.0
        return 0.0
    own = float(z[i])
    z[i] = 0.0  # drops out of the sums below: w_i·0 > w_i·t never holds
    lowest = min(max(own, 0.0), upper)
    t = min(max(guess, lowest), upper)
    first = True
    while True:
        threshold = z.dtype.type(t) / wi
        num = 0.0
        den = 0.0
        for j in range(n):  # a selected weight instead of a branch: LLVM turns this into SIMD
            active = w[j] if z[j] > w[j] * threshold else zero
            num += active * z[j]
            den += active * w[j]
        new = min(max(wi * (wi * own + num) / (wi * wi + den), lowest), upper)
        if new == t or not (first or new > t):  # also where a NaN has come in
            break
        t = new
        first = False
    if t == 0.0:
        z[:] = 0.0
        return 0.0
    ratio = z.dtype.type(t) / wi
    for j in range(n):
        bound = w[j] * ratio
        value = z[j] if z[j] < bound else bound
        z[j] = value if value > zero else zero
    z[i] = t
    return t


@jit
def project_rows(Z: Array, w: Array, rows: Array, upper: float, start: int, stop: int) -> None:
    """Project rows ``start`` to ``stop`` of ``Z`` in place; ``Z[a]`` is row ``rows[a]`` of X."""
    for a in range(start, stop):
        project_row(Z[a], w, rows[a], upper, 0.0)


@jit
def gradient_step(
    V: Array,
    Y: Array,
    Y_old: Array,
    open_: Array,
    open_old: Array,
    beta: float,
    step: float,
    penalty: Array,
    w: Array,
    first_row: int,
) -> None:
    """One step of Algorithm 1 on some rows: extrapolate, descend, project; ``Y_old`` receives the new rows.

    ``V`` holds Mᵀ(M − M X) for the extrapolated X, rows ``first_row`` onwards; it is overwritten. Rows that
    are zero now and were zero before (``open_``, ``open_old``) are neither read nor written.
    """
    n = V.shape[1]
    one = V.dtype.type(step)
    b = V.dtype.type(beta)
    for a in range(V.shape[0]):
        i = first_row + a
        v = V[a]
        guess = 0.0
        if open_[i] or open_old[i]:
            y = Y[i]
            old = Y_old[i]
            guess = float(y[i])
            for j in range(n):
                v[j] = y[j] + b * (y[j] - old[j]) + one * v[j]
        else:
            for j in range(n):
                v[j] = one * v[j]
        v[i] -= step * penalty[i]
        t = project_row(v, w, i, 1.0, guess)
        if t > 0.0 or open_old[i]:
            Y_old[i] = v
        open_old[i] = t > 0.0
