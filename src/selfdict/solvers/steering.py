"""The penalty at which the solution of model (6) has a given residual or trace."""

from collections.abc import Callable

import numpy as np

from selfdict.model.problem import Target
from selfdict.model.solution import Status
from selfdict.solvers.descent import Descent
from selfdict.solvers.newton import Newton
from selfdict.solvers.search import INNER_TOLERANCE, Search

# relative gap, or accuracy of a target, to which a sample is solved: its optimum is not the scene's
SAMPLE_TOL = 2e-3
LONGEST_STEP = 3.0  # in log μ


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
    for _ in range(40):
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
        if high - low < 1e-12 or abs(x - start) > 15:
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


class TargetSearch:
    """The search for the μ at which the residual or the trace has a given value."""

    def __init__(self, search: Search, newton: Newton, target: Target) -> None:
        self.search = search
        self.newton = newton
        self.kind, self.value = target
        self.on_all_columns = not newton.gates.columns.is_sample
        self.accuracy = SAMPLE_TOL  # relative, of the target
        self.tol = max(search.tol, SAMPLE_TOL)
        if self.on_all_columns:
            self.accuracy = 1e-3
            self.tol = search.tol
        self.status = Status.TARGET_MISSED

    def run(self) -> Status:
        """Change μ until the target is met; return how the last descent ended."""
        search = self.search
        first = search.mu
        is_met = find_penalty(self.excess(thorough=False), first, 0.5 * self.accuracy)
        if not self.on_all_columns:
            if not is_met:  # a sample may be too small for the target
                search.set_mu(first)
            return self.status
        thorough = self.excess(thorough=True)
        # a look at all rows may open more of them, which changes residual and trace
        if abs(thorough(search.mu)) > self.accuracy and is_met:
            is_met = find_penalty(thorough, search.mu, self.accuracy)
        if not is_met:
            return Status.TARGET_MISSED
        return self.status

    def excess(self, thorough: bool) -> Callable[[float], float]:
        """Return the function of μ that is positive where μ is too small, and 0 at the target."""

        def excess_at(mu: float) -> float:
            search = self.search
            if mu != search.mu:
                if abs(np.log(mu / search.mu)) > 0.1:
                    search.likely = None  # other rows become likely
                search.set_mu(mu)
            # the quantity itself is wanted, not only the objective
            search.newton_tolerance = 0.01 * INNER_TOLERANCE * self.accuracy * mu
            descent = Descent(search, self.newton, min(self.tol, 0.1 * self.accuracy), thorough)
            self.status = descent.run()
            if self.kind == "trace":
                attained = search.trace / self.value
            else:
                attained = self.value / max(search.residual, 1e-300)
            return float(np.log(max(attained, 1e-300)))

        return excess_at
