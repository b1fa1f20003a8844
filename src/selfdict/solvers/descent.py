"""Descents at a fixed penalty, and at the penalty that meets a target.

A descent minimises over the working set by Newton's method, screens the other rows, lets the
violating ones join, and ends by its stop rules.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from selfdict._validation import Array
from selfdict.model.problem import Target
from selfdict.model.solution import Status
from selfdict.solvers.gates import Gates, RowScores, Screening, violating_rows
from selfdict.solvers.search import INNER_TOLERANCE, Search

# relative gap, or accuracy of a target, to which a sample is solved: its optimum is not the scene's
SAMPLE_TOL = 2e-3
LONGEST_STEP = 3.0  # in log μ


class Descent:
    """The state of a descent to the relative gap ``tol``; ``step`` until it returns a status.

    As long as a likely row violates optimality, only the likely rows are screened. When none does,
    all rows are (unless not ``thorough``), which gives a dual bound: on all columns of M, the
    certificate.
    """

    def __init__(self, search: Search, gates: Gates, tol: float, thorough: bool) -> None:
        self.search = search
        self.gates = gates
        self.tol = tol
        self.thorough = thorough
        self.on_all_columns = not gates.columns.is_sample
        self.constant = 0.0  # a sample's objective leaves out what no X can explain
        if self.on_all_columns:
            self.constant = search.data.constant
        self.objective = np.inf
        self.bound = 0.0
        self.stall = StallRule()
        self.view: Screening | None = None  # of the working set as it is
        # of the last screening: rows to open, the most violating first, and their worst violation
        self.new = np.empty(0, np.int64)
        self.violation = 0.0
        # whether the next screening is expected to find no violating row
        self.is_near_end = False
        # whether the likely rows were chosen by scores of all rows, in this descent
        self.likely_are_chosen = False

    def run(self) -> Status:
        """Step until a stop rule holds; return which."""
        status = None
        while status is None:
            status = self.step()
        return status

    def step(self) -> Status | None:
        """Minimise over the working set, screen, and let rows join; return a status at the end."""
        search = self.search
        gates = self.gates
        gates.minimise(
            search.penalty.take(gates.atoms), search.newton_tolerance, lambda: search.save(gates)
        )
        search.save(gates)
        # most steps need no look at all rows, which costs a pass over MᵀM
        if self.is_near_end:
            found = self.screen_all()
        else:
            found = self.screen_likely()
            # nothing to do for the likely rows: screen all of them
            is_settled = len(self.new) == 0 or search.estimated_gap <= 0.3 * self.tol
            if is_settled and not found.is_bound:
                # a sample needs no second look at all rows: all columns get one
                is_settled_sample = not self.on_all_columns and self.likely_are_chosen
                if not self.thorough or is_settled_sample:
                    return Status.CONVERGED
                found = self.screen_all()
        self.learn(found)
        if found.is_bound and self.meets_tolerance:
            return Status.CONVERGED
        search.newton_tolerance = self.next_tolerance()
        self.stall.update(self.objective, self.bound)
        if self.stall.holds or search.newton_tolerance < 1e-15 * search.price:
            return self.stop_stalled(found)
        # rows whose gates have closed leave, violating ones join
        gates.change(gates.t > 0, self.new)
        self.view = None
        return None

    @property
    def meets_tolerance(self) -> bool:
        """Whether the gap is small enough."""
        return self.objective - self.bound <= self.tol * self.objective

    def stop_stalled(self, found: RowScores) -> Status:
        """Give up; what was reached gets its bound in any case, which may turn out small enough."""
        if self.on_all_columns and self.thorough and not found.is_bound:
            self.learn(self.screen_all())
            if self.meets_tolerance:
                return Status.CONVERGED
        return Status.STALLED

    def screen_likely(self) -> RowScores:
        """Screen the likely rows; in float32 while the optimum is far, where it matters little."""
        search = self.search
        columns = self.gates.columns
        is_rough = self.on_all_columns and search.estimated_gap > 1e-2
        rows = search.likely
        is_short = rows is not None and len(rows) <= search.small
        if columns.rows.worthwhile(len(columns.w)) and not is_short:
            rows = None  # most of the time goes into the rows that are likely in any case
        self.view = search.view(self.gates)
        return self.screen(self.view, rows, is_rough)

    def screen_all(self) -> RowScores:
        """Screen all rows in float64: the dual value is a bound."""
        if self.view is None:
            self.view = self.search.view(self.gates)
        return self.screen(self.view, None, False)

    def screen(self, view: Screening, rows: Array | None, is_rough: bool) -> RowScores:
        """Screen some rows and find those that should join."""
        self.objective = view.objective + self.constant
        found = view.screen(rows, is_rough)
        # violations within rounding of the penalty would join and leave for ever
        rounding = 1e-10
        if is_rough:
            rounding = 1e-5
        self.new, self.violation = violating_rows(
            found.scores, self.search.penalty, rows, self.gates, rounding
        )
        shortfall = self.objective - self.constant - found.dual_value
        estimated_gap = shortfall / max(self.objective, np.finfo(float).tiny)
        self.search.estimated_gap = estimated_gap
        # one more minimisation is expected to be the last one
        self.is_near_end = (
            self.on_all_columns
            and self.thorough
            and rows is not None
            and len(self.new) <= 30
            and estimated_gap <= 2e-2
        )
        return found

    def learn(self, found: RowScores) -> None:
        """Take over the bound and the likely rows, and report."""
        search = self.search
        if found.is_bound:
            self.bound = max(self.bound, found.dual_value + self.constant)
            if self.on_all_columns:
                search.bound = max(search.bound, self.bound)
                search.close_rows(found, self.gates)
        if found.rows is None:
            # far from the optimum the scores say little about which rows will open
            shortfall = self.objective - self.constant - found.dual_value
            search.likely = None
            self.likely_are_chosen = shortfall < 0.5 * self.objective
            if self.likely_are_chosen:
                search.likely = likely_rows(found.scores / search.penalty.steepest, search.small)
        if self.on_all_columns:
            search.record()
        search.report(len(self.gates.atoms))

    def next_tolerance(self) -> float:
        """Return how small Newton's gradient shall become in the next step."""
        if len(self.new) == 0:
            return 0.01 * self.search.newton_tolerance
        # where few rows join, these may be the last ones: solve for them well
        share = min(1.0, len(self.new) / 30)
        # on all columns another step of Newton's method costs less than another look at the rows
        if self.on_all_columns:
            share *= 0.3
        return INNER_TOLERANCE * share * self.violation


