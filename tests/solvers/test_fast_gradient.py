"""Algorithm 1 against the authors' runs, a slow reference implementation and the exact solver."""

import numpy as np
import pytest

import reference
from selfdict import Status, conic, fast_gradient, project_omega
from selfdict.compute.linear_algebra import squared_norm
from selfdict.datasets import make_mixtures


@pytest.mark.parametrize("case", reference.CASES)
def test_follows_the_authors_program_iteration_by_iteration(case):
    data = reference.load(case)
    solution = fast_gradient(
        data["M"],
        float(data["mu0"]),
        p=data["p"],
        w=data["w"],
        target=data["target"],
        target_every=data["target_every"],
        max_iter=len(data["fval_hist"]) - 1,
        tol=0,
    )
    np.testing.assert_allclose(solution.history["objective"], data["fval_hist"], rtol=1e-12)
    np.testing.assert_array_equal(solution.history["restart"], data["rs_hist"])
    assert solution.mu == pytest.approx(data["mu_final"], rel=1e-12)
    r = int(data["r"])
    assert set(np.argsort(-solution.diagonal)[:r]) == set(data["K"])
    assert solution.status is Status.MAX_ITER


@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
def test_sample_weights_signed_and_tall_data_reach_the_exact_optimum(shape):
    rng = np.random.default_rng(3)
    M = rng.normal(size=shape)
    s = rng.uniform(0, 3, shape[1])
    s[0] = 0.0
    exact = conic(M, mu=0.5, sample_weight=s)
    solution = fast_gradient(M, 0.5, sample_weight=s, tol=1e-7, max_iter=20_000)
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6)
    assert solution.status is Status.CONVERGED


def test_warm_start_continues_from_the_given_point():
    M = make_mixtures(20, 60, 4, noise=0.02, random_state=0)[0]
    first = fast_gradient(M, 0.1, max_iter=300, tol=0)
    for X0 in (first, first.toarray()):
        again = fast_gradient(M, 0.1, X0=X0, max_iter=0)
        assert again.objective == pytest.approx(first.objective, rel=1e-12)
    outside = fast_gradient(M, 0.1, X0=first.toarray() + 1, max_iter=0)
    np.testing.assert_allclose(
        outside.toarray(), project_omega(first.toarray() + 1, np.abs(M).sum(axis=0))
    )


def test_stops_by_callback_interruption_time_and_certificate():
    M = make_mixtures(20, 60, 4, noise=0.02, random_state=0)[0]
    seen = []

    def third(progress):
        seen.append(progress)
        return progress.iteration == 3

    assert fast_gradient(M, 0.1, callback=third).status is Status.STOPPED_BY_CALLBACK
    assert [progress.iteration for progress in seen] == [1, 2, 3]

    def interrupt(progress):
        if progress.iteration == 5:
            raise KeyboardInterrupt

    interrupted = fast_gradient(M, 0.1, callback=interrupt)
    assert (interrupted.status, interrupted.n_iter) == (Status.INTERRUPTED, 5)
    assert 0 <= interrupted.gap < 1
    late = fast_gradient(M, 0.1, max_seconds=0.0)
    assert late.n_iter == 1
    assert late.status is Status.MAX_SECONDS
    solution = fast_gradient(M, 0.1, tol=0.05, max_iter=100_000)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 0.05


@pytest.mark.parametrize("shape", [(30, 700), (700, 30), (650, 700)])
def test_lipschitz_constant_is_the_squared_norm_from_above(shape):
    M = np.random.default_rng(0).random(shape)
    exact = np.linalg.norm(M, 2) ** 2
    assert exact * (1 - 1e-14) <= squared_norm(M) <= exact * (1 + 1e-3)


def test_degenerate_data():
    zero = fast_gradient(np.zeros((3, 4)), 0.1)
    assert zero.support.size == 0
    assert zero.objective == zero.gap == 0
    one = fast_gradient(np.array([[3.0], [4.0]]), 5.0, tol=1e-9, max_iter=10_000)
    assert one.diagonal[0] == pytest.approx(1 - 5.0 / 25)  # min ½·25(1−t)² + 5t
    duplicates = fast_gradient(np.tile([[1.0], [2.0]], 6), 0.1, tol=1e-6, max_iter=10_000)
    assert duplicates.gap <= 1e-6
    constant = fast_gradient(np.full((4, 5), 2.0), 0.1, tol=1e-6, max_iter=10_000)
    assert constant.gap <= 1e-6


@pytest.mark.parametrize("size", [1e-12, 1e12])
@pytest.mark.parametrize("ratio", [1e-2, 0.3, 1e3, 1e30])
def test_penalties_beyond_the_range_of_single_precision(size, ratio):
    mu = ratio * size**2
    solution = fast_gradient(np.float32(size) * np.eye(2, dtype=np.float32), mu, tol=1e-6)
    exact = float(np.float32(size)) ** 2
    # between the two, X = t I costs (1 − t)² size² + 2 μ t
    t = max(0.0, 1 - mu / exact)
    assert solution.objective == pytest.approx((1 - t) ** 2 * exact + 2 * mu * t, rel=1e-5)
    assert solution.gap <= 1e-6
