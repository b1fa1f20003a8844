"""The smooth model, μ pᵀt + ½ν Σ t_i², against Clarabel."""

import numpy as np
import pytest

from selfdict import FGNSR, Conic, Problem, Status, WorkingSet, mu_heuristic
from selfdict.datasets import make_mixtures


def alike(n, m=12):
    """Mixtures in which every point has a near-duplicate."""
    M = np.maximum(make_mixtures(m, n, 4, noise=0.02, random_state=0)[0], 0.0)
    M[:, 1::2] = M[:, : 2 * (n // 2) : 2]
    M[:, 1::2] *= 1 + 1e-3 * np.random.default_rng(0).random(M[:, 1::2].shape)
    return M, mu_heuristic(M, 4)


@pytest.mark.parametrize("ratio", [1e-3, 1e-2, 0.1, 1.0, 10.0, 1e2, 1e3])
def test_the_working_set_finds_the_optimum_of_the_interior_point_method(ratio):
    M, mu = alike(30)
    problem = Problem(M, mu, smooth=ratio * mu)
    exact = Conic().solve(problem)
    solution = WorkingSet(tol=1e-9).solve(problem)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(exact.objective, rel=1e-7)
    t = solution.diagonal
    R = M - M @ solution.toarray()
    by_hand = 0.5 * np.sum(R**2) + mu * t.sum() + 0.5 * ratio * mu * t @ t
    assert solution.objective == pytest.approx(by_hand, rel=1e-12)
    # the square has one minimiser: gates agree, too
    np.testing.assert_allclose(t, exact.diagonal, atol=2e-4 / np.sqrt(ratio))


def test_estimator_takes_smooth_relative_to_mu():
    M, _ = alike(200)
    model = FGNSR(4, smooth=0.5).fit(M.T)
    assert model.solution_.problem.smooth == pytest.approx(0.5 * model.mu_)
    assert model.gap_ <= 1e-3
    assert len(model.solution_.support) > len(FGNSR(4).fit(M.T).solution_.support)
