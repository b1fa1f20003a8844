"""What a search for the optimum works on, and its state while μ and the columns change."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from selfdict._errors import UnsupportedError
from selfdict._validation import Array
from selfdict.columns.memory import MemoryColumns
from selfdict.columns.protocol import Columns
from selfdict.compute.deadline import Deadline
from selfdict.compute.device import Device
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.model.certificate import objective_value
from selfdict.model.dual import Penalty, closed_rows, dot_error
from selfdict.model.omega import ROWS_PER_SLICE, clip_row
from selfdict.model.problem import Problem
from selfdict.model.score_bounds import MemoryRows
from selfdict.model.solution import (
    Callback,
    Progress,
    Solution,
    Status,
    consistent_bound,
    relative_gap,
)
from selfdict.solvers.gates import Gates, RowScores, Screening

# up to this many columns need no sample, and up to this many rows are all screened each time
SMALL = 2000
# Newton's gradient on the working set goes down to this part of the worst violation outside it
INNER_TOLERANCE = 0.3


@dataclass(frozen=True, eq=False)
class SearchData:
    """A problem with the squared loss, restricted to columns and atoms that are not zero."""

    columns: Columns  # all of them, with the atoms
    penalty_at: Callable[[float], Penalty]  # returns the penalty of these atoms at a given μ
    # which columns and which atoms of the problem these are; the others are zero in X
    column_indices: Array
    row_indices: Array
    # Σ_j s_j ‖m_j‖² of the whole problem, and half of the part of it in columns with w = 0, which
    # no X can explain
    square: float
    constant: float

    @classmethod
    def of(cls, problem: Problem, device: Device = None) -> "SearchData":
        """Take what counts out of a problem with a quadratic loss."""
        form = problem.squared_form
        column_indices = np.flatnonzero(problem.w > 0)
        row_indices = np.flatnonzero(problem.v > 0)
        M = form.M
        if column_indices.size < problem.n_points:
            M = M[:, column_indices]
        atoms = M
        if form.D is not None:
            atoms = form.D
            if row_indices.size < problem.n_atoms:
                atoms = atoms[:, row_indices]
        w = problem.w[column_indices]
        s = form.s[column_indices]
        v = problem.v[row_indices]
        is_tied = form.D is None
        columns: Columns
        if device is None:
            columns = MemoryColumns(M, w, s, MemoryRows(atoms, v), is_tied=is_tied)
        else:
            from selfdict.columns.device import DeviceColumns

            columns = DeviceColumns.of(M, w, s, atoms, v, is_tied, device)
        squares = form.s * squared_norms(form.M)
        return cls(
            columns=columns,
            penalty_at=lambda mu: problem.penalty_at(mu).take(row_indices),
            column_indices=column_indices,
            row_indices=row_indices,
            square=float(squares.sum()),
            # a sum of its own: the difference of two large sums would leave rounding errors; from
            # below, since it is part of the bound
            constant=0.5 * math.fsum(squares[problem.w == 0]) * (1 - dot_error(form.M.shape[0])),
        )

    def open_rows(self, gates: Gates) -> tuple[Array, Array, Array]:
        """Return the rows of X with open gates: their indices, increasing, gates and entries.

        The entries are those of the columns that count, (k, n).
        """
        is_open = gates.open_positions()
        rows = self.row_indices[gates.atoms[is_open]]
        return rows, gates.t[is_open], gates.fitted.rows(is_open)

    def rounding(self, gates: Gates, objective: float, quadratic: float | None) -> float:
        """Return how much rounding may have lowered the objective of a fit of all columns.

        A residual is off by at most γ_k times the norms of what is summed up in it: the column,
        and at most w_j Σ_i t_i ‖d_i‖/v_i of the atoms. Products of points are off by as much as
        γ_k times the square of that. ``quadratic`` is Σ_j s_j ‖r_j‖² if it is that of a residual.
        """
        columns = self.columns
        fitted = float(columns.rows.lengths[gates.atoms] @ gates.t)
        size = math.sqrt(self.square) + fitted * math.sqrt(float(columns.s @ columns.w**2))
        # sums over columns and gates add a few operations more
        error = dot_error(columns.n_features + len(gates.t) + 64)
        of_fit = 4 * error * size**2
        if quadratic is not None:
            of_fit = error * size * (math.sqrt(quadratic) + error * size)
        return 2 * (of_fit + error * objective)

    def solution(self, problem: Problem, support: Array, t: Array, X: Array) -> "Stored":
        """Return rows X of the columns that count as a Solution in M's dtype, without its bound."""
        dtype = problem.M.dtype
        # gates are rounded up and the entries within them down: rounded to nearest, X would violate
        # X_ij ≤ (w_j/v_i) t_i in the last digit, and its objective could lie below the optimum
        gates = t.astype(dtype)
        is_below = gates < t
        gates[is_below] = np.nextafter(gates[is_below], dtype.type(np.inf))
        gates = np.minimum(gates, dtype.type(1))
        diagonal = np.zeros(problem.n_atoms, dtype=dtype)
        diagonal[support] = gates
        coef = np.zeros((len(support), problem.n_points), dtype=dtype)
        moved = np.zeros(len(support))
        weights = self.columns.s * self.columns.w
        counting: slice | Array = slice(None)
        if len(self.column_indices) < problem.n_points:
            counting = self.column_indices

        def store(start: int, stop: int) -> None:
            for k in range(start, stop):
                coef[k, counting] = X[k]
                clip_row(problem, int(support[k]), float(gates[k]), coef[k])
                moved[k] = weights @ np.abs(X[k] - coef[k, counting])

        for_slices(store, len(support), ROWS_PER_SLICE)
        point = Solution(support=support, coef=coef, diagonal=diagonal, problem=problem)
        # of the entries as they are returned: float32 may have rounded them
        objective = objective_value(point)
        return Stored(replace(point, objective=objective.value), objective.rounding, moved)


