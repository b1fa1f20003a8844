"""Selection of the largest squared residual norm, where each norm is known up to a slack."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit_without_allocation


@jit_without_allocation
def subtract_squares(residuals: Array, slack: Array, change: Array, rounding: Array) -> None:
    """Subtract ``change[j]``² from ``residuals[j]`` and add the possible error to ``slack[j]``.

    ``rounding[j]`` bounds the error of ``change[j]``.
    """
    for j in range(residuals.size):
        c = np.float64(change[j])
        residuals[j] -= c * c
        # |(c + δ)² − c²| ≤ ρ (2 |c| + ρ) for every |δ| ≤ ρ.
        slack[j] += rounding[j] * (2.0 * abs(c) + rounding[j])


@jit_without_allocation
def surely_largest(residuals: Array, slack: Array) -> float:
    """Return the largest ``residuals[j] − slack[j]``, or zero if all are negative."""
    largest = 0.0
    for j in range(residuals.size):
        lower = residuals[j] - slack[j]
        if lower > largest:
            largest = lower
    return largest


def possibly_larger(residuals: Array, slack: Array, threshold: float) -> Array:
    """Return the columns whose ``residuals[j] + slack[j]`` is positive and ≥ ``threshold``."""
    upper = residuals + slack
    return np.flatnonzero((upper >= threshold) & (upper > 0.0))
