"""The dual of model (6): a lower bound on its optimum from any θ.

Ω is compact, so the Lagrange dual is finite for every θ ∈ R^{m×n}. With V = Mᵀθ and the weights s_j
of the columns,

    D(θ) = ⟨θ, M⟩ − ½ Σ_j ‖θ_j‖²/s_j − Σ_i max(0, σ_i(θ) − μ p_i),
    σ_i(θ) = V_ii + Σ_{j≠i} (w_j/w_i) max(0, V_ij),

is a lower bound on (6): the max is the support function of row i of Ω, reached at its vertices. For
θ_j = c s_j r_j with the residual R = M − M X, σ is proportional to c. So one pass over MᵀR gives
the bound for every c ≥ 0, and the best c is found exactly. For model (4) the quadratic term becomes
ε‖θ‖ and μ is 1.

Atoms d_i of another dictionary, with weights v_i and gates of their own, have the scores
σ_i(θ) = Σ_j (w_j/v_i) max(0, d_iᵀθ_j). With another loss than the square, ½‖θ_j‖²/s_j becomes
Σ_i s_j ℓ*(θ_ij/s_j), and θ_j = c s_j ψ(r_j) with ψ = ℓ'.

All terms are sums over columns, so the bound of a whole scene is put together from its blocks.

Rounding counts, since a bound is a proof. θ is whatever matrix was stored, so only errors in what
is computed from it matter: ⟨θ, M⟩ is taken from below, the other terms from above. A sum of k
products has an error of at most γ_k = k u/(1 − k u) times the sum of their absolute values, in any
order, with u = 2⁻⁵³; that sum is bounded by norms.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selfdict._validation import Array

if TYPE_CHECKING:
    from selfdict.model.penalties import Penalty

UNIT_ROUNDOFF = 2.0**-53


def dot_error(n_terms: int) -> float:
    """Return γ_k for k terms and a few more operations: the relative error of a sum of products."""
    k = n_terms + 16
    return k * UNIT_ROUNDOFF / (1 - k * UNIT_ROUNDOFF)


@dataclass(frozen=True)
class DualTerms:
    """What D(cθ) is made of, for every c ≥ 0, with θ_j = s_j ψ(r_j)."""

    linear: float  # ⟨θ, M⟩, from below
    quadratic: float  # ⟨θ, R⟩, from above: Σ_j s_j ‖r_j‖² for the squared loss
    scores: Array  # (d,): σ_i(θ) of every row, or of those that count, from above
    # c ↦ Σ_ij s_j ℓ*(c ψ_ij), for a loss that is not quadratic; None means ½c²·quadratic
    conjugate: Callable[[float], float] | None = None
    largest_scaling: float = np.inf  # the c beyond which that is infinite

    def best_scaling(self, penalty: "Penalty") -> tuple[float, float]:
        """Return the c that maximises D(cθ) for a quadratic loss, and the maximum."""
        return penalty.best_scaling(self.linear, self.quadratic, self.scores)

    def bound(self, penalty: "Penalty") -> float:
        """Return max_c D(cθ) for the penalty of the rows: a lower bound on model (6)."""
        if self.conjugate is None:
            return self.best_scaling(penalty)[1]
        if self.largest_scaling <= 0:
            return 0.0
        conjugate = self.conjugate

        def dual(c: float) -> float:
            excess = math.fsum(penalty.conjugate(c * self.scores))
            return rounded_down(c * self.linear, conjugate(c), excess)

        return max(0.0, search_scaling(dual, self.largest_scaling))

    @classmethod
    def from_columns(
        cls,
        # θ_jᵀm_j and θ_jᵀr_j of the columns, σ_i of the rows, as computed
        inner: Array,
        square: Array,
        scores: Array,
        *,
        # ‖θ_j‖; where θ is not stored, a bound on the norms of what was summed up for it
        magnitudes: Array,
        data_norms: Array,  # ‖m_j‖
        atom_lengths: Array,  # ‖d_i‖₂/v_i of the rows scored
        w: Array,  # weights of Ω
        # products in a sum: the number of features, and of atoms where θ is not stored
        n_terms: int,
        # additions that a score has gone through; fewer than columns if tiles are summed first
        n_summed: int,
        # absolute errors of ``square``; by default relative ones of sums of squares
        square_error: Array | None = None,
        conjugate: Callable[[float], float] | None = None,
        largest_scaling: float = np.inf,
    ) -> "DualTerms":
        """Put the terms together from what was computed for each column, with room for rounding."""
        linear = math.fsum(inner) - dot_error(n_terms) * math.fsum(magnitudes * data_norms)
        quadratic = math.fsum(square) * (1 + dot_error(n_terms))
        if square_error is not None:
            quadratic += math.fsum(square_error)
        reach = math.fsum(w * magnitudes)
        above = scores_from_above(scores, reach, atom_lengths, n_terms, n_summed)
        return cls(linear, quadratic, above, conjugate, largest_scaling)

    def constrained_bound(self, epsilon: float, penalty: "Penalty") -> float:
        """Return the lower bound on model (4), whose residual has at most the norm ε."""
        linear = self.linear - epsilon * math.sqrt(self.quadratic)
        return penalty.best_scaling(linear, 0.0, self.scores)[1]


def scores_from_above(
    scores: Array, reach: float, atom_lengths: Array, n_terms: int, n_summed: int
) -> Array:
    """Return scores and what rounding may have taken off.

    A score sums up products with all columns, and its own column: at most ``reach``, which is
    Σ_j w_j‖θ_j‖, times the length ‖d_i‖₂/v_i of the atom.
    """
    return np.asarray(scores + 2 * dot_error(n_terms + n_summed) * reach * atom_lengths)


def closed_rows(
    attained: float,
    bound: float,
    # the multiplier is c θ, with the scores σ_i(θ), from above, of atoms with ‖d_i‖₂/v_i
    c: float,
    scores: Array,
    atom_lengths: Array,
    energy: float,  # Σ_j s_j w_j², summed over n_columns
    n_columns: int,
    slope: Array,
) -> Array:
    """Return which rows are proven to be zero at every optimum, (d,) of bool.

    The dual is strongly concave: with the gap g at cθ, its maximiser θ* has
    Σ_j ‖θ*_j − cθ_j‖²/s_j ≤ 2g, so that a score differs between the two by at most
    (‖d_i‖/v_i) √(2g Σ_j s_j w_j²). ``attained`` is an objective from above.
    """
    gap = attained - bound + 8 * float(np.finfo(float).eps) * attained
    # two roots: the product might leave the range
    reach = np.sqrt(2 * gap) * np.sqrt(energy) * (1 + dot_error(n_columns))
    return np.asarray(c * scores + reach * atom_lengths < slope)


def rounded_down(gain: float, cost: float, excess: float) -> float:
    """Return gain − cost − excess, less what rounding may have done to the three and their sum."""
    size = abs(gain) + cost + excess
    return float(gain - cost - excess - 16 * UNIT_ROUNDOFF * size)


def search_scaling(dual: Callable[[float], float], upper: float) -> float:
    """Return the maximum of a concave function over 0 < c < upper, by golden sections.

    Every c gives a true bound, so the search need not be exact: it ends at 1e-11 of the interval.
    """
    right = min(1.0, upper)
    while 2 * right < upper and dual(2 * right) > dual(right):
        right *= 2
    right = min(2 * right, (1 - 1e-12) * upper)
    left = 0.0
    section = (np.sqrt(5) - 1) / 2
    best = dual(right)
    first = right - section * (right - left)
    second = left + section * (right - left)
    at_first = dual(first)
    at_second = dual(second)
    tolerance = 1e-11 * right
    while right - left > tolerance:
        if at_first > at_second:
            right = second
            second = first
            at_second = at_first
            first = right - section * (right - left)
            at_first = dual(first)
        else:
            left = first
            first = second
            at_first = at_second
            second = left + section * (right - left)
            at_second = dual(second)
    return max(best, at_first, at_second)