class Stored(NamedTuple):
    """A solution as it is returned: its entries are rounded to the dtype of the data."""

    solution: Solution
    rounding: float  # by how much rounding may have lowered its objective
    moved: Array  # (k,): Σ_j s_j w_j times the change of an entry by storing it


class Stop(Exception):
    """Raised between two steps when the time is up or the callback asks for the end."""

    def __init__(self, status: Status) -> None:
        self.status = status


class Point(NamedTuple):
    """A working set without its fit: atoms, and their gates."""

    atoms: Array
    t: Array


ALL_CLOSED = Point(np.empty(0, np.int64), np.empty(0))


class Search:
    """The state of a search: the penalty, the best point, what is known of it, and the history.

    ``tol`` is the relative gap at which to stop; ``small`` replaces :data:`SMALL`.
    """

    def __init__(
        self,
        data: SearchData,
        mu: float,
        tol: float,
        max_seconds: float | None = None,
        callback: Callback | None = None,
        small: int | None = None,
    ) -> None:
        self.data = data
        self.tol = tol
        self.callback = callback
        self.small = small or SMALL
        self.started = time.perf_counter()
        self.deadline = Deadline(max_seconds)
        # the best point; replaced as one, so that an interruption finds it whole
        self.point = ALL_CLOSED
        self.likely: Array | None = None  # rows that may open; None: any
        # of the last fit: objective, by how much rounding may have lowered it, ‖M − MX‖_F and the
        # sum of the gates
        self.objective = 0.5 * data.square
        self.rounding = dot_error(data.columns.n_features) * data.square
        self.residual = float(np.sqrt(data.square))
        self.trace = 0.0
        # of all rows at the point, from above; infinite for closed ones, None if not known
        self.scores: Array | None = None
        self.history: list[dict[str, float]] = []
        self.set_mu(mu)
        self.record()

    def set_mu(self, mu: float) -> None:
        """Take another μ; the bound starts anew from that of θ = 0."""
        self.mu = mu
        self.penalty = self.data.penalty_at(mu)  # infinite for rows proven to be closed
        self.bound = self.data.constant
        # the relative gap as far as the rows and columns screened last tell
        self.estimated_gap = 1.0
        self.price = 0.0  # of opening a row wider, at most; the mean over all rows
        if len(self.data.row_indices) > 0:
            steepest = self.penalty.steepest
            steepest = steepest[np.isfinite(steepest)]
            self.price = np.inf  # if no row may open
            if len(steepest) > 0:
                self.price = float(steepest.mean())
        # how small Newton's gradient becomes on the working set
        self.newton_tolerance = INNER_TOLERANCE * self.price

    @property
    def gap(self) -> float:
        """The certified relative gap of the current point."""
        bound = consistent_bound(self.bound, self.objective, self.rounding)
        return relative_gap(self.objective, bound)

    def view(self, gates: Gates) -> Screening:
        """Return the view of a working set, and take over what it tells of the point."""
        view = Screening(gates, self.penalty)
        self.residual = float(np.sqrt(view.quadratic))
        self.trace = float(gates.t.sum())
        # the objective of a sample says nothing about that of all columns
        if not gates.columns.is_sample:
            self._take_objective(view)
        return view

    def _take_objective(self, view: Screening) -> None:
        """Take over the objective of a fit of all columns, and how much rounding may lower it."""
        self.objective = view.objective + self.data.constant
        quadratic = None
        if view.multiplier.is_formed:
            quadratic = view.quadratic
        self.rounding = self.data.rounding(view.gates, self.objective, quadratic)

    def _take_scores(self, found: RowScores) -> None:
        """Take over the scores of all rows; those of closed rows were not taken."""
        self.scores = np.where(np.isfinite(self.penalty.slope), found.terms.scores, np.inf)

    def scores_of(self, stored: Stored) -> Array | None:
        """Return the scores, from above, of X as it is stored in a solution."""
        if self.scores is None:
            return None
        # entries were rounded: a residual has moved by at most Σ_i ‖d_i‖ times that
        columns = self.data.columns
        point = stored.solution
        n_open = len(point.support)
        open_atoms = np.searchsorted(self.data.row_indices, point.support)
        lengths = columns.rows.lengths[open_atoms] * columns.rows.v[open_atoms]
        reach = float(lengths @ stored.moved) * (1 + dot_error(len(columns.w) + n_open))
        # both that residual and the one of the scores, or the products it stands for, were rounded
        weight = math.sqrt(float(columns.s @ columns.w**2))
        fitted = float(columns.rows.lengths[open_atoms] @ point.diagonal[point.support])
        size = math.sqrt(self.data.square) + fitted * weight
        # a device has rounded the entries to the dtype of the data before
        reach += float(np.finfo(point.coef.dtype).eps) * fitted * weight**2
        reach += 4 * dot_error(columns.n_features + n_open + 64) * size * weight
        scores = np.zeros(len(point.diagonal))
        scores[self.data.row_indices] = self.scores + reach * columns.rows.lengths
        return scores

    def close_rows(self, found: RowScores, gates: Gates) -> None:
        """Close, for this μ, the rows that are proven to be zero at every optimum."""
        self._take_scores(found)
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
        self.scores = None
        if self.deadline.passed:
            raise Stop(Status.MAX_SECONDS)

    def record(self) -> None:
        """Add the current point to the history."""
        # appended as one, so that an interruption finds it whole
        self.history.append(
            {
                "objective": self.objective,
                "dual_bound": self.bound,
                "gap": self.gap,
                "mu": self.mu,
                "n_active": len(self.point.atoms),
                "seconds": time.perf_counter() - self.started,
            }
        )

    def report(self, n_active: int) -> None:
        """Call the callback; stop if it says so."""
        if self.callback is None:
            return
        progress = Progress(
            iteration=len(self.history) - 1,
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
            view = Screening(gates, self.penalty)
            self.point = point
            self._take_objective(view)
            # if it is worse than X = 0, a sample has led astray
            if self.objective <= self.history[0]["objective"]:
                break
        found = view.screen(None, rough=False)
        self.bound = max(self.bound, found.dual_value + self.data.constant)
        self._take_scores(found)
        self.record()
        return gates


def fit_within_gates(problem: Problem, support: Array, t: Array) -> Solution:
    """Return the X with the least objective whose open rows have the gates t (k,) in [0, 1].

    The loss must be quadratic. :func:`certify` adds a bound.
    """
    data, gates = _within_gates(problem, support, t)
    with single_threaded_blas():
        stored = data.solution(problem, *data.open_rows(gates))
    return replace(stored.solution, status=Status.GIVEN)


def objective_within_gates(problem: Problem, support: Array, t: Array) -> float:
    """Return the objective of :func:`fit_within_gates` from above, without that X."""
    data, gates = _within_gates(problem, support, t)
    penalty = data.penalty_at(problem.require_mu()).take(gates.atoms)
    objective = gates.fit + data.constant + penalty.value(gates.t)
    return objective + data.rounding(gates, objective, None)


def _within_gates(problem: Problem, support: Array, t: Array) -> tuple[SearchData, Gates]:
    """Fit all columns within the gates t (k,) of some rows."""
    if not problem.loss.quadratic:
        raise UnsupportedError(
            f"fitting columns within gates needs a quadratic loss, got {problem.loss!r}"
        )
    data = SearchData.of(problem)
    # atoms of weight zero are not in the search's data, and stay closed
    position = np.full(problem.n_atoms, -1)
    position[data.row_indices] = np.arange(len(data.row_indices))
    is_atom = position[support] >= 0
    t = np.clip(t[is_atom].astype(np.float64), 0.0, 1.0)
    with single_threaded_blas():  # products are taken inside slices
        return data, Gates(data.columns, position[support][is_atom], t)
