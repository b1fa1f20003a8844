"""The penalty at which the solution of model (6) has a given residual or trace."""

from collections.abc import Callable

import numpy as np

LIMIT = 40  # evaluations
STEP = 3.0  # longest step in log μ
RANGE = 15.0  # how far log μ may go from its start


def find_penalty(excess: Callable[[float], float], mu: float, tol: float) -> bool:
    """Change μ until |excess(μ)| ≤ tol; return whether that was reached.

    ``excess`` falls with μ, positive where μ is too small. The last call is the one that counts, so
    that what it leaves behind (a warm start, a solution) belongs to the μ found. Secant steps in
    log μ, kept inside the bracket by bisection.

    Examples
    --------
    >>> seen = []
    >>> find_penalty(lambda mu: seen.append(mu) or 2.0 - mu, 0.1, 1e-3)
    True
    >>> round(seen[-1], 2)
    2.0
    """
    start = x = float(np.log(mu))
    low, high = -np.inf, np.inf  # μ too small, μ too large
    points: list[tuple[float, float]] = []
    for _ in range(LIMIT):
        value = excess(float(np.exp(x)))
        if abs(value) <= tol:
            return True
        low, high = (max(low, x), high) if value > 0 else (low, min(high, x))
        points.append((x, value))
        step = 2 * value
        if len(points) > 1 and points[-2][1] != value:
            x0, v0 = points[-2]
            step = value * (x - x0) / (v0 - value)
        elif len(points) > 1:  # flat
            step = np.copysign(STEP, value)
        x += float(np.clip(step, -STEP, STEP))
        if not low < x < high:
            x = (
                (low + high) / 2
                if np.isfinite(high - low)
                else points[-1][0] + float(np.copysign(STEP, value))
            )
        if high - low < 1e-12 or abs(x - start) > RANGE:  # a jump, or out of reach
            break
    return False
