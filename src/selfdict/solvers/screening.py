"""A fitted working set as the rows outside it see it: objective, scores and dual value."""

from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.columns import squared_norms
from selfdict.model.dual import DualTerms
from selfdict.model.penalties import Penalty
from selfdict.model.score_bounds import DECIDED, ColumnSums, ScoreBounds
from selfdict.solvers.gates import Gates


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
