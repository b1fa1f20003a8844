"""What the selection methods share: norms that vouch for finite data, the tie rule, the word on too few."""

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, all_finite
from selfdict.kernels.column_norms import squared_norms

# Squared residual norms this close, relative, are ties.
TIE = 1e-6


def finite_squared_norms(M: Array) -> Array:
    """Return ‖m_j‖² of every column in float64, or raise where M is not finite, in one pass."""
    norms = squared_norms(M)
    require_finite(norms, M)
    return norms


def require_finite(sums: Array, M: Array) -> None:
    """Raise where sums of squares of M are not finite, and say whether M was not."""
    if not np.isfinite(sums).all():
        if all_finite(M):
            raise InputError(
                "the squares of the entries of M overflow; divide M by its largest entry first"
            )
        raise InputError("M contains NaN or infinity")


def negligible(M: Array) -> float:
    """Return the share of ‖m_j‖² below which a squared residual is rounding error of M's precision."""
    return float((16 * np.finfo(M.dtype).eps) ** 2 * M.shape[0])


def first_largest(residuals: Array, norms: Array) -> int:
    """Return the position of the largest residual; among ties, of the larger norm, then the first."""
    tied = np.flatnonzero(residuals >= (1 - TIE) * residuals.max())
    return int(tied[np.argmax(norms[tied])])


def enough(selected: list[int], r: int, reason: str) -> Array:
    """Return the selected indices as an array, or say why there are fewer than r."""
    if len(selected) < r:
        raise InputError(f"r must be at most {len(selected)} for this M, got {r}: {reason}")
    return np.array(selected, dtype=np.intp)
