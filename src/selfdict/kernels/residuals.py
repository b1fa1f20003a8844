"""The sweep over m×n arrays that an iteration of Algorithm 1 needs besides its products."""

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@jit
def subtract_and_extrapolate(
    M: Array, MX: Array, R_old: Array, s: Array, beta: float, E: Array, start: int, stop: int
) -> float:
    """Turn MX into R = M − MX and E into (R + β(R − R_old)) diag(s); return Σ s_j R_ij², summed in float64.

    All of it for the columns ``start`` to ``stop``.
    """
    b, weight = M.dtype.type(beta), s[start:stop]
    total = 0.0
    for i in range(M.shape[0]):
        data, now, before, ahead = (
            M[i, start:stop],
            MX[i, start:stop],
            R_old[i, start:stop],
            E[i, start:stop],
        )
        for j in range(len(now)):
            r = data[j] - now[j]
            now[j] = r
            ahead[j] = (r + b * (r - before[j])) * weight[j]
            total += weight[j] * float(r) * float(r)
    return total
