"""A torch tensor gives what an array gives: solvers, certificate, selection, abundances."""

import numpy as np
import pytest

from on_device import tensor, torch
from selfdict import (
    FGNSR,
    InputError,
    Problem,
    WorkingSet,
    certify,
    fast_gradient,
    mu_heuristic,
    nnls,
    spa,
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
    from selfdict.gpu import matrix

    monkeypatch.setattr(matrix, "_PRODUCT_BLOCK_ENTRIES", 300)
    M, mu = problem(np.float32)
    solution = working_set(M, mu, sample_weight=weights)
    same = Problem(tensor(M), mu, sample_weight=weights)
    here, there = certify(solution), certify(solution.for_problem(same))
    assert there.objective == pytest.approx(here.objective, rel=1e-12)
    # the room left for rounding depends on the order of sums
    assert there.dual_bound == pytest.approx(here.dual_bound, rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spa(dtype):
    M, _ = problem(dtype)
    np.testing.assert_array_equal(spa(tensor(M), 10), spa(M, 10))
    M[:, 7] = M[:, 9]
    with pytest.raises(InputError):
        spa(tensor(M[:4]), 6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "columns", [[25, 60, 39, 36, 30], [25, 60, 25], [25, 5]], ids=["plain", "twice", "zero"]
)
def test_nnls(dtype, columns):
    M, _ = problem(dtype)
    U, T = M[:, columns], tensor(M)
    H, kkt = nnls(U, T, return_kkt=True)
    assert isinstance(H, torch.Tensor)
    assert H.cpu().numpy().dtype == dtype
    assert kkt.max() < (1e-6 if dtype == np.float32 else 1e-13)
    np.testing.assert_allclose(
        U @ H.cpu().numpy(), U @ nnls(U, M), atol=1e-5 if dtype == np.float32 else 1e-12
    )
    out = np.empty(H.shape)
    assert nnls(tensor(U), T, out=out) is out
    np.testing.assert_allclose(out, H.cpu().numpy(), atol=1e-6)
    with pytest.raises(InputError):
        nnls(U[:3], T)


def test_columns_unsolved_by_pivoting_are_solved_on_the_cpu(monkeypatch):
    from selfdict.gpu import nnls as kernel

    M, _ = problem(np.float64)
    U = M[:, [25, 60, 39]]

    solve = kernel.solve_columns

    def lazy(G, C):
        X, solved = solve(G, C)
        solved[1::2] = False
        return X * solved, solved

    monkeypatch.setattr(kernel, "solve_columns", lazy)
    np.testing.assert_allclose(nnls(U, tensor(M)).cpu().numpy(), nnls(U, M), atol=1e-12)


def test_estimator_falls_back_to_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    M, _ = problem(np.float64)
    with pytest.warns(RuntimeWarning):
        model = FGNSR(4, solver=WorkingSet(device="cuda"), random_state=0).fit(M.T)
    np.testing.assert_array_equal(model.indices_, FGNSR(4, random_state=0).fit(M.T).indices_)
