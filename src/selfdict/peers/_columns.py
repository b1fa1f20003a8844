"""What the selection methods share: checks of the data and of the rank, and the rule for ties."""

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, all_finite
from selfdict.kernels.column_norms import squared_norms

# Squared residual norms that agree to this relative difference are ties.
RESIDUAL_TIE = 1e-6


def finite_squared_norms(M: Array) -> Array:
    """Return ‖m_j‖² of every column in float64, in one pass; raise if M is not finite."""
    norms = squared_norms(M)
    require_finite(norms, M)
    return norms


def require_finite(sums: Array, M: Array) -> None:
    """Raise if sums of squares of M are not finite, with the reason."""
    if not np.isfinite(sums).all():
        if all_finite(M):
            raise InputError(
                "the squares of the entries of M overflow; divide M by its largest entry first"
            )
        raise InputError("M contains NaN or infinity")


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
