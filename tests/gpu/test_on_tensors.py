"""A torch tensor gives what an array gives: solvers and certificate."""

import numpy as np
import pytest

from on_device import tensor, torch
from selfdict import (
    FGNSR,
    Problem,
    WorkingSet,
    certify,
    fast_gradient,
    mu_heuristic,
    working_set,
)
from selfdict.datasets import make_mixtures

pytestmark = pytest.mark.usefixtures("one_torch_thread")


def problem(dtype, n=150):
    M = np.maximum(make_mixtures(20, n, 4, noise=0.02, random_state=0)[0], 0.0).astype(dtype)
    M[:, 5] = 0.0
    return M, mu_heuristic(M, 4)


OPTIONS = [
    {},
    {"sample_weight": np.linspace(0.5, 2.0, 150)},
    {"target": ("trace", 3.0)},
]


def test_fast_gradient_takes_tensors_in_memory():
    M, mu = problem(np.float64)
    here, there = (fast_gradient(data, mu, max_iter=30, tol=0) for data in (M, tensor(M).cpu()))
    assert there.objective == here.objective
    assert there.dual_bound == pytest.approx(here.dual_bound, rel=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "weighted", "steered"])
def test_working_set(dtype, options):
    M, mu = problem(dtype)
    here, there = (working_set(data, mu, tol=1e-5, **options) for data in (M, tensor(M)))
    np.testing.assert_array_equal(there.support, here.support)
    assert there.objective == pytest.approx(here.objective, rel=1e-10)
    assert there.gap <= 1e-5


def test_working_set_with_a_dictionary():
    M, mu = problem(np.float64)
    D = np.abs(np.random.default_rng(1).normal(M[:, ::3], 0.01))
    here, there = (
        working_set(M, mu, D=D, tol=1e-5),
        working_set(tensor(M), mu, D=tensor(D), tol=1e-5),
    )
    np.testing.assert_array_equal(there.support, here.support)
    assert there.gap == pytest.approx(here.gap, abs=1e-10)
    assert certify(there).gap == pytest.approx(here.gap, abs=1e-10)


def test_working_set_with_samples(monkeypatch):
    from selfdict.solvers import search

    monkeypatch.setattr(search, "SMALL", 50)
    M, mu = problem(np.float64)
    here, there = (working_set(data, mu, tol=1e-5) for data in (M, tensor(M)))
    assert there.objective == pytest.approx(here.objective, rel=1e-5)
    assert there.gap <= 1e-5


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 150)])
def test_certify_in_blocks(weights, monkeypatch):
    monkeypatch.setattr("selfdict.compute.device.BLOCK_ENTRIES", 300)
    M, mu = problem(np.float32)
    solution = working_set(M, mu, sample_weight=weights)
    same = Problem(tensor(M), mu, sample_weight=weights)
    here, there = certify(solution), certify(solution.for_problem(same))
    assert there.objective == pytest.approx(here.objective, rel=1e-12)
    # the room left for rounding depends on the order of sums
    assert there.dual_bound == pytest.approx(here.dual_bound, rel=1e-10)


def test_estimator_falls_back_to_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    M, _ = problem(np.float64)
    with pytest.warns(RuntimeWarning):
        model = FGNSR(4, solver=WorkingSet(device="cuda"), random_state=0).fit(M.T)
    np.testing.assert_array_equal(model.indices_, FGNSR(4, random_state=0).fit(M.T).indices_)
