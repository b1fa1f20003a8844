"""Algorithm 1 against the authors' runs, a slow reference implementation and the exact solver."""

import numpy as np
import pytest

import naive
import reference
from selfdict import Huber, Problem, Solution, Status, conic, fast_gradient, project_omega
from selfdict.datasets import make_midpoints, make_mixtures
from selfdict.solvers.gradient_data import squared_norm


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


@pytest.mark.parametrize("target", [None, ("trace", 3.0), ("residual", 0.2)])
def test_agrees_with_the_slow_twin(target):
    M, _, _ = make_midpoints(12, 5, noise=0.2, alpha=2, random_state=0)
    p, w = 1 + 0.01 * np.random.default_rng(1).random(M.shape[1]), np.abs(M).sum(axis=0)
    X, values = naive.fast_gradient(M, 0.01, p, w, 60, target, 7 if target else None)
    solution = fast_gradient(
        M, 0.01, p=p, target=target, target_every=7 if target else None, max_iter=60, tol=0
    )
    np.testing.assert_allclose(solution.history["objective"], values, rtol=1e-10)
    np.testing.assert_allclose(solution.toarray(), X, atol=1e-10)


@pytest.mark.parametrize("case", [3, 5])
def test_converged_run_conic_and_the_authors_optimum_agree(case):
    data = reference.load(case)
    arguments = dict(mu=float(data["mu_final"]), p=data["p"], w=data["w"])
    exact = conic(data["M"], **arguments)
    solution = fast_gradient(data["M"], **arguments, tol=1e-7, max_iter=50_000)
    assert solution.objective == pytest.approx(float(data["fopt"]), rel=1e-6)
    assert exact.objective == pytest.approx(float(data["fopt"]), rel=1e-6)


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_result_is_feasible_in_its_dtype(dtype):
    M = make_mixtures(20, 80, 4, noise=0.02, random_state=0)[0].astype(dtype)
    solution = fast_gradient(M, 0.1, max_iter=200)
    X = solution.toarray()
    assert X.dtype == dtype
    np.testing.assert_allclose(
        project_omega(X, solution.weights), X, atol=1e-12 if dtype == np.float64 else 1e-6
    )


def test_steers_to_a_residual_and_to_a_trace():
    M, _, _ = make_midpoints(noise=0.3, random_state=0)
    solution = fast_gradient(
        M, 0.01, target=("residual", 0.25), target_every=10, max_iter=3000, tol=1e-2
    )
    assert solution.history["residual"][-1] == pytest.approx(0.25, rel=2e-3)
    solution = fast_gradient(
        M, 0.01, target=("trace", 6.0), target_every=10, max_iter=3000, tol=1e-2
    )
    assert np.sum(solution.diagonal) == pytest.approx(6.0, rel=2e-3)


def test_warm_start_goes_on_where_it_left_off():
    M = make_mixtures(20, 60, 4, noise=0.02, random_state=0)[0]
    first = fast_gradient(M, 0.1, max_iter=300, tol=0)
    for X0 in (first, first.toarray()):
        again = fast_gradient(M, 0.1, X0=X0, max_iter=0)
        assert again.objective == pytest.approx(first.objective, rel=1e-12)
    outside = fast_gradient(M, 0.1, X0=first.toarray() + 1, max_iter=0)
    np.testing.assert_allclose(
        outside.toarray(), project_omega(first.toarray() + 1, np.abs(M).sum(axis=0))
    )


def test_random_p_is_the_seed_s():
    M = make_mixtures(10, 30, 3, random_state=0)[0]
    p = [fast_gradient(M, 0.1, max_iter=1, random_state=seed).problem.p for seed in (0, 0, 1)]
    np.testing.assert_array_equal(p[0], p[1])
    assert (p[0] != p[2]).any()
    assert (np.abs(p[0] - 1) <= 0.005).all()
    np.testing.assert_array_equal(fast_gradient(M, 0.1, max_iter=1).problem.p, np.ones(30))


def test_stops_by_callback_time_and_certificate():
    M = make_mixtures(20, 60, 4, noise=0.02, random_state=0)[0]
    seen = []

    def third(progress):
        seen.append(progress)
        return progress.iteration == 3

    assert fast_gradient(M, 0.1, callback=third).status is Status.STOPPED_BY_CALLBACK
    assert [progress.iteration for progress in seen] == [1, 2, 3]
    with pytest.raises(AttributeError):
        seen[0].objective = 0.0
    assert fast_gradient(M, 0.1, max_seconds=0.0).n_iter == 1
    assert fast_gradient(M, 0.1, max_seconds=0.0).status is Status.MAX_SECONDS
    solution = fast_gradient(M, 0.1, tol=0.05, max_iter=100_000)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 0.05
    stalled = fast_gradient(np.eye(3, 5), 0.1, tol=1e-18, max_iter=100_000)
    assert stalled.status in (Status.STALLED, Status.CONVERGED)


def test_interruption_returns_the_last_point_with_its_certificate():
    M = make_mixtures(20, 60, 4, noise=0.02, random_state=0)[0]

    def interrupt(progress):
        if progress.iteration == 5:
            raise KeyboardInterrupt

    solution = fast_gradient(M, 0.1, callback=interrupt)
    assert solution.status is Status.INTERRUPTED
    assert solution.n_iter == 5
    assert 0 <= solution.gap < 1


