"""The dual bound: weak duality as a property, tightness at the authors' optima."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from selfdict import InputError, Problem, Solution, certify, conic, project_omega
from selfdict.datasets import make_mixtures
from selfdict.model.dual import Quadratic
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


@given(
    st.floats(0, 5),
    st.floats(0, 5),
    arrays(float, 5, elements=st.floats(-2, 2)),
    arrays(float, 5, elements=st.floats(0, 2)),
)
@example(2.0, 0.0, np.array([1.0, 2.2e-16, 0.0, 0.0, 0.0]), np.ones(5))
def test_best_scaling_maximises_the_bound(linear, quadratic, scores, penalty):
    if quadratic < 1e-3:
        quadratic = 0.0
        linear = min(linear, scores[scores > 0].sum())  # else the function has no maximum
    c, value = Quadratic(penalty).best_scaling(linear, quadratic, scores)

    def dual(c):
        return c * linear - 0.5 * c * c * quadratic - np.maximum(c * scores - penalty, 0).sum()

    # the value leaves room for the rounding of its terms, which may be much larger than itself
    size = abs(c * linear) + 0.5 * c * c * quadratic + np.maximum(c * scores - penalty, 0).sum()
    assert value <= dual(c) + 1e-15 * size
    assert value == pytest.approx(dual(c), abs=4e-15 * size + 1e-12)
    assert value >= max(dual(v) for v in np.linspace(0, 10, 301)) - 1e-9


def test_invalid_input():
    with pytest.raises(InputError):
        certify(Solution.from_matrix(np.eye(3), Problem(np.eye(3))))
    with pytest.raises(TypeError):
        certify(np.eye(3))
