"""The state of the search behind :class:`selfdict.WorkingSet`, while μ and the columns change."""

import math
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.model.dual import closed_rows, dot_error
from selfdict.model.solution import Callback, Progress, Status, consistent_bound, relative_gap
from selfdict.solvers.gates import Gates
from selfdict.solvers.search_data import SearchData
from selfdict.solvers.view import RowScores, View

SMALL = 2000  # the default of ``Search.small``
# Newton's gradient on the working set goes down to this part of the worst violation outside it
INNER_TOLERANCE = 0.3


class Stop(Exception):
    """Raised between two steps when the time is up or the callback asks for the end."""

    def __init__(self, status: Status) -> None:
        self.status = status


class Point(NamedTuple):
    """A working set without its fit: atoms, and their gates."""

    atoms: Array
    t: Array


ALL_CLOSED = Point(np.empty(0, np.int64), np.empty(0))


@dataclass
class Search:
    """The state of a search: the penalty, the best point, what is known of it, and the history."""

    data: SearchData
    mu: float
    tol: float  # relative gap at which to stop
    max_seconds: float | None = None
    callback: Callback | None = None  # called after each step
    # up to this many columns need no sample, and up to this many rows are all screened each time
    small: int = field(default_factory=lambda: SMALL)

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.deadline = np.inf
        if self.max_seconds is not None:
            self.deadline = self.started + self.max_seconds
        # the best point; replaced as one, so that an interruption finds it whole
        self.point = ALL_CLOSED
        self.likely: Array | None = None  # rows that may open; None: any
        # of the last fit: objective, by how much rounding may have lowered it, ‖M − MX‖_F and the
        # sum of the gates
        self.objective = 0.5 * self.data.square
        self.rounding = dot_error(self.data.columns.n_features) * self.data.square
        self.residual = float(np.sqrt(self.data.square))
        self.trace = 0.0
        # the relative gap as far as the rows and columns screened last tell
        self.estimated_gap = 1.0
        self.history: dict[str, list[float]] = {}
        self.set_mu(self.mu)
        self.record()

    def set_mu(self, mu: float) -> None:
        """Take another μ; the bound starts anew from that of θ = 0."""
        self.mu = mu
        self.penalty = self.data.penalty_at(mu)  # infinite for rows proven to be closed
        self.bound = self.data.constant
        self.estimated_gap = 1.0
        self.price = 0.0  # of opening a row wider, at most; the mean over all rows
        if len(self.data.row_indices) > 0:
            steepest = self.penalty.steepest
            self.price = float(steepest[np.isfinite(steepest)].mean())
        # how small Newton's gradient becomes on the working set
        self.newton_tolerance = INNER_TOLERANCE * self.price

    @property
    def gap(self) -> float:
        """The certified relative gap of the current point."""
        bound = consistent_bound(self.bound, self.objective, self.rounding)
        return relative_gap(self.objective, bound)

    def view(self, gates: Gates) -> View:
        """Return the view of a working set, and take over what it tells of the point."""
        view = View(gates, self.penalty)
        self.residual = float(np.sqrt(view.quadratic))
        self.trace = float(gates.t.sum())
        # the objective of a sample says nothing about that of all columns
        if not gates.columns.is_sample:
            self._take_objective(view)
        return view

    def _take_objective(self, view: View) -> None:
        """Take over the objective of a fit of all columns, and how much rounding may lower it.

        A residual is off by at most γ_k times the norms of what is summed up in it: the column,
        and at most w_j Σ_i t_i ‖d_i‖/v_i of the atoms. Products of points are off by as much as
        γ_k times the square of that.
        """
        columns = self.data.columns
        gates = view.gates
        self.objective = view.objective + self.data.constant
        fitted = float(columns.rows.lengths[gates.atoms] @ gates.t)
        size = math.sqrt(self.data.square) + fitted * math.sqrt(float(columns.s @ columns.w**2))
        # sums over columns and gates add a few operations more
        error = dot_error(columns.n_features + len(gates.t) + 64)
        if view.multiplier.is_formed:
            fit_rounding = error * size * (math.sqrt(view.quadratic) + error * size)
        else:
            fit_rounding = 4 * error * size**2
        self.rounding = 2 * (fit_rounding + error * self.objective)

    def close_rows(self, found: RowScores, gates: Gates) -> None:
        """Close, for this μ, the rows that are proven to be zero at every optimum."""
        columns = self.data.columns
        attained = self.objective + self.rounding
        is_closed = closed_rows(
            attained,
            consistent_bound(found.dual_value + self.data.constant, attained, 0.0),
            found.scaling,
            found.terms.scores,
            columns.rows.lengths,
            float(columns.s @ columns.w**2),
            len(columns.w),
            self.penalty.slope,
        )
        is_closed[gates.atoms] = False  # Newton's method has a finite price for each of these
        self.penalty = self.penalty.closing(is_closed)

    def save(self, gates: Gates) -> None:
        """Save the point that a working set has reached; stop if the time is up."""
        # one assignment: an interruption finds either the old point or the new one
        self.point = Point(gates.atoms, gates.t)
        if time.perf_counter() > self.deadline:
            raise Stop(Status.MAX_SECONDS)

    def record(self) -> None:
        """Add the current point to the history."""
        values = {
            "objective": self.objective,
            "dual_bound": self.bound,
            "gap": self.gap,
            "mu": self.mu,
            "n_active": len(self.point.atoms),
            "seconds": time.perf_counter() - self.started,
        }
        # an interruption may have left some of the lists longer than others
        length = min(map(len, self.history.values()), default=0)
        for name, value in values.items():
            self.history.setdefault(name, [])[length:] = [value]

    def report(self, n_active: int) -> None:
        """Call the callback; stop if it says so."""
        if self.callback is None:
            return
        progress = Progress(
            iteration=len(self.history["objective"]) - 1,
            objective=self.objective,
            gap=self.gap,
            seconds=time.perf_counter() - self.started,
            mu=self.mu,
            residual=self.residual,
            trace=self.trace,
            n_active=n_active,
        )
        if self.callback(progress):
            raise Stop(Status.STOPPED_BY_CALLBACK)

    def certify(self) -> Gates:
        """Fit all columns to the saved point and bound it, in whatever state the search is."""
        for point in (self.point, ALL_CLOSED):
            gates = Gates(self.data.columns, point.atoms, point.t)
            view = View(gates, self.penalty)
            self.point = point
            self._take_objective(view)
            # if it is worse than X = 0, a sample has led astray
            if self.objective <= self.history["objective"][0]:
                break
        dual_value = view.screen(None, rough=False).dual_value
        self.bound = max(self.bound, dual_value + self.data.constant)
        self.record()
        return gates
