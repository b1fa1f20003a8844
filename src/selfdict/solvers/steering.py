"""The penalty at which the solution of model (6) has a given residual or trace."""

from collections.abc import Callable

import numpy as np

MAX_EVALUATIONS = 40
LONGEST_STEP = 3.0  # in log μ
LARGEST_DISTANCE = 15.0  # of log μ from its start


def find_penalty(excess: Callable[[float], float], mu: float, tol: float) -> bool:
    """Change μ until |excess(μ)| ≤ tol; return whether that was reached.

    ``excess`` falls with μ, and is positive where μ is too small. The last call is the one that
    counts, so that what it leaves behind (a warm start, a solution) belongs to the μ found. The
    steps are secant steps in log μ, kept inside the bracket by bisection.

    Examples
    --------
    >>> seen = []
    >>> find_penalty(lambda mu: seen.append(mu) or 2.0 - mu, 0.1, 1e-3)
    True
    >>> round(seen[-1], 2)
    2.0
    """
    start = float(np.log(mu))
    x = start
    low = -np.inf  # largest log μ that is too small
    high = np.inf  # smallest log μ that is too large
    last: tuple[float, float] | None = None
    for _ in range(MAX_EVALUATIONS):
        value = excess(float(np.exp(x)))
        if abs(value) <= tol:
            return True
        if value > 0:
            low = max(low, x)
        else:
            high = min(high, x)
        here = x
        x += float(np.clip(_step(here, value, last), -LONGEST_STEP, LONGEST_STEP))
        last = here, value
        if not low < x < high:
            if np.isfinite(high - low):
                x = (low + high) / 2
            else:
                x = here + float(np.copysign(LONGEST_STEP, value))
        # a jump of the function, or out of reach
        if high - low < 1e-12 or abs(x - start) > LARGEST_DISTANCE:
            break
    return False


def _step(x: float, value: float, last: tuple[float, float] | None) -> float:
    """Return the secant step from x, or a guess where there is no secant."""
    if last is None:
        return 2 * value
    x_last, value_last = last
    if value_last == value:  # flat
        return float(np.copysign(LONGEST_STEP, value))
    return value * (x - x_last) / (value_last - value)
