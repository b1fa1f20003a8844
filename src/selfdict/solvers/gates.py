"""A working set of model (6): projected Newton on its gates, and the scores of all other rows.

The sum of the fits of all columns is convex, continuously differentiable and piecewise quadratic in
the gates t, as many variables as there are atoms. So is f(t) = ½Σ s‖m − Mx(t)‖² + Σ_i π_i(t_i),
with the penalties π of the gates, and Newton's method on the box [0, 1]^k ends in a few steps. Each
step solves a quadratic program in k variables, with the same bounded solver as a column.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.columns.protocol import Columns
from selfdict.kernels.columns import squared_norms
from selfdict.kernels.gates import FREE, GATE, ZERO, fit_columns
from selfdict.model.dual import DualTerms, Penalty
from selfdict.model.score_bounds import DECIDED, ColumnSums, ScoreBounds


class Gates:
    """A working set: its atoms, their gates, and the columns fitted to them.

    ``atoms`` and ``t`` (k,) are columns of the dictionary and their gates: for D = M the diagonal
    of X. ``fit`` is ½Σ s‖m − Mx‖² of the columns, ``gradient`` (k,) its derivatives by the gates.
    """

    # steps that may be judged by derivatives, where the objective has too few digits to show them;
    # without a limit, rounding errors could be followed for ever
    MAX_HIDDEN_STEPS = 100

    def __init__(self, columns: Columns, atoms: Array, t: Array) -> None:
        self.columns = columns
        self.atoms = atoms
        self.t = t
        self.fitted = columns.fit(atoms)
        self.hidden_steps = 0  # so far
        self.evaluate(t)

    def evaluate(self, t: Array) -> None:
        """Fit all columns at the gates t."""
        sums = self.fitted.evaluate(t)
        self.fit = 0.5 * self.columns.square + float(sums[0])
        self.gradient = sums[1:]

    def change(self, kept: Array, new: Array) -> None:
        """Keep the atoms of a mask, which includes all open ones, and add new ones, closed.

        The fit remains what it is, and so does its gradient at the atoms kept.
        """
        of_new = self.fitted.change(kept, new)
        self.atoms = np.concatenate([self.atoms[kept], new])
        self.t = np.concatenate([self.t[kept], np.zeros(len(new))])
        self.gradient = np.concatenate([self.gradient[kept], of_new])

    def open_positions(self) -> Array:
        """Return where the open gates are, ordered by their atoms."""
        is_open = np.flatnonzero(self.t > 0)
        return is_open[np.argsort(self.atoms[is_open])]

    def minimise(self, penalty: Penalty, tolerance: float, before_step: Callable[[], None]) -> None:
        """Minimise f by Newton's method until its projected gradient is at most ``tolerance``.

        f never rises, but by rounding errors. ``before_step`` is called before each step and may
        raise.
        """
        f = self.fit + penalty.value(self.t)
        for _ in range(100):  # then rows are screened, and it may go on
            gradient = self.gradient + penalty.gradient(self.t)
            if largest_free(gradient, self.t) <= tolerance:
                return
            before_step()
            hessian = self.fitted.hessian() + np.diag(penalty.curvature(self.t))
            step = box_minimiser(hessian, gradient, self.t) - self.t
            # no descent direction is left but rounding errors
            if float(gradient @ step) >= 0.0:
                return
            taken = self._line_search(f, gradient, step, penalty)
            if taken is None:
                return
            f, decrease = taken
            negligible = self._rounding()
            if self.hidden_steps < self.MAX_HIDDEN_STEPS:
                negligible = float(np.finfo(float).eps) * f
            if decrease <= negligible:
                return

    def _line_search(
        self, f: float, gradient: Array, step: Array, penalty: Penalty
    ) -> tuple[float, float] | None:
        """Shorten the step until f falls enough; return f and the decrease, None if never."""
        self.fitted.save_state()
        slope = float(gradient @ step)
        length = 1.0
        while length >= 1e-9:  # below, the objective is flat in this precision
            t = np.clip(self.t + length * step, 0.0, 1.0)
            self.evaluate(t)
            f_new = self.fit + penalty.value(t)
            change = f_new - f
            is_hidden = abs(change) <= self._rounding()
            if is_hidden and self.hidden_steps < self.MAX_HIDDEN_STEPS:
                # f has too few digits to tell; the derivatives at both ends have more
                mean_gradient = 0.5 * (gradient + self.gradient + penalty.gradient(t))
                change = float(mean_gradient @ (t - self.t))
            if change <= 1e-4 * length * slope:  # Armijo's rule
                self.hidden_steps += int(is_hidden)
                self.t = t
                return f_new, -change
            # the old state is a better start for the columns than where this step has led
            self.fitted.restore_state()
            length /= 3
        self.evaluate(self.t)
        return None

    def _rounding(self) -> float:
        """How much rounding errors may change the objective."""
        return 10 * float(np.finfo(float).eps) * self.columns.square


def largest_free(gradient: Array, t: Array) -> float:
    """Return the largest derivative along which t can move inside [0, 1]^k."""
    is_stuck = ((t <= 0) & (gradient > 0)) | ((t >= 1) & (gradient < 0))
    return float(np.abs(np.where(is_stuck, 0.0, gradient)).max(initial=0.0))


def box_minimiser(H: Array, gradient: Array, t: Array) -> Array:
    """Minimise gᵀ(x − t) + ½(x − t)ᵀH(x − t) over the box [0, 1]^k."""
    # A little more curvature, because atoms may be duplicates of each other. Each gate gets its own
    # share: that of a column much longer than others would hold all other gates where they are.
    curvature = np.maximum(np.diagonal(H), 0.0)
    # where all are rounding errors below zero, those beside the diagonal tell their size
    size = curvature.mean() or np.abs(H).max(initial=0.0)
    ridge = 1e-10 * curvature + 1e-16 * size + np.finfo(float).tiny
    B = H.copy()
    np.fill_diagonal(B, curvature + ridge)
    # in units in which all curvatures are one, as the tolerance of a column is one for all entries
    unit = 1 / np.sqrt(np.diagonal(B))
    x = t / unit
    state = np.full(len(t), FREE, dtype=np.int8)
    state[t <= 0] = ZERO
    state[t >= 1] = GATE
    # one column of the bounded least-squares problem with the Gram matrix B, whose gates are 1
    fit_columns(
        B * unit * unit[:, None],
        ((B @ t - gradient) * unit)[None],
        np.ones(1),
        1 / unit,
        np.array([-1]),
        x[None],
        state[None],
    )
    return np.asarray(np.clip(x * unit, 0.0, 1.0))


@dataclass(frozen=True)
class RowScores:
    """What the screening of some rows gives."""

    rows: Array | None  # (k,): which rows; None for all
    is_exact: bool  # whether float64 was asked for
    scores: Array  # (k,): σ_i as computed, or upper bounds of rows that these decide
    terms: DualTerms  # the terms of the dual value, with room for rounding
    # the c with the largest D(cθ), as far as these rows are concerned, and this value
    scaling: float
    dual_value: float

    @property
    def is_bound(self) -> bool:
        """Whether the dual value is a lower bound for the columns of the working set."""
        return self.rows is None and self.is_exact


class Screening:
    """The fit of a working set at the penalty of all rows, ready for screening.

    ``objective`` is that of the fitted columns.
    """

    def __init__(self, gates: Gates, penalty: Penalty) -> None:
        self.gates = gates
        self.columns = gates.columns
        self.penalty = penalty
        self.multiplier = gates.fitted.multiplier()
        self.quadratic = self.multiplier.quadratic
        self.objective = 0.5 * self.quadratic + penalty.take(gates.atoms).value(gates.t)

    def screen(self, rows: Array | None, rough: bool) -> RowScores:
        """Return the scores of some rows (None: all), and the best dual value for these rows.

        ``rough`` allows float32. For all rows, all columns and not rough the value is a bound.
        """
        columns = self.columns
        is_rough = rough or columns.is_sample  # a sample proves nothing anyway
        sums = self.multiplier.sums
        is_bounded = rows is None and columns.rows.worthwhile(len(columns.w))
        # where every positive score counts, no bound can decide
        if sums is not None and is_bounded and self.penalty.slope.any():
            found = self._bounded(sums, rough)
            # at a larger c the rows that bounds have decided would count: take them exactly then
            if is_rough or columns.slack > 0 or DECIDED * found.scaling <= 1:
                return found
        scores = self.multiplier.scores(rows, is_rough)
        penalty = self.penalty
        lengths = columns.rows.lengths
        own = self._own_columns()
        if rows is not None:
            penalty = penalty.take(rows)
            lengths = lengths[rows]
            if len(own) > 1:
                own = own[rows]
        scores = scores + own
        terms = self.multiplier.dual_terms(scores, lengths)
        c, value = terms.best_scaling(penalty)
        return RowScores(rows, not rough, scores, terms, c, value)

    def _own_columns(self) -> Array:
        """Return what the own column of each row adds to its score: it counts with its sign."""
        # in a sample few rows have one
        if not self.columns.is_tied or self.columns.is_sample:
            return np.zeros(1)
        return np.minimum(self.multiplier.inner, 0.0)

    def _bounded(self, sums: ColumnSums, rough: bool) -> RowScores:
        """Return scores of all rows, exact where bounds do not decide."""
        rows = self.columns.rows
        slope = self.penalty.slope
        share = self._decided_share()
        # scores in float64 are worth their time where bounds may take little of the dual value
        single = rough or self.columns.is_sample or self.columns.slack >= 3e-3
        bounds = ScoreBounds(rows).scores(sums, slope, self._own_columns(), single, share)
        terms = self.multiplier.dual_terms(bounds, rows.lengths)
        c, value = terms.best_scaling(self.penalty)
        # rows that are decided must not join, even if they may be above their penalty
        decided = np.where(np.isfinite(slope), DECIDED * slope, 0.0)
        scores = np.where(bounds > share * slope, bounds, np.minimum(bounds, decided))
        return RowScores(None, not rough, scores, terms, c, value)

    def _decided_share(self) -> float:
        """Return the part of its penalty up to which a score need not be known.

        The open rows alone give the dual value its largest c, and scores up to penalty/c lower
        neither. D is concave and D(0) = 0, so a smaller c loses at most the same part of D.
        """
        slack = self.columns.slack
        if slack == 0:
            return DECIDED
        linear = float(self.multiplier.inner.sum())
        scores = -self.gates.gradient
        penalty = self.penalty.take(self.gates.atoms)
        c, _ = penalty.best_scaling(linear, self.quadratic, scores)
        if c <= 0:
            return DECIDED
        # far from its end a search must not leave out rows that are far above their penalty
        return min(max((1 + slack) / c, DECIDED), 1.05)


def violating_rows(
    scores: Array, penalty: Penalty, rows: Array | None, gates: Gates, rounding: float
) -> tuple[Array, float]:
    """Return the closed rows that violate optimality most, and the largest violation.

    Of rows that are multiples of each other only the first is taken, if the penalty is linear: one
    gate then serves them all. ``scores`` (k,) are those of ``rows`` (None: all), and violations
    below the part ``rounding`` of the steepest penalty count as none.
    """
    at_least = 30  # rows that join, unless half as many as are open is more
    if rows is None:
        rows = np.arange(len(penalty.slope))
    is_open = gates.t > 0
    violation = scores - penalty.slope[rows]
    violation[np.isin(rows, gates.atoms[is_open])] = -np.inf
    count = max(at_least, int(is_open.sum()) // 2)
    # four times as many as may join, because multiples of each other drop out
    order = np.flatnonzero(violation > rounding * penalty.steepest[rows])
    if len(order) > 4 * count:
        # sorting all rows would take longer than their scores on a GPU
        least = np.partition(violation[order], -4 * count)[-4 * count]
        order = order[violation[order] >= least]
    order = order[np.argsort(-violation[order], kind="stable")][: 4 * count]
    if np.array_equal(penalty.steepest, penalty.slope):
        order = order[~_is_multiple_of_an_earlier_one(gates, rows[order])]
    order = order[:count]
    return rows[order], float(violation[order].max(initial=0.0))


def _is_multiple_of_an_earlier_one(gates: Gates, rows: Array) -> Array:
    """Return which of some rows are multiples of one before them, (k,) of bool."""
    D = gates.columns.rows.values(rows).astype(np.float64)
    D /= np.maximum(np.sqrt(squared_norms(D)), np.finfo(float).tiny)
    return np.asarray(np.triu(D.T @ D > 1 - 1e-12, 1).any(axis=0))
