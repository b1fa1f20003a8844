"""The solvers with other losses, against Clarabel."""

import numpy as np
import pytest

import cvxpy_model
from selfdict import Huber, Weighted, certify, conic, mu_heuristic, working_set
from selfdict.datasets import make_mixtures


def small(seed=0, shape=(8, 14)):
    """Mixtures with some far outliers, penalties of the diagonal, weights of the columns, and variances."""
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
    solution = solver(M, mu=0.2, p=p, sample_weight=s, loss=loss, **({} if solver is conic else {"tol": 1e-7}))
    assert solution.objective == pytest.approx(exact, rel=1e-6)
    assert solution.dual_bound == pytest.approx(exact, rel=1e-6)
    again = certify(M, solution)  # of the loss as it is, not of whitened data
    assert again.objective == pytest.approx(solution.objective, rel=1e-10)
    assert again.gap <= 1e-6
    np.testing.assert_array_equal(solution.weights, np.abs(M).sum(axis=0))
    np.testing.assert_array_equal(solution.sample_weight, s)


@pytest.mark.parametrize("solver", [working_set, conic])
def test_solvers_of_squares_name_the_one_for_other_losses(solver):
    with pytest.raises(ValueError, match=r"got Huber\(delta=0.1\); use fast_gradient"):
        solver(np.eye(3), mu=0.1, loss=Huber(0.1))


def test_the_heuristic_for_mu_is_twice_the_loss_at_the_first_guess():
    M, p, s, loss = small()
    plain = mu_heuristic(M, 3, p, sample_weight=s)
    assert mu_heuristic(M, 3, p, sample_weight=s, loss=Huber(1e6)) == pytest.approx(plain)
    assert mu_heuristic(M, 3, p, sample_weight=s, loss=Huber(0.01)) < plain
    expected = mu_heuristic(loss.whiten(M), 3, p, sample_weight=loss.weigh(s))
    assert mu_heuristic(M, 3, p, sample_weight=s, loss=loss) == pytest.approx(expected)


def test_known_variances_and_a_dictionary():
    M, _, s, loss = small()
    D = make_mixtures(8, 9, 3, random_state=5)[0]
    solution = working_set(M, 0.2, D=D, sample_weight=s, loss=loss, tol=1e-7)
    exact = conic(M, mu=0.2, D=D, sample_weight=s, loss=loss)
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6)
    assert certify(M, solution, D=D).gap <= 1e-6
