"""The certificate: the bound of model (4), scores by every way, points that are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest

import naive
from selfdict import (
    InputError,
    Problem,
    Solution,
    certify,
    conic,
    project_omega,
    prove_groups,
)
from selfdict.datasets import make_mixtures
from selfdict.model.dual import SUMMED, dot_error, total
from selfdict.model.score_bounds import row_scores
from selfdict.model.scores import FUSED_FEATURES, TILE_COLUMNS


def test_bound_of_the_constrained_model():
    M = make_mixtures(8, 12, 3, noise=0.05, random_state=0)[0]
    exact = conic(M, epsilon=0.5)
    X = project_omega(exact.toarray() + 0.02, np.abs(M).sum(axis=0))
    epsilon = float(np.linalg.norm(M - M @ X))
    rough = certify(Solution.from_matrix(X, Problem(M, epsilon=epsilon)))
    assert rough.dual_bound <= conic(M, epsilon=epsilon).objective + 1e-7
    assert rough.objective == pytest.approx(np.trace(X))


@pytest.mark.parametrize("m", [1, 6, 7, 8, 12, 14, FUSED_FEATURES, FUSED_FEATURES + 1])
def test_scores_equal_the_whole_matrix_for_many_tiles(m):
    """Every way through the kernel, which works on 2 or 4 features at a time, and through BLAS."""
    rng = np.random.default_rng(0)
    n = 2 * TILE_COLUMNS + 301
    M, theta = rng.normal(size=(m, n)), rng.normal(size=(m, n))
    w = np.abs(M).sum(axis=0)
    w[3] = 0.0
    np.testing.assert_allclose(
        row_scores(M, theta, w, w), naive.row_scores(M, theta, w), rtol=1e-12, atol=1e-12
    )


def test_invalid_input():
    with pytest.raises(InputError):
        certify(Solution.from_matrix(np.eye(3), Problem(np.eye(3))))
    with pytest.raises(TypeError):
        certify(np.eye(3))


# an X that is not feasible has no objective that proves anything

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


@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 100_000])
def test_a_sum_is_as_exact_as_the_bound_assumes(n):
    rng = np.random.default_rng(n)
    values = rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n)
    room = dot_error(SUMMED) * math.fsum(np.abs(values))
    assert abs(total(values) - math.fsum(values)) <= room
