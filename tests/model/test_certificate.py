"""The certificate: the bound of the constrained model, scores by every way, invalid input."""

import numpy as np
import pytest

import naive
from selfdict import InputError, Problem, Solution, certify, conic, project_omega
from selfdict.datasets import make_mixtures
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
