"""The solvers with other losses, against Clarabel."""

import numpy as np
import pytest

import cvxpy_model
from selfdict import (
    Huber,
    Squared,
    Status,
    Weighted,
    certify,
    conic,
    fast_gradient,
    mu_heuristic,
    nnls,
    spa,
    working_set,
)
from selfdict.datasets import make_mixtures


def small(seed=0, shape=(8, 14)):
    """Mixtures with some far outliers, weights of diagonal and columns, and variances."""
    rng = np.random.default_rng(seed)
    m, n = shape
    M = make_mixtures(m, n, 3, noise=0.02, random_state=seed)[0]
    M[rng.random(shape) < 0.05] += 1.0
    p, s = rng.uniform(0.95, 1.05, n), rng.uniform(0.3, 2, n)
    return M, p, s, Weighted(rng.uniform(0.2, 3, m), rng.uniform(0.2, 3, n))


@pytest.mark.parametrize("solver", [working_set, conic])
@pytest.mark.parametrize("shape", [(8, 14), (20, 10)])
def test_known_variances_reach_the_exact_optimum_with_a_true_certificate(solver, shape):
    M, p, s, loss = small(shape=shape)
    exact = cvxpy_model.solve(M, 0.2, p, np.abs(M).sum(axis=0), s, loss)[1]
    solution = solver(
        M, mu=0.2, p=p, sample_weight=s, loss=loss, **({} if solver is conic else {"tol": 1e-7})
    )
    assert solution.objective == pytest.approx(exact, rel=1e-6)
    assert solution.dual_bound == pytest.approx(exact, rel=1e-6)
    again = certify(solution)  # of the loss as it is, not of whitened data
    assert again.objective == pytest.approx(solution.objective, rel=1e-10)
    assert again.gap <= 1e-6
    np.testing.assert_array_equal(solution.problem.w, np.abs(M).sum(axis=0))
    np.testing.assert_array_equal(solution.problem.sample_weight, s)


def test_the_heuristic_for_mu_is_twice_the_loss_at_the_first_guess():
    M, p, s, loss = small()
    plain = mu_heuristic(M, 3, p, sample_weight=s)
    K = spa(M, 3)
    squares = np.sum((M - M[:, K] @ nnls(M[:, K], M)) ** 2, axis=0)
    assert plain == pytest.approx((s @ squares + 1e-6 * s @ np.sum(M**2, axis=0)) / p[K].sum())
    assert mu_heuristic(M, 3, p, sample_weight=s, loss=Huber(1e6)) == pytest.approx(plain)
    assert mu_heuristic(M, 3, p, sample_weight=s, loss=Huber(0.01)) < plain
    expected = mu_heuristic(loss.whiten(M), 3, p, sample_weight=loss.weigh(s))
    assert mu_heuristic(M, 3, p, sample_weight=s, loss=loss) == pytest.approx(expected)


@pytest.mark.parametrize("shape", [(6, 9), (12, 7)])
@pytest.mark.parametrize("name", ["squared", "weighted", "huber"])
def test_fast_gradient_reaches_the_exact_optimum_of_every_loss(name, shape):
    M, p, s, weighted = small(shape=shape)
    loss = {"squared": Squared(), "weighted": weighted, "huber": Huber(0.1)}[name]
    mu = 0.05 if "huber" in name else 0.2
    X, exact = cvxpy_model.solve(M, mu, p, np.abs(M).sum(axis=0), s, loss)
    solution = fast_gradient(M, mu, p=p, sample_weight=s, loss=loss, tol=1e-6, max_iter=50_000)
    assert 0 < np.trace(X) < shape[1] - 1
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(exact, rel=1e-6)
    assert solution.dual_bound <= exact * (1 + 1e-7)
    assert solution.problem.loss is loss
    assert solution.history["objective"][0] == pytest.approx(loss.total(M, s))
    assert solution.history["objective"][-1] == pytest.approx(solution.objective)


@pytest.mark.parametrize(
    "loss", [Huber(np.float64(0.05)), Weighted(pixel_variance=np.linspace(1, 2, 60))]
)
def test_single_precision_is_kept(loss):
    M = make_mixtures(20, 60, 4, noise=0.05, random_state=0)[0]
    single, double = (
        fast_gradient(v, 0.05, loss=loss, max_iter=200, tol=0) for v in (M.astype(np.float32), M)
    )
    assert single.coef.dtype == np.float32
    assert single.objective == pytest.approx(double.objective, rel=1e-4)
