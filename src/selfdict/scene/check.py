"""How far the solution on the candidates can be from optimal for all pixels: sums that one pass over them gives."""

from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.certificate import best_scaling
from selfdict.model.omega import column_norms, dictionary
from selfdict.model.screening import row_scores
from selfdict.model.solution import Solution
from selfdict.solvers.newton_gates import Gates

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
    penalty: Array

    @classmethod
    def of(cls, D: Array, solution: Solution) -> "Dictionary":
        """Take the gates and μp from a solution for the columns of D, with residuals weighted by cluster sizes."""
        D, v = dictionary(D, D)
        p = np.ones(v.size) if solution.p is None else solution.p.astype(np.float64)
        t = np.clip(solution.diagonal.astype(np.float64), 0.0, 1.0)
        return cls(D, v, np.where(v > 0, t, 0.0), solution.mu * p)

    def sums(self, M: Array) -> Array:
        """Return what the pixels M (m, n) add to ⟨θ, M⟩, to ‖R‖² and to the scores of the candidates, θ = R."""
        total = np.zeros(2 + self.D.shape[1])
        for start in range(0, M.shape[1], _COLUMNS):
            total += self._sums(M[:, start : start + _COLUMNS])
        return total

    def _sums(self, M: Array) -> Array:
        w = column_norms(M).astype(np.float64)
        M, w = M[:, w > 0].astype(np.float64), w[w > 0]  # a pixel of zeros is explained by nothing
        opened = np.flatnonzero(self.t > 0)
        gates = Gates(M, w, np.ones(w.size), None, self.D, self.v)
        gates.open(opened, self.t[opened])
        R = gates.residual()
        linear, quadratic = float(np.einsum("ij,ij->", R, M)), float(squared_norms(R).sum())
        return np.concatenate([[linear, quadratic], row_scores(M, R, w, self.D, self.v)])

    def verdict(self, total: Array) -> SceneCheck:
        """Return the check from the sums over all pixels.

        For θ = cR the dual value is c⟨R, M⟩ − ½c²‖R‖² − Σ_i max(0, cσ_i − μp_i) with the scores
        σ_i = Σ_j (w_j/w_i) max(0, d_iᵀr_j); the best c ≥ 0 is found exactly.
        """
        linear, quadratic, scores = float(total[0]), float(total[1]), total[2:]
        objective = 0.5 * quadratic + float(self.penalty @ self.t)
        _, bound = best_scaling(linear, quadratic, scores, self.penalty)
        return SceneCheck(
            objective, bound, max(0.0, (objective - bound) / objective) if objective > 0 else 0.0
        )
