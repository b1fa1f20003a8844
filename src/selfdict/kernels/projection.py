"""Euclidean projection of rows onto Ω (appendix B of the paper), by Newton's method instead of a heap.

The optimal gate t of a row solves c'(t) = 0, where c' is increasing, piecewise linear and concave. A
Newton step from any point therefore lands left of the root, and from there the steps increase and end,
after finitely many, at the exact root. One step is one pass over a row that is in cache.

Below, ``own`` is the row's own entry x_i, which is taken out of the row (a zero does not enter the sums)
and becomes the gate.
"""

from selfdict._validation import Array
from selfdict.kernels.jit import jit

ROWS_PER_SLICE = 64
CHUNK = 512  # entries whose sum is taken in the dtype of the row, before it joins a float64 sum


@jit
def sums(z: Array, w: Array, ratio: float) -> tuple[float, float]:
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
def clip(z: Array, w: Array, ratio: float, out: Array) -> tuple[float, float]:
    """Write z clipped to [0, w_j·ratio] into ``out`` (it may be ``z``); return the sums of :func:`sums`."""
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
def newton(own: float, wi: float, num: float, den: float, upper: float) -> float:
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
        num, den = sums(z, w, z.dtype.type(t) / wi)
        new = newton(own, wi, num, den, upper)
    clip(z, w, z.dtype.type(t) / wi, z)
    z[i] = t


@jit
def project_rows(Z: Array, w: Array, rows: Array, upper: float, start: int, stop: int) -> None:
    """Project rows ``start`` to ``stop`` of ``Z`` in place; ``Z[a]`` is row ``rows[a]`` of X."""
    for a in range(start, stop):
        project_row(Z[a], w, rows[a], upper)
