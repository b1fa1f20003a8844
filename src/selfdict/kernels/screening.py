"""The reduction of the screening pass: positive parts summed along the rows of a tile that is still in cache."""

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@jit
def add_positive_sums(V: Array, out: Array) -> None:
    """Add Σ_j max(0, V_ij) to ``out[i]``."""
    zero = V.dtype.type(0)
    for i in range(V.shape[0]):
        v = V[i]
        total = zero
        for j in range(v.shape[0]):
            total += max(v[j], zero)
        out[i] += total