def test_history_has_equally_long_arrays_from_the_start():
    M = make_mixtures(20, 60, 4, noise=0.02, random_state=0)[0]
    solution = fast_gradient(M, 0.1, max_iter=7, tol=0)
    assert {len(values) for values in solution.history.values()} == {8}
    assert solution.history["objective"][0] == pytest.approx(0.5 * np.linalg.norm(M) ** 2)
    assert solution.history["objective"][-1] == pytest.approx(solution.objective)


@pytest.mark.parametrize("shape", [(30, 700), (700, 30), (650, 700)])
def test_lipschitz_constant_is_the_squared_norm_from_above(shape):
    M = np.random.default_rng(0).random(shape)
    exact = np.linalg.norm(M, 2) ** 2
    assert exact * (1 - 1e-14) <= squared_norm(M) <= exact * (1 + 1e-3)


def test_documented_behaviour_on_degenerate_data():
    zero = fast_gradient(np.zeros((3, 4)), 0.1)
    assert zero.support.size == 0
    assert zero.objective == zero.gap == 0
    one = fast_gradient(np.array([[3.0], [4.0]]), 5.0, tol=1e-9, max_iter=10_000)
    assert one.diagonal[0] == pytest.approx(1 - 5.0 / 25)  # min ½·25(1−t)² + 5t
    duplicates = fast_gradient(np.tile([[1.0], [2.0]], 6), 0.1, tol=1e-6, max_iter=10_000)
    assert duplicates.gap <= 1e-6
    constant = fast_gradient(np.full((4, 5), 2.0), 0.1, tol=1e-6, max_iter=10_000)
    assert constant.gap <= 1e-6


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (dict(M=[[np.nan, 1.0]]), ValueError, "NaN or infinity"),
        (dict(M=[[np.inf, 1.0]]), ValueError, "NaN or infinity"),
        (dict(M=[1.0, 2.0]), ValueError, "2 dimensions"),
        (dict(M=np.zeros((2, 3, 4))), ValueError, "2 dimensions"),
        (dict(M=np.zeros((0, 3))), ValueError, "must not be empty"),
        (dict(M=[[1j, 1.0]]), TypeError, "real numbers"),
        (dict(M=np.array([[None, 1.0]])), TypeError, "real numbers"),
        (dict(mu=-1.0), ValueError, "mu must be"),
        (dict(mu="auto"), TypeError, "mu must be"),
        (dict(p=[1.0, 0.0]), ValueError, "p must be positive"),
        (dict(p=[1.0]), ValueError, "shape"),
        (dict(w=[1.0, -1.0]), ValueError, "w must not be negative"),
        (dict(sample_weight=[1.0, -1.0]), ValueError, "sample_weight must not be negative"),
        (dict(target="residual"), ValueError, "target must be"),
        (dict(target=("residual", 0.0)), ValueError, "target residual"),
        (dict(target_every=0), ValueError, "target_every"),
        (dict(X0=np.zeros((3, 3))), ValueError, "X0 must have shape"),
        (dict(tol=-1.0), ValueError, "tol must be"),
        (dict(max_iter=-1), ValueError, "max_iter"),
        (dict(mu=0.0, target=("trace", 1.0)), ValueError, "mu must be > 0 when it is steered"),
        (dict(max_seconds=-1.0), ValueError, "max_seconds must be"),
    ],
)
def test_bad_input_is_one_clear_sentence(change, error, message):
    with pytest.raises(error, match=message):
        fast_gradient(**{"M": np.eye(2), "mu": 0.1, **change})


def test_solution_of_a_matrix_needs_a_square_one():
    with pytest.raises(ValueError, match="square"):
        Solution.from_matrix(np.zeros((2, 3)), Problem(np.eye(3)))


@pytest.mark.parametrize("size", [1e-20, 1e20])
@pytest.mark.parametrize("ratio", [1e-2, 0.3, 1e3, 1e30])
def test_data_and_penalty_beyond_the_range_of_single_precision(size, ratio):
    mu = ratio * size**2
    solution = fast_gradient(np.float32(size) * np.eye(2, dtype=np.float32), mu, tol=1e-6)
    exact = float(np.float32(size)) ** 2
    # between the two, X = t I costs (1 − t)² size² + 2 μ t
    t = max(0.0, 1 - mu / exact)
    assert solution.objective == pytest.approx((1 - t) ** 2 * exact + 2 * mu * t, rel=1e-5)
    assert solution.gap <= 1e-6


def test_a_loss_of_the_users_own_keeps_the_unit_of_the_data():
    class Own(Huber):
        def rescaled(self, factor):
            return None

    M = np.float32(1e-20) * np.eye(2, dtype=np.float32)
    with pytest.raises(ValueError, match="range of float32, got 1e-20 as the largest entry"):
        fast_gradient(M, 0.1, loss=Own(1e-21))
    assert fast_gradient(M, 1e-45, loss=Huber(1e-21)).gap <= 1e-3
