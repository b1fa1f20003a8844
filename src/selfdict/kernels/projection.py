"""Euclidean projection of rows onto Ω (appendix B of the paper), by Newton's method instead of a heap.

The optimal gate t of a row solves c'(t) = 0, where c' is increasing, piecewise linear and concave.
A Newton step from any point therefore lands left of the root, and from there the steps increase and
end, after finitely many, at the exact root. One step is one pass over a row that is in cache.

Below, ``own`` is the row's own entry x_i, which is taken out of the row (a zero does not enter the
sums) and becomes the gate.
"""

from selfdict._validation import Array
from selfdict.kernels.jit import jit

ROWS_PER_SLICE = 64
CHUNK = 512  # entries whose sum is taken in the dtype of the row, before it joins a float64 sum


@jit
def _sums(z: Array, w: Array, ratio: float) -> tuple[float, float]:
    """Return Σ w_j z_j and Σ w_j² over the entries above their bound, z_j > w_j·ratio."""
    zero = z.dtype.type(0.0)
    num, den = 0.0, 0.0
    for start in range(0, len(z), CHUNK):
        x, v = z[start : start + CHUNK], w[start : start + CHUNK]
        a, b = zero, zero
        for j in range(len(x)):
            above = v[j] if x[j] > v[j] * ratio else zero  # no branch: LLVM turns this into SIMD
            a += above * x[j]
            b += above * v[j]
        num += a
        den += b
    return num, den


@jit
def _clip(z: Array, w: Array, ratio: float, out: Array) -> tuple[float, float]:
    """Write z clipped to [0, w_j·ratio] into ``out`` (it may be ``z``); return the sums of :func:`_sums`."""
    zero = z.dtype.type(0.0)
    num, den = 0.0, 0.0
    for start in range(0, len(z), CHUNK):
        x, v, y = z[start : start + CHUNK], w[start : start + CHUNK], out[start : start + CHUNK]
        a, b = zero, zero
        for j in range(len(x)):
            bound = v[j] * ratio
            above = v[j] if x[j] > bound else zero
            a += above * x[j]
            b += above * v[j]
            value = x[j] if x[j] < bound else bound
            y[j] = value if value > zero else zero
        num += a
        den += b
    return num, den


@jit
def _newton(own: float, wi: float, num: float, den: float, upper: float) -> float:
    """Return the gate at which c' would vanish, did the same entries stay above their bounds."""
    return min(max(wi * (wi * own + num) / (wi * wi + den), max(own, 0.0)), upper)


@jit
def project_row(z: Array, w: Array, i: int, upper: float) -> None:
    """Project the row ``z``, row i of X, in place.

    A row with w_i = 0 becomes zero, and so does every entry with w_j = 0.
    """
    wi = w[i]
    if wi == 0.0:
        z[:] = 0.0
        return
    own = float(z[i])
    z[i] = 0.0
    t, new = -1.0, min(max(own, 0.0), upper)
    while new > t:  # false where a NaN has come in
        t = new
        num, den = _sums(z, w, z.dtype.type(t) / wi)
        new = _newton(own, wi, num, den, upper)
    _clip(z, w, z.dtype.type(t) / wi, z)
    z[i] = t


@jit
def project_rows(Z: Array, w: Array, rows: Array, upper: float, start: int, stop: int) -> None:
    """Project rows ``start`` to ``stop`` of ``Z`` in place; ``Z[a]`` is row ``rows[a]`` of X."""
    for a in range(start, stop):
        project_row(Z[a], w, rows[a], upper)


@jit
def _descend(
    v: Array, y: Array, old: Array, beta: float, step: float, w: Array, ratio: float
) -> tuple[float, float]:
    """Put y + β(y − old) + step·v into ``v``; return the sums of :func:`_sums` for it."""
    zero = v.dtype.type(0.0)
    num, den = 0.0, 0.0
    for start in range(0, len(v), CHUNK):
        stop = start + CHUNK
        x, now, before, u = v[start:stop], y[start:stop], old[start:stop], w[start:stop]
        a, b = zero, zero
        for j in range(len(x)):
            value = now[j] + beta * (now[j] - before[j]) + step * x[j]
            above = u[j] if value > u[j] * ratio else zero
            a += above * value
            b += above * u[j]
            x[j] = value
        num += a
        den += b
    return num, den


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
    gate: int,
) -> None:
    """One step of Algorithm 1 on some rows: extrapolate, descend, project; ``Y_old`` receives the new rows.

    ``V`` holds Mᵀ(M − M X) for the extrapolated X, rows ``first_row`` onwards; it is overwritten.
    Rows that are zero now and were zero before (``open_``, ``open_old``) are neither read nor
    written. The gate of row i is its entry ``gate``, or its own entry i if that is −1.
    """
    real = V.dtype.type
    beta, step = real(beta), real(step)
    for a in range(V.shape[0]):
        i = first_row + a
        c = i if gate < 0 else gate
        v, y, out, wi = V[a], Y[i], Y_old[i], w[c]
        if wi == 0.0:
            continue
        if open_[i] or open_old[i]:
            guess = y[c] + beta * (y[c] - out[c])
            own = guess + step * (v[c] - penalty[i])
            ratio = max(guess, real(0.0)) / wi
            left = _descend(v[:c], y[:c], out[:c], beta, step, w[:c], ratio)
            right = _descend(v[c + 1 :], y[c + 1 :], out[c + 1 :], beta, step, w[c + 1 :], ratio)
            v[c] = 0.0
            new = _newton(own, wi, left[0] + right[0], left[1] + right[1], 1.0)
            if (
                new == 0.0 and ratio > 0.0
            ):  # the guess lay so far right that the step led below zero
                num, den = _sums(v, w, real(0.0))
                new = _newton(own, wi, num, den, 1.0)
        else:
            own = step * (v[c] - penalty[i])
            v[c] = 0.0
            num, den = _sums(v, w, real(0.0))
            new = _newton(own, wi, step * num, den, 1.0)
            if new > 0.0:
                for j in range(len(v)):
                    v[j] *= step
        t = 0.0
        while new > t:  # each step writes what it sums, so the last has written the answer
            t = new
            num, den = _clip(v, w, real(t) / wi, out)
            new = _newton(own, wi, num, den, 1.0)
        if t > 0.0:
            out[c] = t
        elif open_old[i]:
            out[:] = 0.0
        open_old[i] = t > 0.0
