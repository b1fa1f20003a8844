"""Penalties of the gates: what the paper's one is, and what another one needs to be solved."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubic import Cubic, CubicProblem
from selfdict import Problem, Status, WorkingSet, certify, mu_heuristic
from selfdict.datasets import make_mixtures
from selfdict.model.dual import Quadratic

PRICES = np.array([0.3, 1.0, 2.0])
PENALTIES = {
    "linear": Quadratic(PRICES),
    "smooth": Quadratic(PRICES, 0.7),
    "smooth without prices": Quadratic(np.zeros(3), 0.7),
    "cubic": Cubic(PRICES, 0.7),
}


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_derivatives_and_conjugate_belong_to_the_value(penalty):
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


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
def test_closed_rows_never_open(penalty):
    closed = penalty.closing(np.array([False, True, False]))
    assert closed.conjugate(np.full(3, 1e6))[1] == 0.0
    np.testing.assert_array_equal(np.isinf(closed.slope), [False, True, False])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_the_scaling_of_the_linear_penalty_is_at_a_kink_or_where_the_slope_vanishes(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 30))
    penalty = Quadratic(rng.random(k))
    linear = rng.random() * k
    quadratic = rng.choice([0.0, rng.random()])
    scores = rng.normal(size=k) * 10.0 ** rng.uniform(-9, 9)
    kinks = penalty.slope[scores > 0] / scores[scores > 0]
    lost = np.append(0.0, np.cumsum(scores[scores > 0][np.argsort(kinks)]))
    places = np.append(0.0, kinks)
    if quadratic > 0:
        places = np.append(places, np.maximum(linear - lost, 0.0) / quadratic)
    values = [
        c * linear - 0.5 * c * c * quadratic - penalty.conjugate(c * scores).sum() for c in places
    ]
    found = penalty.best_scaling(linear, quadratic, scores)[1]
    assert found == pytest.approx(max(values), rel=1e-9, abs=1e-9)


def test_another_penalty_is_solved_and_certified():
    """All that the working set and the certificate ask of a penalty is its interface."""
    M = np.maximum(make_mixtures(12, 150, 4, noise=0.02, random_state=0)[0], 0.0)
    M[:, 1::2] = M[:, ::2] * (1 + 1e-3 * np.random.default_rng(0).random((12, 75)))
    mu = mu_heuristic(M, 4)
    plain = WorkingSet(tol=1e-9).solve(Problem(M, mu))
    problem = CubicProblem(M, mu)
    shared = WorkingSet(tol=1e-9).solve(problem)
    assert shared.status is Status.CONVERGED
    assert certify(shared).gap <= 1e-8
    # the weights that are best without the cube are a feasible point with it
    other = certify(plain.for_problem(problem))
    assert shared.dual_bound <= other.objective
    assert shared.objective < other.objective
    assert len(shared.support) > len(plain.support)
