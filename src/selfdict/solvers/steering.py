"""The penalty at which the solution of model (6) has a given residual or trace."""

from collections.abc import Callable

import numpy as np

LIMIT = 40  # evaluations
FARTHEST = 3.0  # step in log μ while only one side is known


def find_penalty(excess: Callable[[float], float], mu: float, tol: float) -> bool:
    """Change μ until |excess(μ)| ≤ tol; return whether that was reached.

    ``excess`` falls with μ, positive where μ is too small. The last call is the one that counts, so that what
    it leaves behind (a warm start, a solution) belongs to the μ found. Secant steps in log μ, kept inside the
    bracket by bisection.

    Examples
    --------
    >>> seen = []
    >>> find_penalty(lambda mu: seen.append(mu) or 2.0 - mu, 0.1, 1e-3)
    True
    >>> round(seen[-1], 2)
    2.0
    """
    x = float(np.log(mu))
    low, high = -np.inf, np.inf  # μ too small, μ too large
    points: list[tuple[float, float]] = []
    for _ in range(LIMIT):
        value = excess(float(np.exp(x)))
        if abs(value) <= tol:
            return True
        low, high = (max(low, x), high) if value > 0 else (low, min(high, x))
        points.append((x, value))
        step = 2 * value
        if len(points) > 1:
            (x0, v0), (x1, v1) = points[-2:]
            step = value * (x1 - x0) / (v0 - v1) if v0 != v1 else 2 * step
        x += float(np.clip(step, -FARTHEST, FARTHEST))
        if not low < x < high:
            x = (low + high) / 2 if np.isfinite(high - low) else points[-1][0] + np.copysign(FARTHEST, value)
        if high - low < 1e-12:  # the quantity jumps here
            break
    return False
