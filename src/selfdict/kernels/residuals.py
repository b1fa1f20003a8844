"""The pass over m×n arrays that an iteration of Algorithm 1 needs besides its matrix products."""

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@jit
def subtract_and_extrapolate(
    M: Array, MX: Array, R_old: Array, s: Array, beta: float, E: Array, start: int, stop: int
) -> float:
    """Turn MX into the residual R = M − MX and E into (R + β(R − R_old)) diag(s).

    Both for the columns ``start`` to ``stop``. Return Σ s_j R_ij² over these columns, summed in
    float64.
    """
    b = M.dtype.type(beta)  # a float64 β would turn the arithmetic of float32 rows into float64
    weight = s[start:stop]
    total = 0.0
    for i in range(M.shape[0]):
        data = M[i, start:stop]
        residual = MX[i, start:stop]
        residual_old = R_old[i, start:stop]
        extrapolated = E[i, start:stop]
        for j in range(len(residual)):
            r = data[j] - residual[j]
            residual[j] = r
            extrapolated[j] = (r + b * (r - residual_old[j])) * weight[j]
            total += weight[j] * float(r) * float(r)
    return total
