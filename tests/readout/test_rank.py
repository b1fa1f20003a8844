import numpy as np
import pytest
import scipy.sparse as sp

import naive_peers
from selfdict import (
    Candidates,
    InputError,
    Problem,
    WorkingSet,
    error_curve,
    mu_heuristic,
    select_indices,
    suggest_rank,
    working_set,
)
from selfdict.datasets import make_mixtures
from selfdict.metrics import relative_error
from selfdict.readout import elbow, hysime
from selfdict.reductions import Recipe


@pytest.mark.parametrize("r", [2, 3, 5, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hysime_finds_the_number_of_endmembers(r, dtype):
    M = make_mixtures(30, 2000, r, noise=0.002, random_state=r)[0].astype(dtype)
    assert hysime(M) == r
    assert suggest_rank(M) == r


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.003, 0.03, 0.2])
def test_hysime_same_as_one_regression_a_row(seed, noise):
    M = make_mixtures(15, 300, 5, noise=noise, random_state=seed)[0]
    M = M + 0.01 * np.random.default_rng(seed).standard_normal(M.shape)
    assert hysime(M) == naive_peers.hysime(M)


def test_hysime_does_not_depend_on_the_unit():
    M = make_mixtures(20, 500, 4, noise=0.01, random_state=0)[0]
    assert hysime(1e6 * M) == hysime(M) == hysime(1e-6 * M)
    assert hysime(np.zeros((3, 5))) == 0


def test_elbow():
    assert elbow([1.0, 0.5, 0.1, 0.09, 0.08, 0.07]) == 3
    assert elbow([0.3]) == 1
    assert elbow([0.3, 0.3, 0.3]) == 1
    assert elbow([0.3, 0.2, 0.1]) == 1  # a straight line has none
    for errors in ([], [[0.1]], [0.1, np.nan]):
        with pytest.raises(InputError, match="finite"):
            elbow(errors)


@pytest.mark.parametrize("r", [3, 5])
def test_elbow_of_spa(r):
    M = make_mixtures(30, 400, r, noise=0.002, random_state=0)[0]
    assert suggest_rank(M, r_max=12, method="elbow") == r


@pytest.mark.parametrize("method", ["spa", "diagonal"])
def test_error_curve_is_reached_and_none_is_lower(method):
    M = make_mixtures(12, 60, 4, noise=0.02, random_state=1)[0]
    solution = working_set(M, mu_heuristic(M, 4))
    curve = error_curve(solution, 7, method)
    reached = [relative_error(M, select_indices(solution, r, method=method)) for r in range(1, 8)]
    np.testing.assert_array_equal(curve.errors, np.minimum.accumulate(reached))
    singular = np.linalg.svd(M, compute_uv=False)
    expected = [np.linalg.norm(singular[r:]) / np.linalg.norm(singular) for r in range(1, 8)]
    np.testing.assert_allclose(curve.limits, expected, rtol=1e-9)
    rng = np.random.default_rng(0)
    for r in range(1, 8):
        best = min(relative_error(M, rng.choice(60, r, replace=False)) for _ in range(50))
        assert best >= curve.limits[r - 1]


def test_error_curve_ends_where_the_fit_is_exact():
    M = make_mixtures(12, 60, 3, random_state=1)[0]
    curve = error_curve(working_set(M, mu_heuristic(M, 3)))
    assert curve.errors.size == curve.limits.size == 3
    assert curve.errors[-1] < 1e-14 <= curve.errors[-2]
    assert error_curve(working_set(M[:, :2], 0.1)).errors.size == 2
    assert error_curve(working_set([[1.0, 2.0]], 0.1)).limits.tolist() == [0.0]


@pytest.mark.parametrize("noise", [1e-13, 1e-8])
def test_error_curve_ends_where_nothing_is_left_to_choose_by(noise):
    M = make_mixtures(20, 100, 4, noise=noise, random_state=0)[0]
    curve = error_curve(working_set(M, mu_heuristic(M, 4)))
    assert 4 <= curve.errors.size < 20
    assert curve.errors[-1] < 10 * noise


@pytest.mark.parametrize("r", [3, 5])
def test_elbow_of_a_certified_solution(r):
    M = make_mixtures(30, 400, r, noise=0.002, random_state=0)[0]
    recipe = Recipe(WorkingSet(), candidates=Candidates(50, "residual"))
    solution = recipe.solve(Problem(M), r)
    assert solution.diagonal.size == 50
    assert suggest_rank(M, r_max=12, method="elbow", solution=solution) == r
    with pytest.raises(TypeError, match="r_max"):
        error_curve(solution, M)
    with pytest.raises(InputError, match="r_max"):
        error_curve(solution, 0)


def test_limits():
    M = make_mixtures(30, 400, 6, noise=0.002, random_state=0)[0]
    assert suggest_rank(M, r_max=2) == 2
    assert suggest_rank([[1.0, 2.0]], method="elbow") == 1
    assert suggest_rank(np.zeros((2, 3))) == suggest_rank(np.zeros((2, 3)), method="elbow") == 1
    with pytest.raises(InputError, match="knee"):
        suggest_rank(M, method="knee")
    with pytest.raises(InputError, match="r_max"):
        suggest_rank(M, r_max=0)


def test_errors_of_sparse_data_are_those_of_all_of_it():
    M = sp.random_array((400, 120), density=0.05, rng=np.random.default_rng(0), format="csc")
    sparse = error_curve(working_set(M, 0.5), 4)
    dense = error_curve(working_set(M.toarray(), 0.5), 4)
    np.testing.assert_allclose(sparse.errors, dense.errors, rtol=1e-9)
    assert (sparse.limits <= dense.limits).all()
