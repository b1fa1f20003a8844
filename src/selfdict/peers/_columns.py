"""What the selection methods share: checks of the data and of the rank, and the rule for ties."""

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.scaling import exponent_from_squares, times_power_of_two
from selfdict.kernels.column_norms import squared_norms

# Squared residual norms that agree to this relative difference are ties.
RESIDUAL_TIE = 1e-6


def with_squared_norms(M: Array) -> tuple[Array, Array]:
    """Return M, and ‖m_j‖² of every column in float64, in one pass; raise if M is not finite.

    If squares of M leave the range of float64 or come near its ends, M is divided by a power of
    two, which changes no choice of columns.
    """
    norms = squared_norms(M)
    exponent = exponent_from_squares(M, norms)
    if exponent != 0:
        M = times_power_of_two(M, -exponent)
        norms = squared_norms(M)
    if not np.isfinite(norms).all():
        raise InputError("M contains NaN or infinity")
    return M, norms


def negligible(M: Array) -> float:
    """Return the share of ‖m_j‖² below which a squared residual is rounding error in M's dtype."""
    return float((16 * np.finfo(M.dtype).eps) ** 2 * M.shape[0])


def first_largest(residuals: Array, norms: Array) -> int:
    """Return the position of the largest residual; among ties, the larger norm, then the first."""
    tied = np.flatnonzero(residuals >= (1 - RESIDUAL_TIE) * residuals.max())
    return int(tied[np.argmax(norms[tied])])


def enough(selected: list[int], r: int, reason: str) -> Array:
    """Return the selected indices as an array; raise if there are fewer than r."""
    if len(selected) < r:
        raise InputError(f"r must be at most {len(selected)} for this M, got {r}: {reason}")
    return np.array(selected, dtype=np.intp)
