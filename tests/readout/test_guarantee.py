"""What the theorems promise holds on middle points; no promise is made where they do not apply."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfdict import FGNSR, InputError, conical_robustness, robustness_report
from selfdict.datasets import make_midpoints, make_mixtures
from selfdict.metrics import index_recovery


def model_3(M, epsilon):
    """Solve min tr X s.t. max_j ‖m_j − M x_j‖₁ ≤ 2ε, X_ij ≤ X_ii ≤ 1; the noise enters M twice."""
    n = M.shape[1]
    X = cp.Variable((n, n), nonneg=True)
    gate = cp.diag(X)
    rows = cp.reshape(gate, (n, 1), order="C") @ np.ones((1, n))
    constraints = [gate <= 1, rows >= X, cp.sum(cp.abs(M - M @ X), axis=0) <= 2 * epsilon]
    cp.Problem(cp.Minimize(cp.sum(gate)), constraints).solve(solver=cp.CLARABEL)
    return np.asarray(gate.value)


@pytest.mark.parametrize("seed", range(3))
def test_noise_within_the_guarantee_leaves_the_indices_to_be_found(seed):
    M, W, pure = make_midpoints(m=20, r=5, random_state=seed)
    allowed = conical_robustness(W) / 40  # β = 1/2
    rng = np.random.default_rng(seed)
    N = rng.laplace(size=M.shape)
    N[:, pure] = 0
    noisy = np.maximum(M + 0.9 * allowed * N / np.abs(N).sum(axis=0).max(), 0)
    report = robustness_report(noisy, pure)
    assert report.applies
    assert "Theorem 3 guarantees" in report.sentence
    gates = model_3(noisy / noisy.sum(axis=0), report.epsilon_observed)
    assert set(np.flatnonzero(gates > 0.5)) == set(pure)
    fit = FGNSR(5, random_state=0).fit(noisy.T)
    assert index_recovery(fit.indices_, pure) == 1


def test_in_practice_the_breakdown_comes_later():
    """With 20 times the harmless noise nothing is promised, and yet all columns are found."""
    M, W, pure = make_midpoints(m=20, r=5, random_state=0)
    N = M - M.mean(axis=1, keepdims=True)
    N[:, pure] = 0
    M = M + 20 * conical_robustness(W) / 40 * N / np.abs(N).sum(axis=0).max()
    report = robustness_report(M, pure)
    assert not report.applies
    assert report.epsilon_observed > 10 * report.epsilon_guaranteed
    assert "is not below the κ(1 − β)/20" in report.sentence
    assert index_recovery(FGNSR(5, random_state=0).fit(M.T).indices_, pure) == 1


def test_the_numbers_are_those_of_the_data():
    M, H, pure = make_mixtures(15, 60, 4, concentration=1.0, random_state=1)
    others = np.delete(np.arange(60), pure)
    norms = M.sum(axis=0)
    shares = H * norms[pure][:, None] / norms  # the abundances once all columns sum to one
    report = robustness_report(M, pure)
    assert report.rank == 4
    assert report.kappa == pytest.approx(conical_robustness(M[:, pure] / norms[pure]))
    assert report.beta == pytest.approx(shares[:, others].max())
    assert report.epsilon_observed < 1e-12
    assert report.epsilon_guaranteed == pytest.approx(report.kappa * (1 - report.beta) / 20)
    assert report.epsilon_order == pytest.approx(report.kappa / 4)
    moved = M.copy()
    moved[:, others[3]] += 0.3 * M.max() * np.eye(15)[2]
    column = moved[:, others[3]] / moved[:, others[3]].sum()
    x = cp.Variable(4, nonneg=True)
    left = column - M[:, pure] / norms[pure] @ x
    cp.Problem(cp.Minimize(cp.sum_squares(left)), [cp.sum(x) <= 1]).solve(solver=cp.CLARABEL)
    assert robustness_report(moved, pure).epsilon_observed == pytest.approx(
        np.abs(left.value).sum(), rel=1e-3
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=20, deadline=None)
def test_order_and_brightness_of_the_columns_do_not_matter(seed, dtype):
    rng = np.random.default_rng(seed)
    M, _, pure = make_mixtures(10, 30, 3, noise=0.05, random_state=rng)
    M[:, (M == 0).all(axis=0)] = 1.0
    first = robustness_report(M.astype(dtype), pure)
    order = rng.permutation(30)
    bright = np.append(
        M[:, order] * rng.uniform(0.1, 10.0, 30), np.zeros((10, 1)), axis=1
    )  # a zero column besides
    second = robustness_report(bright.astype(dtype), np.argsort(order)[pure])
    for name in ("kappa", "beta", "epsilon_observed"):
        assert getattr(first, name) == pytest.approx(
            getattr(second, name), abs=1e-4 if dtype is np.float32 else 1e-6
        )


def test_why_no_guarantee_applies():
    M, _, pure = make_mixtures(15, 60, 4, concentration=1.0, random_state=1)
    twice = robustness_report(np.hstack([M, 3 * M[:, pure[:1]]]), pure)
    assert twice.beta == pytest.approx(1)
    assert not twice.applies
    assert "duplicates of them (β = 1)" in twice.sentence
    inside = robustness_report(M, [*pure, next(j for j in range(60) if j not in pure)])
    assert "lies in the cone of the others" in inside.sentence
    signed = M.copy()
    signed[0, pure[0]] = -0.01
    assert "have negative entries" in robustness_report(signed, pure).sentence
    noise = M.copy()
    noise[0, :10] -= 1e-9  # noise may be negative: the theorems ask it of M − N only
    assert robustness_report(noise, pure).nonnegative


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([0, 0], InputError, "distinct"),
        ([0, 3], InputError, "distinct"),
        ([2], InputError, "zero"),
        ([0.5], TypeError, "integers"),
        ([], TypeError, "integers"),
    ],
)
def test_invalid_indices(indices, error, message):
    with pytest.raises(error, match=message):
        robustness_report([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], indices)


@pytest.mark.parametrize(
    "M", [[[3, 2, 11], [2, 5, 11], [2, 1, 7]], [[3, 7, 21], [0, 5, 15], [1, 7, 21]]]
)
def test_columns_in_the_cone_of_others_have_no_guarantee(M):
    report = robustness_report(M, [0, 1, 2])
    assert not report.applies
    assert "one of them lies in the cone of the others" in report.sentence
