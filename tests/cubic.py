"""A penalty that is not quadratic, as a user would write it."""

from dataclasses import dataclass

import numpy as np

from selfdict import Problem
from selfdict.model.dual import Penalty


@dataclass(frozen=True, eq=False)
class Cubic(Penalty):
    """π_i(t) = a_i t + ⅓b t³, which is not quadratic."""

    b: float

    def value(self, t):
        return float(self.slope @ t + self.b * np.sum(t**3) / 3)

    def gradient(self, t):
        return self.slope + self.b * t**2

    def curvature(self, t):
        return 2 * self.b * t

    def opening(self, y):
        return np.minimum(np.sqrt(np.maximum(y - self.slope, 0.0) / self.b), 1.0)

    def conjugate(self, y):
        t = self.opening(y)
        return t * (np.maximum(y - self.slope, 0.0) - self.b * t**2 / 3)


class CubicProblem(Problem):
    def penalty_at(self, mu):
        return Cubic(mu * self.p, mu)
