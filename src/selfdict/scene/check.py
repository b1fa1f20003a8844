"""How far the solution on the candidates can be from optimal for all pixels.

All it needs are sums over the pixels, which one pass over the scene gives.
"""

import math
from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.columns.memory import MemoryColumns, MemoryFit
from selfdict.model.certificate import residual_terms
from selfdict.model.dense_rows import MemoryRows
from selfdict.model.dual import DualTerms, dot_error
from selfdict.model.omega import column_norms
from selfdict.model.penalties import Linear, Penalty
from selfdict.model.solution import Solution, consistent_bound, relative_gap

_COLUMNS = 8192  # fitted at a time, whatever the size of the block


@dataclass(frozen=True)
class SceneCheck:
    """The convex model with the candidates as its dictionary, for all valid pixels of a scene.

    Over gates t ∈ [0, 1]^k of the k candidates d_i, and 0 ≤ x_ij ≤ (w_j/w_i) t_i for every pixel
    m_j,

        min ½ Σ_j ‖m_j − Σ_i d_i x_ij‖² + μ Σ_i p_i t_i,   w the ℓ1 norms.

    Attributes
    ----------
    objective : float
        Its value at the gates of the solution, every pixel fitted exactly.
    dual_bound : float
        No gates of these candidates have a lower objective.
    gap : float
        (objective − dual_bound) / objective.
    """

    objective: float
    dual_bound: float
    gap: float


@dataclass(frozen=True)
class Dictionary:
    """The candidates D (m, k) with their gates, and what the model weighs them by."""

    D: Array
    v: Array
    t: Array
    penalty: Penalty

    @classmethod
    def of(cls, D: Array, solution: Solution) -> "Dictionary":
        """Take the gates and μp from a solution for the columns of D.

        Its residuals are weighted by cluster sizes.
        """
        # in double precision: rounded weights would be those of another model
        v = column_norms(D, np.float64)
        p = solution.problem.p.astype(np.float64)
        t = np.clip(solution.diagonal.astype(np.float64), 0.0, 1.0)
        return cls(D, v, np.where(v > 0, t, 0.0), Linear(solution.mu * p))

    def no_sums(self) -> Array:
        """Return :meth:`sums` of no pixel at all."""
        return np.zeros(3 + self.D.shape[1])

    def sums(self, M: Array) -> Array:
        """Return what the pixels M (m, n) add to ⟨θ, M⟩, to ‖R‖² and to the scores, θ = R.

        The third sum is Σ_j β_j², where β_j bounds the norms of what is summed up for a residual.
        There is one score per candidate.
        """
        total = self.no_sums()
        for start in range(0, M.shape[1], _COLUMNS):
            total += self._sums(M[:, start : start + _COLUMNS])
        return total

    def _sums(self, M: Array) -> Array:
        w = column_norms(M, np.float64)
        # a pixel of zeros is explained by nothing
        is_seen = w > 0
        M = M[:, is_seen].astype(np.float64)
        w = w[is_seen]
        opened = np.flatnonzero(self.t > 0)
        ones = np.ones(w.size)
        rows = MemoryRows(self.D, self.v)
        fit = MemoryFit(MemoryColumns(M, w, ones, rows, is_tied=False))
        fit.set_atoms(opened, np.zeros(0, bool))
        fit.evaluate(self.t[opened])
        terms = residual_terms(M, fit.residual(), w, ones, D=self.D, v=self.v)
        fitted = w * float(rows.lengths[opened] @ self.t[opened])
        summed = np.sqrt(fit.columns.squared_norms) + fitted
        return np.concatenate([[terms.linear, terms.quadratic, math.fsum(summed**2)], terms.scores])

    def verdict(self, total: Array) -> SceneCheck:
        """Return the check from the sums over all pixels.

        For θ = cR the dual value is c⟨R, M⟩ − ½c²‖R‖² − Σ_i max(0, cσ_i − μp_i) with the scores
        σ_i = Σ_j (w_j/w_i) max(0, d_iᵀr_j); the best c ≥ 0 is found exactly.
        """
        terms = DualTerms(float(total[0]), float(total[1]), total[3:])
        objective = 0.5 * terms.quadratic + self.penalty.value(self.t)
        error = dot_error(sum(self.D.shape)) * math.sqrt(total[2])
        rounding = error * (math.sqrt(terms.quadratic) + error)
        rounding += dot_error(sum(self.D.shape)) * objective
        bound = consistent_bound(terms.bound(self.penalty), objective, 2 * rounding)
        return SceneCheck(objective, bound, relative_gap(objective, bound))
