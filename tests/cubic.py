"""A penalty that is not quadratic, as a user would write it."""

from dataclasses import dataclass

import numpy as np

from selfdict import Problem
from selfdict.model.penalties import Penalty


@dataclass(frozen=True, eq=False)
class Cubic(Penalty):
    """π_i(t) = a_i t + ⅓b t³, which is not quadratic."""

    prices: np.ndarray
    b: float

    @property
    def slope(self):
        return self.prices

    def take(self, rows):
        return Cubic(self.prices[rows], self.b)

    def closing(self, is_closed):
        return Cubic(np.where(is_closed, np.inf, self.prices), self.b)

    def value(self, t):
        return float(self.prices @ t + self.b * np.sum(t**3) / 3)

    def gradient(self, t):
        return self.prices + self.b * t**2

    def curvature(self, t):
        return 2 * self.b * t

    def opening(self, y):
        return np.minimum(np.sqrt(np.maximum(y - self.prices, 0.0) / self.b), 1.0)

    def conjugate(self, y):
        t = self.opening(y)
        return t * (np.maximum(y - self.prices, 0.0) - self.b * t**2 / 3)


class CubicProblem(Problem):
    def penalty_at(self, mu):
        return Cubic(mu * self.p, mu)
