"""Selection of the largest squared residual norm, where each norm is known up to a slack."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@jit
def subtract_squares(residuals: Array, slack: Array, change: Array, rounding: Array) -> None:
    """Subtract ``change[j]``² from ``residuals[j]`` and add the possible error to ``slack[j]``.

    ``rounding[j]`` bounds the error of ``change[j]``.
    """
    for j in range(residuals.size):
        c = np.float64(change[j])
        residuals[j] -= c * c
        # |(c + δ)² − c²| ≤ ρ (2 |c| + ρ) for every |δ| ≤ ρ.
        slack[j] += rounding[j] * (2.0 * abs(c) + rounding[j])


@jit
def surely_largest(residuals: Array, slack: Array) -> float:
    """Return the largest ``residuals[j] − slack[j]``, or zero if all are negative."""
    largest = 0.0
    for j in range(residuals.size):
        lower = residuals[j] - slack[j]
        if lower > largest:
            largest = lower
    return largest


@jit
def possibly_larger(residuals: Array, slack: Array, threshold: float) -> Array:
    """Return the columns whose ``residuals[j] + slack[j]`` is positive and ≥ ``threshold``."""
    # A first pass counts them, so that the array is allocated once and no larger than needed.
    count = 0
    for j in range(residuals.size):
        upper = residuals[j] + slack[j]
        count += upper >= threshold and upper > 0.0
    columns = np.empty(count, dtype=np.intp)
    position = 0
    for j in range(residuals.size):
        upper = residuals[j] + slack[j]
        if upper >= threshold and upper > 0.0:
            columns[position] = j
            position += 1
    return columns
