"""One descent at a fixed penalty: Newton on the working set, screening, new atoms, stop rules."""

from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.model.solution import Status
from selfdict.solvers.newton import Newton
from selfdict.solvers.search import INNER_TOLERANCE, Search
from selfdict.solvers.view import RowScores, View, violating_rows


@dataclass(frozen=True)
class Screened:
    """What the screening of some rows has shown."""

    rows: Array | None  # (k,): the rows; None for all
    is_exact: bool  # whether scores were taken in float64 from the residual
    found: RowScores
    new: Array  # rows to open, the most violating first
    violation: float  # by how much the first of them violates optimality

    @property
    def is_bound(self) -> bool:
        """Whether the dual value is a lower bound for the columns of the working set."""
        return self.rows is None and self.is_exact


class Descent:
    """The state of a descent to the relative gap ``tol``; ``step`` until it returns a status.

    As long as a likely row violates optimality, only the likely rows are screened. When none does,
    all rows are (unless not ``thorough``), which gives a dual bound: on all columns of M, the
    certificate.
    """

    def __init__(self, search: Search, newton: Newton, tol: float, thorough: bool) -> None:
        self.search = search
        self.newton = newton
        self.gates = newton.gates
        self.tol = tol
        self.thorough = thorough
        self.on_all_columns = not self.gates.columns.is_sample
        self.constant = 0.0  # a sample's objective leaves out what no X can explain
        if self.on_all_columns:
            self.constant = search.data.constant
        self.objective = np.inf
        self.bound = 0.0
        self.stall = StallRule()
        self.view: View | None = None  # of the working set as it is
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
        self.newton.minimise(
            search.penalty.take(gates.atoms), search.newton_tolerance, lambda: search.save(gates)
        )
        search.save(gates)
        # most steps need no look at all rows, which costs a pass over MᵀM
        if self.is_near_end:
            screened = self.screen_all()
        else:
            screened = self.screen_likely()
            if self.likely_rows_are_settled(screened):
                # a sample needs no second look at all rows: all columns get one
                is_settled_sample = not self.on_all_columns and self.likely_are_chosen
                if not self.thorough or is_settled_sample:
                    return Status.CONVERGED
                screened = self.screen_all()
        self.learn(screened)
        if screened.is_bound and self.meets_tolerance:
            return Status.CONVERGED
        search.newton_tolerance = self.next_tolerance(screened)
        self.stall.update(self.objective, self.bound)
        if self.stall.holds or search.newton_tolerance < 1e-15 * search.price:
            return self.stop_stalled(screened)
        # rows whose gates have closed leave, violating ones join
        gates.change(gates.t > 0, screened.new)
        self.view = None
        return None

    @property
    def meets_tolerance(self) -> bool:
        """Whether the gap is small enough."""
        return self.objective - self.bound <= self.tol * self.objective

    def stop_stalled(self, screened: "Screened") -> Status:
        """Give up; what was reached gets its bound in any case, which may turn out small enough."""
        if self.on_all_columns and self.thorough and not screened.is_bound:
            self.learn(self.screen_all())
            if self.meets_tolerance:
                return Status.CONVERGED
        return Status.STALLED

    def screen_likely(self) -> Screened:
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

    def screen_all(self) -> Screened:
        """Screen all rows in float64: the dual value is a bound."""
        if self.view is None:
            self.view = self.search.view(self.gates)
        return self.screen(self.view, None, False)

    def screen(self, view: View, rows: Array | None, is_rough: bool) -> Screened:
        """Screen some rows and find those that should join."""
        self.objective = view.objective + self.constant
        # violations within rounding of the penalty would join and leave for ever
        found = view.screen(rows, is_rough)
        rounding = 1e-10
        if is_rough:
            rounding = 1e-5
        new, violation = violating_rows(
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
            and len(new) <= 30
            and estimated_gap <= 2e-2
        )
        return Screened(rows, not is_rough, found, new, violation)

    def likely_rows_are_settled(self, screened: Screened) -> bool:
        """Whether a cheap screening found nothing to do, so that all rows should be screened."""
        if screened.is_bound:
            return False
        return len(screened.new) == 0 or self.search.estimated_gap <= 0.3 * self.tol

    def learn(self, screened: Screened) -> None:
        """Take over the bound and the likely rows, and report."""
        search = self.search
        if screened.is_bound:
            self.bound = max(self.bound, screened.found.dual_value + self.constant)
            if self.on_all_columns:
                search.bound = max(search.bound, self.bound)
                search.close_rows(screened.found, self.gates)
        if screened.rows is None:
            # far from the optimum the scores say little about which rows will open
            shortfall = self.objective - self.constant - screened.found.dual_value
            search.likely = None
            self.likely_are_chosen = shortfall < 0.5 * self.objective
            if self.likely_are_chosen:
                ratio = screened.found.scores / search.penalty.steepest
                search.likely = likely_rows(ratio, search.small)
        if self.on_all_columns:
            search.record()
        search.report(len(self.gates.atoms))

    def next_tolerance(self, screened: Screened) -> float:
        """Return how small Newton's gradient shall become in the next step."""
        if len(screened.new) == 0:
            return 0.01 * self.search.newton_tolerance
        # where few rows join, these may be the last ones: solve for them well
        share = min(1.0, len(screened.new) / 30)
        # on all columns another step of Newton's method costs less than another look at the rows
        if self.on_all_columns:
            share *= 0.3
        return INNER_TOLERANCE * share * screened.violation


class StallRule:
    """Whether the objective has stopped falling, or falls too slowly to go on."""

    def __init__(self) -> None:
        self.best = np.inf
        self.idle = 0  # steps in a row without any progress
        self.reference = np.inf
        self.slow = 0  # steps in a row in which the gap has fallen by less than 1 %

    def update(self, objective: float, bound: float) -> None:
        """Count one more step."""
        if objective >= self.best * (1 - 1e-14):
            self.idle += 1
        else:
            self.idle = 0
        self.best = min(self.best, objective)
        if self.reference - objective < 0.01 * (self.reference - bound):
            self.slow += 1
        else:
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
