"""The dual of model (6): penalties, whose conjugates it takes, and a lower bound from any θ.

A penalty is a sum over the gates t_i of the rows (for D = M the diagonal of X),

    min_{X ∈ Ω}  Σ_ij s_j ℓ_ij(r_ij) + Σ_i π_i(t_i),

where each π is convex on [0, 1] and zero at zero. Its conjugate π*(y) = max_{0≤t≤1} y t − π(t) is
what a row with the score y takes off the dual bound of :doc:`/mathematics`. It is zero up to the
slope π'(0), so a row may stay closed if and only if its score is not above that slope, and upper
bounds on scores stay valid, since π* does not fall.

For θ_j = c s_j ψ(r_j), with the slope ψ of the loss, scores are proportional to c. So one pass over
MᵀR gives the bound for every c ≥ 0, and the best c is found. For model (4) the quadratic term
becomes ε‖θ‖ and μ is 1. All terms are sums over columns, so the bound of a whole scene is put
together from its blocks.

Rounding counts, since a bound is a proof. θ is whatever matrix was stored, so only errors in what
is computed from it matter: ⟨θ, M⟩ is taken from below, the other terms from above. A sum of k
products has an error of at most γ_k = k u/(1 − k u) times the sum of their absolute values, in any
order, with u = 2⁻⁵³; that sum is bounded by norms.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from selfdict._validation import Array

UNIT_ROUNDOFF = 2.0**-53
SUMMED = 128


def dot_error(n_terms: int) -> float:
    """Return γ_k for k terms and a few more operations: the relative error of a sum of products."""
    k = n_terms + 16
    return k * UNIT_ROUNDOFF / (1 - k * UNIT_ROUNDOFF)


def total(values: Array) -> float:
    """Return the sum of an array (n,), off by at most γ_k times that of its absolute values.

    k is :data:`SUMMED`: so many numbers are summed in any order, and their sums exactly. Summing
    all of them exactly would take a hundred times as long.
    """
    return math.fsum(np.add.reduceat(values, np.arange(0, len(values), SUMMED)))


@dataclass(frozen=True, eq=False)
class Penalty(ABC):
    """The penalty of d rows at one μ: functions of each gate, and their slopes at zero.

    Newton's method takes value, gradient and curvature, the dual bound takes ``opening`` and
    ``conjugate``, the screening of rows ``slope``. A quadratic penalty a_i t + ½ b_i t², which
    Algorithm 1 and the interior-point method need, is known to them by a = ``slope`` and
    b = ``curvature``.
    """

    slope: Array  # π_i'(0), (d,): the score above which a row opens; infinite for closed rows

    @property
    def quadratic(self) -> bool:
        """Whether π_i(t) is slope_i t + ½ curvature_i t²."""
        return False

    def take(self, rows: Array) -> Self:
        """Return the penalty of some of the rows, by their indices."""
        return replace(self, slope=self.slope[rows])

    def closing(self, is_closed: Array) -> Self:
        """Return the penalty that keeps the rows of a mask closed."""
        return replace(self, slope=np.where(is_closed, np.inf, self.slope))

    @abstractmethod
    def value(self, t: Array) -> float:
        """Return Σ_i π_i(t_i), in float64, for rows whose slopes are finite."""

    @abstractmethod
    def gradient(self, t: Array) -> Array:
        """Return π_i'(t_i), (d,)."""

    @abstractmethod
    def curvature(self, t: Array) -> Array:
        """Return π_i''(t_i), (d,)."""

    @abstractmethod
    def opening(self, y: Array) -> Array:
        """Return the t_i in [0, 1] at which y_i t − π_i(t) is largest, (d,): 0 for closed rows."""

    @abstractmethod
    def conjugate(self, y: Array) -> Array:
        """Return π_i*(y_i), that largest value, (d,)."""

    @cached_property
    def steepest(self) -> Array:
        """π_i'(1), (d,): the score from which a row is wide open."""
        return self.gradient(np.ones(len(self.slope)))

    def best_scaling(self, linear: float, quadratic: float, scores: Array) -> tuple[float, float]:
        """Maximise c·linear − ½c²·quadratic − Σ_i π_i*(c·scores_i), which is concave, over c ≥ 0.

        Return c, which need not be exact, and the value, less what rounding may have added to it.
        """
        # beyond, all rows are wide open and the function is a parabola, or a line
        high = 1e100
        if quadratic > 0:
            high = min(high, max(linear, 0.0) / quadratic)
        rows = np.flatnonzero((scores > 0) & (high * scores > self.slope))
        penalty = self.take(rows)
        scores = scores[rows]
        if not quadratic > 0:
            high = min(high, float((penalty.steepest / scores).max(initial=0.0)))
        low = 0.0
        if linear > 0:
            # up to the first score that reaches its slope all rows are closed, and it rises
            low = 0.5 * float((penalty.slope / scores).min(initial=high))
        # By halving the logarithm: c may be of any order. At the left end the derivative is not
        # negative, so that Σ c·score·t is at most c·linear: what rounding does to the conjugate is
        # within the room that the sum is given.
        for _ in range(64):
            if high <= (1 + 1e-13) * low:
                break
            c = math.sqrt(max(low, 1e-100 * high)) * math.sqrt(high)
            t = penalty.opening(c * scores)
            lost = c * quadratic + float(scores @ t)
            # A derivative within rounding of zero counts as zero: without a quadratic term the way
            # to the next kink may be long, and the room for rounding grows with c.
            if linear - lost > 16 * UNIT_ROUNDOFF * (abs(linear) + lost):
                low = c
                continue
            high = c
            is_open = t > 0
            if not is_open.all():  # the others stay closed from here on
                penalty = penalty.take(np.flatnonzero(is_open))
                scores = scores[is_open]
        excess = math.fsum(penalty.conjugate(low * scores))
        return low, rounded_down(low * linear, 0.5 * low * low * quadratic, excess)


