"""The two sweeps over m×n arrays that an iteration of Algorithm 1 needs besides its products."""

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@jit
def subtract_and_square(M: Array, MX: Array, s: Array, start: int, stop: int) -> float:
    """Turn columns ``start`` to ``stop`` of MX into R = M − MX; return Σ s_j R_ij² over them, summed in float64."""
    total = 0.0
    for i in range(M.shape[0]):
        for j in range(start, stop):
            r = M[i, j] - MX[i, j]
            MX[i, j] = r
            total += s[j] * float(r) * float(r)
    return total


@jit
def extrapolate(R: Array, R_old: Array, s: Array, beta: float, out: Array, start: int, stop: int) -> None:
    """Set columns ``start`` to ``stop`` of ``out`` to (R + β(R − R_old)) diag(s)."""
    b = R.dtype.type(beta)
    for i in range(R.shape[0]):
        for j in range(start, stop):
            out[i, j] = (R[i, j] + b * (R[i, j] - R_old[i, j])) * s[j]
