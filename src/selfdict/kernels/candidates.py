"""Squared residual norms that are known to within a slack, and the columns that may have the largest one."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@jit
def subtract_squares(residuals: Array, slack: Array, change: Array, rounding: Array) -> None:
    """Subtract ``change[j]``² from ``residuals[j]``; ``slack[j]`` grows by what ``rounding[j]`` in it can make."""
    for j in range(residuals.size):
        c = np.float64(change[j])
        residuals[j] -= c * c
        slack[j] += rounding[j] * (2.0 * abs(c) + rounding[j])


@jit
def surely_largest(residuals: Array, slack: Array) -> float:
    """Return the largest ``residuals[j] − slack[j]``, or zero where all are negative."""
    largest = 0.0
    for j in range(residuals.size):
        lower = residuals[j] - slack[j]
        largest = lower if lower > largest else largest
    return largest


@jit
def possibly_larger(residuals: Array, slack: Array, threshold: float) -> Array:
    """Return the columns whose ``residuals[j] + slack[j]`` is positive and at least ``threshold``."""
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
