"""A tensor gives what an array gives, wherever the search runs.

Without a GPU, on the CPU, the compiled code solves the columns.
"""

import numpy as np
import pytest

from fuzz.certificate import random_problem
from fuzz.exact import Exact
from on_device import DEVICE, tensor, torch
from selfdict import Problem, WorkingSet, certify, fast_gradient, mu_heuristic, working_set
from selfdict.columns import device as device_columns
from selfdict.columns.device import DeviceRows, DeviceSums
from selfdict.datasets import make_mixtures
from selfdict.gpu.columns import Clusters
from selfdict.model.score_bounds import DECIDED, ScoreBounds
from selfdict.model.scores import positive_sums
from selfdict.model.solution import Status
from selfdict.solvers import search

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def problem(dtype=np.float64, n=200):
    M = np.maximum(make_mixtures(20, n, 4, noise=0.02, random_state=0)[0], 0.0).astype(dtype)
    M[:, 5] = 0.0
    M[:, 7] = M[:, 9]
    return M, mu_heuristic(M, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("has_bounds", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"sample_weight": np.linspace(0.5, 2.0, 200)}, {"smooth": 0.5}],
    ids=["plain", "weighted", "smooth"],
)
def test_working_set(dtype, has_bounds, options, monkeypatch):
    monkeypatch.setattr(search, "SMALL", 50)  # so that samples are solved first
    if has_bounds:
        monkeypatch.setattr(device_columns, "FEWEST_PAIRS", 0)
    M, mu = problem(dtype)
    here, there = (working_set(data, mu, tol=1e-9, **options) for data in (M, tensor(M)))
    np.testing.assert_array_equal(there.support, here.support)
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.gap <= 1e-7
    assert there.dual_bound <= here.objective
    assert isinstance(there.coef, np.ndarray)
    assert there.coef.dtype == dtype


def test_working_set_for_a_target():
    M, mu = problem()
    solution = working_set(tensor(M), mu, target=("trace", 3.0))
    assert solution.diagonal.sum() == pytest.approx(3.0, rel=1e-3)
    assert solution.gap <= 1e-3


def test_working_set_with_a_dictionary(monkeypatch):
    monkeypatch.setattr(search, "SMALL", 50)
    M, mu = problem()
    D = np.abs(np.random.default_rng(1).normal(M[:, ::3], 0.01))
    here = working_set(M, mu, D=D, tol=1e-9)
    there = working_set(tensor(M), mu, D=tensor(D), tol=1e-9)
    np.testing.assert_array_equal(there.support, here.support)
    assert there.objective == pytest.approx(here.objective, rel=1e-9)
    assert there.gap <= 1e-8


def test_no_bound_exceeds_what_is_attained(monkeypatch):
    monkeypatch.setattr(device_columns, "FEWEST_PAIRS", 0)
    for seed in range(100):
        problem, M, options, kind = random_problem(np.random.default_rng(seed))
        if problem.is_sparse or not problem.loss.quadratic:
            continue
        here = WorkingSet(tol=1e-9).solve(problem)
        there = WorkingSet(tol=1e-9).solve(problem.changed(_tensor_device=torch.device(DEVICE)))
        exact = Exact(problem, M, options)
        attained = [exact.objective(point.toarray(), point.diagonal) for point in (here, there)]
        assert there.dual_bound <= min(attained) * (1 + 1e-14), (seed, kind)


def test_stopped_search_is_certified():
    M, mu = problem()
    solver = WorkingSet(tol=1e-9, max_seconds=0.0)
    stopped = solver.solve(Problem(tensor(M), mu))
    assert stopped.status is Status.MAX_SECONDS
    best = working_set(M, mu, tol=1e-9)
    assert stopped.dual_bound <= best.objective <= stopped.objective


@pytest.mark.parametrize("rough", [False, True])
def test_score_bounds_hold(rough, monkeypatch):
    monkeypatch.setattr("selfdict.compute.device.BLOCK_ENTRIES", 1000)
    monkeypatch.setattr(device_columns, "FEWEST_PAIRS", 0)
    rng = np.random.default_rng(0)
    M = rng.dirichlet(np.ones(4), 500) @ rng.random((4, 9)) + 0.01 * rng.random((500, 9))
    M = M.T.copy()
    M[:, 11] = 0.0
    v = rng.random(500) + 0.5
    theta = 0.1 * rng.standard_normal((9, 300))
    theta[:, 4] = 0.0
    exact = positive_sums(M, v, theta, None, np.float64)
    own = -0.01 * exact
    penalty = np.quantile(exact, 0.9) * np.ones(len(exact))
    penalty[2] = np.inf
    rows = DeviceRows(M, v, torch.device(DEVICE))
    bounds = ScoreBounds(rows)
    scores = bounds.scores(DeviceSums(rows, tensor(theta)), penalty, own, rough)
    is_decided = scores <= DECIDED * penalty
    assert 0 < bounds.undecided["clusters"] < len(exact)
    counts = np.isfinite(penalty)
    assert (scores >= (exact + own) * (1 - 1e-5))[counts].all()
    np.testing.assert_allclose(scores[~is_decided], (exact + own)[~is_decided], rtol=1e-5)
    if not rough:
        is_decided &= counts
        assert (scores[is_decided] >= (exact + own)[is_decided] - 1e-12).all()
    none = bounds.scores(DeviceSums(rows, tensor(np.zeros((9, 3)))), penalty, own, rough)
    assert not none.any()


def test_clusters_are_the_same_in_each_run():
    rows = tensor(np.random.default_rng(0).random((300, 6)))
    lengths = torch.linalg.vector_norm(rows, dim=1)
    first, second = (Clusters.of(rows, lengths) for _ in range(2))
    assert torch.equal(first.labels, second.labels)
    assert torch.equal(first.centres, second.centres)
    assert len(first.centres) == int(16 * np.sqrt(300))


def test_fast_gradient_takes_tensors_in_memory():
    M, mu = problem(np.float64)
    here, there = (fast_gradient(data, mu, max_iter=30, tol=0) for data in (M, tensor(M).cpu()))
    assert there.objective == here.objective
    assert there.dual_bound == pytest.approx(here.dual_bound, rel=1e-8)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 200)])
def test_certify_in_blocks(weights, monkeypatch):
    monkeypatch.setattr("selfdict.compute.device.BLOCK_ENTRIES", 300)
    M, mu = problem(np.float32)
    solution = working_set(M, mu, sample_weight=weights)
    same = Problem(tensor(M), mu, sample_weight=weights)
    here, there = certify(solution), certify(solution.for_problem(same))
    assert there.objective == pytest.approx(here.objective, rel=1e-12)
    # the room left for rounding depends on the order of sums
    assert there.dual_bound == pytest.approx(here.dual_bound, rel=1e-10)