@dataclass(frozen=True, eq=False)
class Quadratic(Penalty):
    """π_i(t) = a_i t + ½ν t² with the slopes a = μp ≥ 0, (d,) of float64.

    With ν = 0 it is the paper's penalty. With ν > 0 near-duplicates share the weight that one of
    them would have otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.model.dual import Quadratic
    >>> Quadratic(np.array([1.0, 2.0])).conjugate(np.array([1.5, 1.5]))
    array([0.5, 0. ])
    >>> Quadratic(np.array([1.0, 1.0]), 2.0).opening(np.array([0.5, 2.0]))
    array([0. , 0.5])
    """

    nu: float = 0.0

    @property
    def quadratic(self) -> bool:
        return True

    def value(self, t: Array) -> float:
        return float(self.slope @ t + 0.5 * self.nu * (t @ t))

    def gradient(self, t: Array) -> Array:
        return np.asarray(self.slope + self.nu * t)

    def curvature(self, t: Array) -> Array:
        return np.full(len(t), self.nu)

    def opening(self, y: Array) -> Array:
        if self.nu == 0:
            return np.where(y > self.slope, 1.0, 0.0)
        return np.asarray(np.clip((y - self.slope) / self.nu, 0.0, 1.0))

    def conjugate(self, y: Array) -> Array:
        # φ(z) = z²/(2ν) up to z = ν and z − ν/2 beyond, for z = y − a above zero
        above = np.maximum(y - self.slope, 0.0)
        t = self.opening(y)
        return np.asarray(t * (above - 0.5 * self.nu * t))


@dataclass(frozen=True)
class DualTerms:
    """What D(cθ) is made of, for every c ≥ 0, with θ_j = s_j ψ(r_j)."""

    linear: float  # ⟨θ, M⟩, from below
    quadratic: float  # ⟨θ, R⟩, from above: Σ_j s_j ‖r_j‖² for the squared loss
    scores: Array  # (d,): σ_i(θ) of every row, or of those that count, from above
    # c ↦ Σ_ij s_j ℓ*(c ψ_ij), for a loss that is not quadratic; None means ½c²·quadratic
    conjugate: Callable[[float], float] | None = None
    largest_scaling: float = np.inf  # the c beyond which that is infinite

    def best_scaling(self, penalty: Penalty) -> tuple[float, float]:
        """Return the c that maximises D(cθ) for a quadratic loss, and the maximum."""
        return penalty.best_scaling(self.linear, self.quadratic, self.scores)

    def bound(self, penalty: Penalty) -> float:
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
        error = dot_error(n_terms + SUMMED)
        linear = total(inner) - error * total(magnitudes * data_norms)
        quadratic = total(square)
        if square_error is not None:
            quadratic += total(square_error)
        quadratic *= 1 + error
        reach = total(w * magnitudes)
        above = scores_from_above(scores, reach, atom_lengths, n_terms, n_summed)
        return cls(linear, quadratic, above, conjugate, largest_scaling)

    def constrained_bound(self, epsilon: float, penalty: Penalty) -> float:
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
