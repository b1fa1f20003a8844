"""An X that is not feasible has no objective that proves anything: it is refused."""

import numpy as np
import pytest

from selfdict import InputError, Problem, Solution, certify, conic, prove_groups, working_set
from selfdict.datasets import make_mixtures

TWICE = np.eye(3)[:, [0, 1, 2, 0, 1, 2]]


def entries(**values):
    """Return a 6×6 matrix of zeros but for some entries, named x01 for row 0 and column 1."""
    X = np.zeros((6, 6))
    for name, value in values.items():
        X[int(name[1]), int(name[2])] = value
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (entries(x00=0.6, x03=0.8), r"X\[0, 3\] is 0.8, at most 0.6 is allowed"),
        (entries(x11=1.1), r"X\[1, 1\] is 1.1, at most 1 is allowed"),
        (entries(x22=0.5, x25=-0.1), r"X\[2, 5\] is -0.1, at least 0 is allowed"),
    ],
)
def test_outside_of_omega(X, message):
    solution = Solution.from_matrix(X, Problem(TWICE, mu=0.4))
    with pytest.raises(InputError, match=message):
        certify(solution)
    with pytest.raises(InputError, match=message):
        prove_groups(solution, [[0, 3]])


def test_gates_of_a_dictionary():
    problem = Problem(TWICE, mu=0.1, D=np.eye(3))
    inside = np.repeat(np.eye(3), 2, axis=1)[:, [0, 2, 4, 1, 3, 5]]
    whole = certify(Solution.from_matrix(inside, problem, diagonal=np.ones(3)))
    assert whole.objective == pytest.approx(0.3)
    with pytest.raises(InputError, match=r"X\[0, 0\] is 1, at most 0.9 is allowed"):
        certify(Solution.from_matrix(inside, problem, diagonal=np.full(3, 0.9)))


def test_residuals_above_epsilon():
    problem = Problem(TWICE, epsilon=0.1)
    with pytest.raises(InputError, match=r"the residual is 2\.44949, at most 0\.1"):
        certify(Solution.from_matrix(np.zeros((6, 6)), problem))
    exact = conic(TWICE, epsilon=0.1)
    assert certify(exact).gap == pytest.approx(exact.gap, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_solutions_are_feasible(dtype):
    M = make_mixtures(10, 60, 3, noise=0.05, random_state=1)[0].astype(dtype)
    for mu in (0.01, 0.3, 3.0):
        assert certify(working_set(M, mu)).gap < 1e-3


def test_an_objective_beyond_the_range_proves_nothing():
    M = make_mixtures(10, 30, 3, random_state=0)[0]
    assert certify(Solution.from_matrix(np.eye(30), Problem(M, 1e308))).gap == np.inf


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_single_precision_rounds_into_omega(seed, with_dictionary):
    # Rounded to nearest, every third solution would be better than the best one.
    M = make_mixtures(8, 80, 3, noise=0.1, random_state=seed)[0].astype(np.float32)
    D = None
    if with_dictionary:
        D = M[:, :40]
    for mu in (0.1, 1.0, 10.0):
        found = working_set(M, mu, D=D, tol=1e-9)
        problem = found.problem
        gates = found.diagonal[found.support].astype(np.longdouble)
        X = found.coef.astype(np.longdouble)
        v = problem.v[found.support]
        assert (v[:, None] * X <= problem.w * gates[:, None]).all()
        assert gates.max(initial=0) <= 1
        exact = working_set(M.astype(np.float64), mu, D=D, tol=1e-12)
        assert found.objective >= exact.dual_bound * (1 - 1e-13)
        assert found.objective == pytest.approx(exact.objective, rel=1e-5)
