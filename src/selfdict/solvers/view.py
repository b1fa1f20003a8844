"""A fitted working set for the screening of rows: residual, objective, scores and dual value."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns
from selfdict.model.dual import DualTerms
from selfdict.model.screening import PositiveSums, gram_sums, summation_depth
from selfdict.model.sparse import SparseResidual
from selfdict.solvers.gates import Gates


class View:
    """The residual of a working set's fit in one of three forms, ready for screening.

    Dense data has a residual; sparse data has :class:`SparseResidual`, which is not formed; and
    where the products of all points are held (``gram``), scores follow from them, for the search
    only: they are differences of large numbers.

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
    ) -> None:
        self.gates = gates
        self.device = device
        self.penalty = penalty
        self.positive_sums = positive_sums
        self.gram = gram
        self.sparse: SparseResidual | None = None
        if gram is not None:
            self.inner = gates.squares - gates.weight * np.einsum("jk,jk->j", gates.C, gates.Z)
            self.quadratic = max(2 * gates.fit, 0.0)
        elif issparse(gates.Y):
            self.sparse = gates.sparse_residual()
            self.inner = gates.s * self.sparse.inner
            self.quadratic = float(gates.s @ self.sparse.square)
        else:
            R = gates.residual()
            self.inner = gates.s * np.einsum("ij,ij->j", R, gates.Y)
            self.square = gates.s * squared_norms(R)
            self.quadratic = float(self.square.sum())
            R *= gates.s * gates.scale
            self.theta = R
        self.objective = 0.5 * self.quadratic + float(penalty[gates.atoms] @ gates.t)

    def screen(self, rows: Array | None, rough: bool) -> tuple[Array, float]:
        """Return the scores of some rows (None: all), and the best dual value for these rows.

        ``rough`` allows float32. For all rows, all columns and not rough the value is a bound.
        """
        gates = self.gates
        if self.gram is not None:
            scores = gram_sums(self.gram, gates.C, gates.Z, gates.weight)
        elif self.sparse is not None:
            factor = gates.s * gates.scale
            scores = self.sparse.positive_sums(gates.D, gates.v, factor, rows)
        else:
            dtype: Any = np.float64
            if rough or gates.columns is not None:  # a sample proves nothing anyway
                dtype = np.float32
            scores = self.positive_sums(self.theta, rows, dtype)
        index: Any = slice(None)
        if rows is not None:
            index = rows
        # the own column of a row counts with its sign; in a sample few rows have one
        if gates.tied and gates.columns is None:
            scores += np.minimum(self.inner[index], 0.0)
        return scores, self._terms(scores, index).bound(self.penalty[index])

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
            n_terms=gates.Y.shape[0],
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
    order = np.argsort(-violation, kind="stable")[: 4 * count]
    order = order[violation[order] > rounding * penalty[rows[order]]]
    D = dense_columns(gates.D, rows[order]).astype(np.float64)
    D /= np.maximum(np.sqrt(squared_norms(D)), np.finfo(float).tiny)
    is_multiple = np.triu(D.T @ D > 1 - 1e-12, 1).any(axis=0)
    order = order[~is_multiple][:count]
    return rows[order], float(violation[order].max(initial=0.0))
