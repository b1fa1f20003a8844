"""Penalties of the gates: what the paper's one is, and what another one needs to be solved."""

from dataclasses import dataclass

import numpy as np
import pytest

from selfdict import Problem, Status, WorkingSet, certify, mu_heuristic
from selfdict.datasets import make_mixtures
from selfdict.model.dual import rounded_down
from selfdict.model.penalties import Linear, Penalty


@dataclass(frozen=True, eq=False)
class Smooth(Penalty):
    """π_i(t) = a_i t + ½ν t²: near-duplicates share their weight."""

    prices: np.ndarray
    nu: float

    @property
    def slope(self):
        return self.prices

    def take(self, rows):
        return Smooth(self.prices[rows], self.nu)

    def closing(self, is_closed):
        return Smooth(np.where(is_closed, np.inf, self.prices), self.nu)

    def value(self, t):
        return float(self.prices @ t + 0.5 * self.nu * t @ t)

    def gradient(self, t):
        return self.prices + self.nu * t

    def curvature(self, t):
        return np.full(len(t), self.nu)

    def _opening(self, y):
        """The t that attains the conjugate."""
        return np.clip((y - self.prices) / self.nu, 0.0, 1.0)

    def conjugate(self, y):
        t = self._opening(y)
        return np.where(t > 0, t * (y - np.where(t > 0, self.prices, 0.0) - 0.5 * self.nu * t), 0.0)

    def best_scaling(self, linear, quadratic, scores):
        # the derivative falls with c
        low = 0.0
        high = max(linear, 0.0) / max(quadratic, 1e-300)
        for _ in range(100):
            c = 0.5 * (low + high)
            if linear - c * quadratic - scores @ self._opening(c * scores) > 0:
                low = c
            else:
                high = c
        excess = float(self.conjugate(low * scores).sum())
        return low, rounded_down(low * linear, 0.5 * low * low * quadratic, excess)


PENALTIES = [Linear(np.array([0.3, 1.0, 2.0])), Smooth(np.array([0.3, 1.0, 2.0]), 0.7)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=["linear", "smooth"])
def test_the_parts_of_a_penalty_belong_together(penalty):
    t = np.array([0.2, 0.0, 0.9])
    h = 1e-6
    for i, e in enumerate(np.eye(3)):
        slope = (penalty.value(t + h * e) - penalty.value(t - h * e)) / (2 * h)
        assert slope == pytest.approx(penalty.gradient(t)[i], rel=1e-8)
        change = (penalty.gradient(t + h * e) - penalty.gradient(t - h * e))[i] / (2 * h)
        assert change == pytest.approx(penalty.curvature(t)[i], abs=1e-8)
    np.testing.assert_array_equal(penalty.slope, penalty.gradient(np.zeros(3)))
    grid = np.linspace(0, 1, 2001)
    for y in (-1.0, 0.5, 1.5, 4.0):
        for i in range(3):
            one = penalty.take(np.array([i]))
            largest = max(y * t - one.value(np.array([t])) for t in grid)
            assert one.conjugate(np.array([y]))[0] == pytest.approx(largest, abs=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES, ids=["linear", "smooth"])
def test_the_best_scaling_is_the_best(penalty):
    scores = np.array([0.5, 1.1, -1.0])
    c, value = penalty.best_scaling(1.0, 0.8, scores)
    grid = np.linspace(0, 3, 3001)
    values = [x - 0.4 * x * x - penalty.conjugate(x * scores).sum() for x in grid]
    assert value == pytest.approx(max(values), abs=1e-6)
    assert c == pytest.approx(grid[np.argmax(values)], abs=2e-3)


@pytest.mark.parametrize("penalty", PENALTIES, ids=["linear", "smooth"])
def test_closed_rows_cost_nothing_and_never_open(penalty):
    closed = penalty.closing(np.array([False, True, False]))
    assert closed.conjugate(np.full(3, 1e6))[1] == 0.0
    np.testing.assert_array_equal(np.isinf(closed.slope), [False, True, False])


def test_another_penalty_is_solved_and_certified(monkeypatch):
    """All that the working set and the certificate ask of a penalty is its interface."""
    M = np.maximum(make_mixtures(12, 150, 4, noise=0.02, random_state=0)[0], 0.0)
    M[:, 1::2] = M[:, ::2] * (1 + 1e-3 * np.random.default_rng(0).random((12, 75)))
    problem = Problem(M, mu_heuristic(M, 4))
    plain = WorkingSet(tol=1e-9).solve(problem)
    monkeypatch.setattr(Problem, "penalty_at", lambda self, mu: Smooth(mu * self.p, mu))
    shared = WorkingSet(tol=1e-9).solve(problem)
    assert shared.status is Status.CONVERGED
    assert shared.gap <= 1e-9
    certified = certify(shared)
    assert certified.gap <= 1e-8
    # the weights that are best without the square are a feasible point with it
    other = certify(plain)
    assert shared.dual_bound <= other.objective
    assert shared.objective < other.objective
    assert len(shared.support) > len(plain.support)
