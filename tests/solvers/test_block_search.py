"""The search over blocks of columns: the same optimum as in memory, and a bound that is one."""

import numpy as np
import pytest

from array_blocks import ArrayBlocks
from same_gates import assert_same_search
from selfdict import mu_heuristic, working_set
from selfdict.columns.blocks import BlockMatrix
from selfdict.columns.memory import MemoryColumns
from selfdict.datasets import make_mixtures
from selfdict.model.problem import jitter
from selfdict.model.solution import Status
from selfdict.solvers.block_search import _columns, _Survey, solve_blocks


def mixtures(n=300, dtype=np.float64):
    return make_mixtures(12, n, 4, noise=0.02, random_state=1)[0].astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("size", "smooth"), [(37, 0.0), (300, 0.0), (70, 0.7)])
def test_same_optimum_as_in_memory(dtype, size, smooth):
    M = mixtures(dtype=dtype)
    p = jitter(300, 0)
    found = solve_blocks(
        ArrayBlocks(M, size), 4, smooth=smooth, p=lambda n: p, tol=1e-9, sample_size=80
    )
    exact = working_set(M, found.mu, smooth=smooth * found.mu, p=p, tol=1e-9)
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    assert found.gap <= 1e-9
    assert found.dual_bound <= exact.objective * (1 + np.finfo(dtype).eps)
    np.testing.assert_array_equal(found.support, exact.support)
    np.testing.assert_allclose(found.t, exact.diagonal[exact.support], atol=1e-4)


@pytest.mark.parametrize("tol", [1e-5, 1e-2, 0.1])
@pytest.mark.parametrize("noise", [0.005, 0.1])
def test_rough_bounds_hold(tol, noise):
    M = make_mixtures(12, 800, 4, noise=noise, random_state=3)[0]
    p = jitter(800, 0)
    found = solve_blocks(ArrayBlocks(M, 90), 4, p=lambda n: p, tol=tol, sample_size=100)
    exact = working_set(M, found.mu, p=p, tol=1e-10)
    assert found.gap <= tol
    assert found.dual_bound <= exact.objective
    assert found.objective >= exact.dual_bound


def test_the_penalty_is_that_of_all_columns():
    M = mixtures()
    found = solve_blocks(ArrayBlocks(M, 50), 4, sample_size=30)
    assert found.mu == pytest.approx(mu_heuristic(M, 4), rel=1e-12)


def test_columns_in_blocks_equal_those_in_memory():
    M = mixtures(100)
    blocks = _columns(_Survey.of(ArrayBlocks(M, 23), 100), 1e-2)
    assert_same_search(MemoryColumns(M, M.sum(axis=0), np.ones(100)), blocks)


def test_huge_penalty_closes_all_rows():
    found = solve_blocks(ArrayBlocks(mixtures(), 60), 4, mu=1e9, tol=1e-6)
    assert len(found.support) == 0
    assert found.gap <= 1e-6


def test_columns_are_read_where_they_are_not_remembered():
    M = mixtures(60)
    columns = BlockMatrix(ArrayBlocks(M, 17), np.array([1, 20]), M[:, [1, 20]])
    columns.remember(np.array([5]), M[:, [5]])
    indices = np.array([59, 20, 5, 0, 20])
    np.testing.assert_array_equal(columns[:, indices], M[:, indices])


def test_a_time_limit_ends_with_a_bound():
    found = solve_blocks(ArrayBlocks(mixtures(), 64), 4, tol=1e-12, max_seconds=0, sample_size=50)
    assert found.status is Status.MAX_SECONDS
    assert 0 < found.dual_bound <= found.objective


def test_one_column_and_equal_columns():
    one = solve_blocks(ArrayBlocks(np.ones((3, 1)), 1), 1, mu=0.1, tol=1e-6)
    # ½·3 (1 − t)² + 0.1 t is least at t = 1 − 0.1/3
    assert one.t.tolist() == pytest.approx([1 - 0.1 / 3], rel=1e-5)
    same = solve_blocks(ArrayBlocks(np.ones((3, 20)), 7), 1, mu=0.1, tol=1e-6)
    assert same.gap <= 1e-6
