"""A fitted working set for the screening of rows: residual, objective, scores and dual value."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns
from selfdict.model.dual import DualTerms
from selfdict.model.score_bounds import DECIDED, ScoreBounds
from selfdict.model.screening import PositiveSums, gram_sums, summation_depth
from selfdict.model.sparse import SparseResidual
from selfdict.solvers.gates import Gates


@dataclass(frozen=True)
class RowScores:
    """What the screening of some rows gives.

    Attributes
    ----------
    scores : (k,) ndarray
        σ_i as computed, or upper bounds of rows that these decide.
    terms : DualTerms
        The terms of the dual value, with room for rounding.
    scaling, dual_value : float
        The c with the largest D(cθ), as far as these rows are concerned, and this value.
    """

    scores: Array
    terms: DualTerms
    scaling: float
    dual_value: float


class View:
    """The residual of a working set's fit in one of three forms, ready for screening.

    Dense data has a residual; sparse data has :class:`SparseResidual`, which is not formed; and
    where the products of all points are held (``gram``), scores follow from them, for the search
    only: they are differences of large numbers.

    Parameters
    ----------
    gates : Gates
        A fitted working set.
    penalty : (d,) ndarray
        μp of all rows.
    positive_sums : callable
        :func:`selfdict.model.screening.positive_sums` for the atoms.
    gram : (n, n) ndarray, optional
        The products of all points.
    device : torch.device, optional
        Where ``positive_sums`` are taken.
    bounds : ScoreBounds, optional
        Saves most of the exact scores where there are many rows and columns.

    Attributes
    ----------
    objective : float
        The objective of the fitted columns: half of ``quadratic``, and the penalty of the gates.
    quadratic : float
        Σ_j s_j ‖r_j‖².
    inner : (l,) ndarray
        s_j m_jᵀr_j.
    """

    def __init__(
        self,
        gates: Gates,
        penalty: Array,
        positive_sums: PositiveSums,
        gram: Array | None = None,
        device: Any = None,
        bounds: ScoreBounds | None = None,
    ) -> None:
        self.gates = gates
        self.device = device
        self.bounds = bounds
        self.penalty = penalty
        self.positive_sums = positive_sums
        self.gram = gram
        self.sparse: SparseResidual | None = None
        if gram is not None:
            assert gates.C is not None  # held where the products of all points are
            self.inner = gates.squares - gates.weight * np.einsum("jk,jk->j", gates.C, gates.Z)
            self.quadratic = max(2 * gates.fit, 0.0)
        elif issparse(gates.D):
            self.sparse = gates.sparse_residual()
            self.inner = gates.s * self.sparse.inner
            self.quadratic = float(gates.s @ self.sparse.square)
        else:
            self.inner, self.square, self.theta = gates.residual_terms()
            self.quadratic = float(self.square.sum())
        self.objective = 0.5 * self.quadratic + float(penalty[gates.atoms] @ gates.t)

    def screen(self, rows: Array | None, rough: bool) -> RowScores:
        """Return the scores of some rows (None: all), and the best dual value for these rows.

        ``rough`` allows float32. For all rows, all columns and not rough the value is a bound.
        """
        index: Any = slice(None)
        n_rows = len(self.penalty)
        if rows is not None:
            index = rows
            n_rows = len(rows)
        is_rough = rough or self.gates.columns is not None  # a sample proves nothing anyway
        if self._bounds_pay(n_rows):
            found = self._with_dual_value(self._bounded_scores(rows, index, is_rough), index)
            # at a larger c the rows that bounds have decided would count: take them exactly then
            if is_rough or DECIDED * found.scaling <= 1:
                return found
        scores = self._scores(rows, is_rough) + self._own_columns(index)
        return self._with_dual_value(scores, index)

    def _with_dual_value(self, scores: Array, index: Any) -> RowScores:
        """Return the scores of some rows with the best dual value."""
        terms = self._terms(scores, index)
        c, value = terms.best_scaling(self.penalty[index])
        return RowScores(scores, terms, c, value)

    def _own_columns(self, index: Any) -> Array:
        """Return what the own column of each row adds to its score: it counts with its sign."""
        # in a sample few rows have one
        if not self.gates.tied or self.gates.columns is not None:
            return np.zeros(1)
        return np.asarray(np.minimum(self.inner[index], 0.0))

    def _scores(self, rows: Array | None, is_rough: bool) -> Array:
        """Return the sums of positive parts for some rows, or all."""
        gates = self.gates
        if self.gram is not None:
            assert gates.C is not None
            return gram_sums(self.gram, gates.C, gates.Z, gates.weight)
        if self.sparse is not None:
            factor = gates.s * gates.scale
            return self.sparse.positive_sums(gates.D, gates.v, factor, rows)
        dtype: Any = np.float64
        if is_rough:
            dtype = np.float32
        return self.positive_sums(self.theta, rows, dtype)

    def _bounds_pay(self, n_rows: int) -> bool:
        """Whether bounds save time for this many rows."""
        if self.bounds is None or self.gram is not None or self.sparse is not None:
            return False
        n_features, n_columns = self.theta.shape
        return self.bounds.pay(n_rows, n_columns, n_features)

    def _bounded_scores(self, rows: Array | None, index: Any, is_rough: bool) -> Array:
        """Return scores, exact where bounds do not decide, with the own columns."""
        assert self.bounds is not None
        own = self._own_columns(index)
        return self.bounds.scores(self.theta, self.penalty[index], own, rows, is_rough)

    def _terms(self, scores: Array, rows: Any) -> DualTerms:
        """Return the terms of the dual value; with room for rounding unless products are used."""
        gates = self.gates
        if self.gram is not None:  # for the search only: nothing is proven
            return DualTerms(float(self.inner.sum()), self.quadratic, scores)
        data_norms = np.sqrt(gates.squared_norms)
        atom_lengths = gates.atom_lengths[rows]
        if self.sparse is not None:
            return self.sparse.dual_terms(scores, gates.s, gates.scale, data_norms, atom_lengths)
        return DualTerms.from_columns(
            self.inner,
            self.square,
            scores,
            magnitudes=np.sqrt(gates.s * self.square),
            data_norms=data_norms,
            atom_lengths=atom_lengths,
            w=gates.scale,
            n_terms=gates.D.shape[0],
            n_summed=summation_depth(len(gates.scale), self.device),
        )


def violating_rows(
    scores: Array, penalty: Array, rows: Array | None, gates: Gates, rounding: float
) -> tuple[Array, float]:
    """Return the closed rows that violate optimality most, and the largest violation.

    Of rows that are multiples of each other only the first is taken: they would share its gate.

    Parameters
    ----------
    scores : (k,) ndarray
        σ_i of the screened rows.
    penalty : (d,) ndarray
        μp of all rows.
    rows : (k,) ndarray of int or None
        Which rows were screened; None for all.
    gates : Gates
        The working set; rows whose gates are open cannot join.
    rounding : float
        Violations below this part of the penalty count as none.
    """
    at_least = 30  # rows that join, unless half as many as are open is more
    if rows is None:
        rows = np.arange(len(penalty))
    is_open = gates.t > 0
    violation = scores - penalty[rows]
    violation[np.isin(rows, gates.atoms[is_open])] = -np.inf
    count = max(at_least, int(is_open.sum()) // 2)
    # four times as many as may join, because multiples of each other drop out
    order = np.flatnonzero(violation > rounding * penalty[rows])
    if len(order) > 4 * count:
        # sorting all rows would take longer than their scores on a GPU
        least = np.partition(violation[order], -4 * count)[-4 * count]
        order = order[violation[order] >= least]
    order = order[np.argsort(-violation[order], kind="stable")][: 4 * count]
    D = dense_columns(gates.D, rows[order]).astype(np.float64)
    D /= np.maximum(np.sqrt(squared_norms(D)), np.finfo(float).tiny)
    is_multiple = np.triu(D.T @ D > 1 - 1e-12, 1).any(axis=0)
    order = order[~is_multiple][:count]
    return rows[order], float(violation[order].max(initial=0.0))
