"""An X that is not feasible has no objective that proves anything: it is refused."""

from dataclasses import replace

import numpy as np
import pytest

from feasible import assert_feasible
from selfdict import (
    Conic,
    FastGradient,
    InputError,
    Problem,
    Solution,
    WorkingSet,
    certify,
    conic,
    prove_groups,
    working_set,
)
from selfdict.datasets import make_mixtures
from selfdict.model.omega import into_omega

TWICE = np.eye(3)[:, [0, 1, 2, 0, 1, 2]]


def entries(**values):
    """Return a 6×6 matrix of zeros but for some entries, named x01 for row 0 and column 1."""
    X = np.zeros((6, 6))
    for name, value in values.items():
        X[int(name[1]), int(name[2])] = value
    return X


@pytest.mark.parametrize(
    "X",
    [
        entries(x00=0.6, x03=0.8),
        entries(x11=1.1),
        entries(x22=0.5, x25=-0.1),
        entries(x22=0.5, x25=np.nan),
        entries(x03=1e-30),  # beside a gate of zero
    ],
)
def test_points_outside_omega_are_refused(X):
    solution = Solution.from_matrix(X, Problem(TWICE, mu=0.4))
    with pytest.raises(InputError):
        certify(solution)
    with pytest.raises(InputError):
        prove_groups(solution, [[0, 3]])


def bright_column():
    """Return three groups of eleven equal columns beside a very bright one, and an infeasible X."""
    M = np.zeros((4, 34))
    X = np.zeros((34, 34))
    for group in range(3):
        first = 11 * group
        M[group, first : first + 11] = 1.0
        X[first, first : first + 11] = 0.5
        X[first, first] = 0.25  # the others may be no larger
    M[3, 33] = 1e6
    X[33, 33] = 1.0
    return M, X


def test_tolerance_of_a_column_does_not_depend_on_brighter_ones():
    M, X = bright_column()
    solution = Solution.from_matrix(X, Problem(M, mu=1.0))
    with pytest.raises(InputError):
        certify(solution)
    with pytest.raises(InputError):
        prove_groups(solution, [[0], [11], [22], [33]])
    found = working_set(M, 1.0, tol=1e-9)
    proof = prove_groups(found, [[0], [11], [22], [33]])
    assert not proof.closed[proof.solution.support].any()


def test_tolerated_violations_are_clipped_so_that_the_objective_is_attained():
    X = np.zeros((6, 6))
    for row in range(3):
        X[row, row] = 0.5 - 1e-7
        X[row, row + 3] = 0.5 + 2e-7
    X[0, 1] = -1e-8
    problem = Problem(TWICE, mu=0.4)
    solution = certify(Solution.from_matrix(X, problem))
    clipped = solution.toarray()
    assert (clipped >= 0).all()
    assert (clipped <= np.diagonal(clipped)[:, None]).all()
    R = TWICE - TWICE @ clipped
    attained = 0.5 * (R**2).sum() + 0.4 * np.trace(clipped)
    assert solution.objective == pytest.approx(attained, rel=1e-14)
    assert solution.dual_bound <= attained


def test_gates_other_than_the_diagonal_are_refused():
    problem = Problem(TWICE, mu=0.4)
    X = np.diag([0.5] * 6)
    with pytest.raises(InputError):
        certify(Solution.from_matrix(X, problem, diagonal=np.full(6, 0.25)))
    solution = Solution.from_matrix(np.diag([0.5, 0, 0, 0, 0, 0]), problem)
    gates = solution.diagonal.copy()
    gates[1] = 0.5
    with pytest.raises(InputError):
        certify(replace(solution, diagonal=gates))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1])
def test_solutions_of_the_interior_point_method_are_accepted(epsilon):
    M = np.column_stack([1e3 * TWICE, [0.0, 0.0, 1.0]])
    exact = conic(M, epsilon=epsilon)
    assert certify(exact).dual_bound <= exact.objective


def test_tolerance_of_the_residual_is_relative_to_epsilon():
    M = np.column_stack([1e3 * np.eye(2), [1.0, 0.0]])
    X = np.eye(3)
    X[2, 2] = 0.0
    X[0, 2] = 1e-3 * (1 - 1e-4)
    with pytest.raises(InputError):
        certify(Solution.from_matrix(X, Problem(M, epsilon=0.9e-4)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_solver_returns_points_of_omega(dtype, weighted):
    M = make_mixtures(8, 30, 3, noise=0.1, random_state=0)[0].astype(dtype)
    M[:, 4] *= 1e5
    weight = None
    if weighted:
        weight = np.linspace(0.1, 10, 30)
    problem = Problem(M, 0.3, sample_weight=weight)
    for solver in (WorkingSet(tol=1e-8), FastGradient(max_iter=100), Conic()):
        found = solver.solve(problem)
        assert into_omega(found) is found, solver.name
        assert_feasible(found)


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
        assert_feasible(found)
        exact = working_set(M.astype(np.float64), mu, D=D, tol=1e-12)
        assert found.objective >= exact.dual_bound * (1 - 1e-13)
        assert found.objective == pytest.approx(exact.objective, rel=1e-5)