class StallRule:
    """Whether the objective has stopped falling, or falls too slowly to go on."""

    def __init__(self) -> None:
        self.best = np.inf
        self.idle = 0  # steps in a row without any progress
        self.reference = np.inf
        self.slow = 0  # steps in a row in which the gap has fallen by less than 1 %

    def update(self, objective: float, bound: float) -> None:
        """Count one more step."""
        self.idle += 1
        if objective < self.best * (1 - 1e-14):
            self.idle = 0
        self.best = min(self.best, objective)
        self.slow += 1
        if self.reference - objective >= 0.01 * (self.reference - bound):
            self.slow = 0
            self.reference = objective

    @property
    def holds(self) -> bool:
        """Whether it is time to give up."""
        return self.idle >= 5 or self.slow >= 100


def likely_rows(ratio: Array, small: int) -> Array | None:
    """Return the rows nearest to opening, an eighth of all; None for all, up to ``small`` rows.

    ``ratio`` (d,) are scores over penalties.
    """
    n = len(ratio)
    if n <= small:
        return None
    count = n // 8
    return np.sort(np.argpartition(-ratio, count)[:count])


def meet_target(search: Search, gates: Gates, target: Target) -> Status:
    """Change μ until the residual or the trace has a given value; return how the end came about."""
    kind, value = target
    on_all_columns = not gates.columns.is_sample
    accuracy = SAMPLE_TOL  # relative, of the target
    tol = max(search.tol, SAMPLE_TOL)
    if on_all_columns:
        accuracy = 1e-3
        tol = search.tol
    status = Status.TARGET_MISSED

    def excess(thorough: bool, mu: float) -> float:
        """Return what is positive where μ is too small, and 0 at the target."""
        nonlocal status
        if mu != search.mu:
            if abs(np.log(mu / search.mu)) > 0.1:
                search.likely = None  # other rows become likely
            search.set_mu(mu)
        # the quantity itself is wanted, not only the objective
        search.newton_tolerance = 0.01 * INNER_TOLERANCE * accuracy * mu
        status = Descent(search, gates, min(tol, 0.1 * accuracy), thorough).run()
        if kind == "trace":
            attained = search.trace / value
        else:
            attained = value / max(search.residual, 1e-300)
        return float(np.log(max(attained, 1e-300)))

    first = search.mu
    is_met = find_penalty(partial(excess, False), first, 0.5 * accuracy)
    if not on_all_columns:
        if not is_met:  # a sample may be too small for the target
            search.set_mu(first)
        return status
    # a look at all rows may open more of them, which changes residual and trace
    if abs(excess(True, search.mu)) > accuracy and is_met:
        is_met = find_penalty(partial(excess, True), search.mu, accuracy)
    if not is_met:
        return Status.TARGET_MISSED
    return status


def find_penalty(excess: Callable[[float], float], mu: float, tol: float) -> bool:
    """Change μ until |excess(μ)| ≤ tol; return whether that was reached.

    ``excess`` falls with μ, and is positive where μ is too small. The last call is the one that
    counts, so that what it leaves behind (a warm start, a solution) belongs to the μ found. The
    steps are secant steps in log μ, kept inside the bracket by bisection.
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
