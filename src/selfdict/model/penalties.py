"""Penalties: what open rows cost in model (6).

A penalty is a sum over the gates t_i of the rows (for D = M the diagonal of X),

    min_{X ∈ Ω}  Σ_ij s_j ℓ_ij(r_ij) + Σ_i π_i(t_i),

where each π is convex on [0, 1] and zero at zero. Its conjugate π*(y) = max_{0≤t≤1} y t − π(t) is
what a row with the score y takes off the dual bound. It is zero up to the slope π'(0), so a row may
stay closed if and only if its score is not above that slope, and upper bounds on scores stay valid,
since π* does not fall.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from selfdict._validation import Array
from selfdict.model.dual import UNIT_ROUNDOFF, rounded_down


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
        # By halving the logarithm: c may be of any order. At the left end the derivative is not
        # negative, so that Σ c·score·t is at most c·linear: what rounding does to the conjugate is
        # within the room that the sum is given.
        for _ in range(64):
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
    >>> from selfdict.model.penalties import Quadratic
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
