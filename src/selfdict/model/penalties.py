"""What open rows cost: the penalties of model (6).

A penalty is a sum over the gates t_i of the rows (for D = M the diagonal of X),

    min_{X ∈ Ω}  Σ_ij s_j ℓ_ij(r_ij) + Σ_i π_i(t_i),

where each π is convex on [0, 1] and zero at zero. Its conjugate π*(y) = max_{0≤t≤1} y t − π(t) is
what a row with the score y takes off the dual bound. It is zero up to the slope π'(0), so a row may
stay closed if and only if its score is not above that slope, and upper bounds on scores stay valid,
since π* does not fall.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.model.dual import best_scaling


class Penalty(ABC):
    """The penalty of d rows at one μ: functions of each gate.

    A new penalty defines the abstract methods, and ``curvature`` if it is not linear. Newton's
    method takes value, gradient and curvature, the dual bound takes ``conjugate`` and
    ``best_scaling``, the screening of rows ``slope``. Algorithm 1 takes ``slope`` alone, by which
    times its step length it lowers a gate before it projects: that is the step of a linear penalty.
    """

    @property
    @abstractmethod
    def slope(self) -> Array:
        """π_i'(0), (d,): the score above which a row opens; infinite for rows that stay closed."""

    @abstractmethod
    def take(self, rows: Array) -> "Penalty":
        """Return the penalty of some of the rows, by their indices."""

    @abstractmethod
    def closing(self, is_closed: Array) -> "Penalty":
        """Return the penalty that keeps the rows of a mask closed."""

    @abstractmethod
    def value(self, t: Array) -> float:
        """Return Σ_i π_i(t_i), in float64, for rows whose slopes are finite."""

    @abstractmethod
    def gradient(self, t: Array) -> Array:
        """Return π_i'(t_i), (d,)."""

    def curvature(self, t: Array) -> Array:
        """Return π_i''(t_i), (d,)."""
        return np.zeros(len(t))

    @abstractmethod
    def conjugate(self, y: Array) -> Array:
        """Return π_i*(y_i), (d,)."""

    @abstractmethod
    def best_scaling(self, linear: float, quadratic: float, scores: Array) -> tuple[float, float]:
        """Maximise c·linear − ½c²·quadratic − Σ_i π_i*(c·scores_i), which is concave, over c ≥ 0.

        Returns
        -------
        (c, value)
            The maximiser and the maximum, less what rounding may have added to it. Any c gives a
            true bound, so c need not be exact.
        """


@dataclass(frozen=True, eq=False)
class Linear(Penalty):
    """The paper's penalty: π_i(t) = a_i t, with the prices a = μp ≥ 0, (d,) of float64.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.model.penalties import Linear
    >>> Linear(np.array([1.0, 2.0])).conjugate(np.array([1.5, 1.5]))
    array([0.5, 0. ])
    """

    prices: Array

    @property
    def slope(self) -> Array:
        return self.prices

    def take(self, rows: Array) -> "Linear":
        return Linear(self.prices[rows])

    def closing(self, is_closed: Array) -> "Linear":
        return Linear(np.where(is_closed, np.inf, self.prices))

    def value(self, t: Array) -> float:
        return float(self.prices @ t)

    def gradient(self, t: Array) -> Array:
        return self.prices

    def conjugate(self, y: Array) -> Array:
        return np.asarray(np.maximum(y - self.prices, 0.0))

    def best_scaling(self, linear: float, quadratic: float, scores: Array) -> tuple[float, float]:
        return best_scaling(linear, quadratic, scores, self.prices)
