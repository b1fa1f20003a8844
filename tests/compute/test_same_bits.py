"""One thread or many give the same bits, and so does a second run."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from selfdict import (
    Denoising,
    Problem,
    Solution,
    certify,
    h2nmf,
    mu_heuristic,
    nnls,
    thread_limit,
    working_set,
)
from selfdict.compute.linear_algebra import in_leading_directions
from selfdict.datasets import make_mixtures


def directions(features, dtype):
    M = np.random.default_rng(0).random((features, 5000)).astype(dtype)
    return lambda: in_leading_directions(M, 8)


def reductions():
    M = make_mixtures(40, 12_000, 5, noise=0.02, random_state=0)[0]
    weight = np.random.default_rng(0).random(M.shape[1])

    def task():
        problem = Problem(M, mu_heuristic(M, 5, sample_weight=weight), sample_weight=weight)
        clean = Denoising(5).reduce(problem)
        return clean.M, clean.reduced_from.memory.mu, problem.mu

    return task


def certificates(form, n):
    rng = np.random.default_rng(0)
    M = rng.random((60, n))
    support = np.arange(0, M.shape[1], 50)
    diagonal = np.zeros(M.shape[1])
    diagonal[support] = 0.5
    coef = rng.random((support.size, M.shape[1])) / support.size
    coef[np.arange(support.size), support] = diagonal[support]
    solution = Solution(support, coef, diagonal, problem=Problem(form(M), 1.0))

    def task():
        found = certify(solution)
        return found.objective, found.dual_bound

    return task


def solutions():
    M = np.maximum(make_mixtures(12, 700, 4, noise=0.05, random_state=0)[0], 0)
    mu = mu_heuristic(M, 4)

    def task():
        solution = working_set(M, mu, random_state=1)
        return solution.coef, solution.history["objective"]

    return task


def clusters():
    """Leaves are tried in another order by several threads."""
    M = make_mixtures(15, 3000, 5, noise=0.02, random_state=0)[0]

    def task():
        found = h2nmf(M, 50)
        return found.labels, found.indices, found.sizes, found.tree

    return task


def abundances():
    M = make_mixtures(20, 30_000, 6, noise=0.05, random_state=0)[0]
    return lambda: (nnls(M[:, :6], M),)


TASKS = {
    "directions": lambda: directions(64, np.float64),
    "directions in single precision": lambda: directions(64, np.float32),
    "directions of many features": lambda: directions(2100, np.float64),
    "reductions": reductions,
    "certificates": lambda: certificates(np.asarray, 5000),
    "certificates of sparse data": lambda: certificates(csc_array, 1500),
    "solutions": solutions,
    "clusters": clusters,
    "abundances": abundances,
}


@pytest.mark.parametrize("make_task", TASKS.values(), ids=TASKS)
def test_bits_do_not_depend_on_the_number_of_threads(make_task):
    task = make_task()  # and its data, in which products are those of any BLAS
    expected = task()
    for count in (1, 2, 5):
        with thread_limit(count):
            found = task()
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
