"""The certified solver against reference implementations, authors' optima, the exact solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import reference
from feasible import assert_feasible
from selfdict import Problem, Solution, Status, certify, conic, mu_heuristic
from selfdict.columns.memory import MemoryColumns
from selfdict.datasets import make_mixtures
from selfdict.kernels.gates import curvature, fit_columns
from selfdict.model.certificate import residual_of
from selfdict.model.dual import Quadratic
from selfdict.solvers import search
from selfdict.solvers.descent import StallRule, find_penalty
from selfdict.solvers.gates import Gates, Screening, box_minimiser, violating_rows
from selfdict.solvers.working_set import samples, working_set


def scene(n=120, r=4, noise=0.02, seed=0, m=12):
    M = np.maximum(make_mixtures(m, n, r, noise=noise, random_state=seed)[0], 0)
    return M, mu_heuristic(M, r)


def assert_sound(M, solution, optimum=None):
    """The history is monotone, its bounds hold, and an independent certificate agrees."""
    history = solution.history
    assert len({len(values) for values in history.values()}) == 1
    same_mu = np.diff(history["mu"]) == 0
    assert (np.diff(history["objective"])[same_mu] <= 1e-12 * history["objective"][0]).all()
    assert (np.diff(history["dual_bound"])[same_mu] >= 0).all()
    assert (history["dual_bound"] <= history["objective"] * (1 + 1e-12)).all()
    if optimum is not None:
        assert (history["dual_bound"] <= optimum * (1 + 1e-7) + 1e-9).all()
        assert (history["objective"] >= optimum * (1 - 1e-7) - 1e-9).all()
    again = certify(solution)
    assert again.objective == pytest.approx(
        solution.objective, rel=1e-12, abs=1e-14 * history["objective"][0]
    )
    # rounding, where R is nearly zero
    assert solution.dual_bound >= again.dual_bound - 1e-7 * again.objective
    if solution.scores is not None:
        exact = residual_of(solution).dual_terms().scores
        assert (solution.scores >= exact - 1e-9 * solution.problem.penalty.slope).all()


# the kernels


@pytest.mark.parametrize("seed", range(6))
def test_columns_agree_with_enumeration_of_all_active_sets(seed):
    rng = np.random.default_rng(seed)
    k, n = 4, 12
    D, Y = rng.random((6, k)), rng.random((6, n))
    t, weight = rng.uniform(0.05, 0.6, k), rng.random(n)
    own = np.full(n, -1)
    own[:2] = [1, 3]
    Y[:, :2] = D[:, [1, 3]]
    G, C = D.T @ D, Y.T @ D
    Z, state = np.zeros((n, k)), np.zeros((n, k), np.int8)
    for _ in range(2):  # cold, then warm
        value, *gradient = fit_columns(G, C, weight, t, own, Z, state)
        found = value, gradient, curvature(G, weight, state)
        expected = naive.fit_columns(G, C, weight, t, own)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_results_do_not_depend_on_memory_alignment():
    rng = np.random.default_rng(0)
    D, Y, t = rng.random((20, 13)), rng.random((20, 40)), rng.random(13)
    G, C = D.T @ D, Y.T @ D
    found = []
    for shift in range(4):  # within a cache line
        moved = np.empty(G.size + shift)[shift:].reshape(G.shape)
        moved[:] = G
        Z, state = np.zeros(C.shape), np.zeros(C.shape, np.int8)
        sums = fit_columns(moved, C, np.ones(40), t, np.full(40, -1), Z, state)
        found.append((sums.tobytes(), Z.tobytes()))
    assert found[1:] == found[:-1]


@pytest.mark.parametrize("m", [12, 4], ids=["products held", "products taken anew"])
@pytest.mark.parametrize("sample", [None, np.arange(0, 60, 3)])
@pytest.mark.parametrize("step", [0.0, 0.02, 0.3])
def test_gates_that_were_changed_equal_new_ones(m, sample, step):
    """After a short step few columns move and are exchanged; after a long one all are summed."""
    rng = np.random.default_rng(5)
    M = rng.random((m, 60))
    columns = MemoryColumns(M, M.sum(axis=0), rng.uniform(0.5, 2, 60))
    if sample is not None:
        columns = columns.take(sample)
    gates = Gates(columns, np.array([3, 12, 20, 40]), np.array([0.3, 0.0, 0.25, 0.4]))
    gates.change(gates.t > 0, np.array([5, 7, 30, 33, 51]))
    before = gates.fitted.hessian()  # from which that after the step is updated
    t = gates.t + step
    if step > 0:
        gates.evaluate(t)
    fresh = Gates(columns, gates.atoms, t)
    assert gates.fit == pytest.approx(fresh.fit, rel=1e-12)
    np.testing.assert_allclose(gates.gradient, fresh.gradient, rtol=1e-9)
    np.testing.assert_allclose(
        gates.fitted.hessian(), fresh.fitted.hessian(), atol=1e-9 * np.abs(before).max()
    )


def test_box_minimiser_solves_the_box_problem():
    rng = np.random.default_rng(1)
    for _ in range(20):
        A = rng.normal(size=(7, 4))
        H, g, t = A.T @ A, rng.normal(size=4) * 3, rng.random(4)
        x = box_minimiser(H, g, t)
        slope = g + H @ (x - t)
        assert (x >= 0).all()
        assert (x <= 1).all()
        np.testing.assert_allclose(np.clip(x - slope, 0, 1), x, atol=1e-7)


@pytest.mark.parametrize("rough", [False, True])
def test_scores_are_those_of_the_definition(rough):
    M, mu = scene(30)
    w, s = np.abs(M).sum(axis=0), np.random.default_rng(0).uniform(0.5, 2, 30)
    gates = Gates(MemoryColumns(M, w, s), np.array([2, 9, 17]), np.full(3, 0.4))
    R = gates.fitted.residual()
    view = Screening(gates, Quadratic(np.full(30, mu)))
    assert view.objective == pytest.approx(0.5 * (R**2).sum(axis=0) @ s + 3 * 0.4 * mu, rel=1e-12)
    found = view.screen(None, rough)
    digits = 1e-10
    if rough:
        digits = 1e-5
    np.testing.assert_allclose(found.scores, naive.row_scores(M, R * s, w), rtol=digits)
    assert 0 < found.dual_value < view.objective


def test_rows_that_leave_the_search_are_zero_at_the_optimum(monkeypatch):
    M, mu = scene(120)
    optimum = working_set(M, mu, tol=1e-13)
    closed = np.zeros(120, bool)
    close_rows = search.Search.close_rows

    def spy(self, found, gates):
        close_rows(self, found, gates)
        closed[np.isinf(self.penalty.slope)] = True

    monkeypatch.setattr(search.Search, "close_rows", spy)
    solution = working_set(M, mu, tol=1e-12)
    assert closed.any()
    assert not closed[optimum.support].any()
    assert solution.objective == pytest.approx(optimum.objective, rel=1e-12)


# the solver


@pytest.mark.parametrize("case", reference.CASES)
def test_reaches_the_optimum_of_the_authors_cases(case):
    data = reference.load(case)
    solution = working_set(data["M"], float(data["mu_final"]), p=data["p"], w=data["w"], tol=1e-8)
    assert solution.objective == pytest.approx(float(data["fopt"]), rel=1e-7)
    assert solution.gap <= 1e-8
    assert solution.status is Status.CONVERGED
    assert_feasible(solution)
    assert_sound(data["M"], solution, float(data["fopt"]))


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    M = rng.normal(size=(m, n)) if draw(st.booleans()) else rng.random((m, n))
    if draw(st.booleans()):
        M = np.hstack([M, M[:, : n // 2 + 1]])
    if draw(st.booleans()):
        M[:, rng.integers(M.shape[1])] = 0
    n = M.shape[1]
    s = rng.uniform(0, 2, n) * (rng.random(n) < 0.9) if draw(st.booleans()) else None
    p = rng.uniform(0.5, 1.5, n) if draw(st.booleans()) else None
    w = rng.uniform(0.5, 2, n) if draw(st.booleans()) else None
    return M, 10.0 ** draw(st.floats(-3, 1)), dict(s=s, p=p, w=w)


@given(problems())
@settings(max_examples=60)
def test_optimal_feasible_and_bounded_at_every_step(problem):
    M, mu, vectors = problem
    arguments = dict(p=vectors["p"], w=vectors["w"], sample_weight=vectors["s"])
    exact = conic(M, mu=mu, **arguments)
    solution = working_set(M, mu, **arguments, tol=1e-7)
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6, abs=1e-7)
    assert solution.gap <= 1e-7
    assert_feasible(solution)
    assert_sound(M, solution, exact.objective)


@pytest.mark.parametrize("ratio", [0.0, 1.0], ids=["linear", "smooth"])
def test_samples_and_likely_rows_lead_to_the_same_optimum(ratio, monkeypatch):
    M, mu = scene(500, noise=0.03)
    plain = working_set(M, mu, smooth=ratio * mu, tol=1e-6)
    monkeypatch.setattr(search, "SMALL", 20)
    assert [len(columns) for columns in samples(500, 20)] == [2, 32]
    iterations = []
    solution = working_set(
        M,
        mu,
        smooth=ratio * mu,
        tol=1e-6,
        callback=lambda progress: iterations.append(progress.iteration),
    )
    assert iterations[0] == 0
    assert iterations[-1] == solution.n_iter
    assert solution.gap <= 1e-6
    assert solution.objective == pytest.approx(plain.objective, rel=2e-6)
    assert_feasible(solution)
    assert_sound(M, solution)


def test_zero_tolerance_is_honoured():
    M, mu = scene(200)
    solution = working_set(M, mu, tol=0)
    assert solution.gap <= 1e-9
    assert solution.status in (Status.CONVERGED, Status.STALLED)


DEGENERATE = {
    "every pixel twice": (lambda M: np.repeat(M, 2, axis=1), 1.0),
    "rank one": (lambda M: np.outer(M[:, 0], np.linspace(0.1, 3, 40)), 1.0),
    "zero pixels": (lambda M: np.hstack([np.zeros((len(M), 3)), M]), 1.0),
    "one pixel": (lambda M: M[:, :1], 1.0),
    "one zero pixel": (lambda M: np.zeros((4, 1)), 1.0),
    "constant": (lambda M: np.ones((5, 30)), 1.0),
    "all zero": (lambda M: np.zeros((5, 30)), 1.0),
    "no penalty": (lambda M: M, 0.0),
    "hardly any penalty": (lambda M: M, 1e-6),
    "all closed": (lambda M: M, 1e9),
    "one band": (lambda M: M[:1], 1.0),
    "scales over four decades": (lambda M: M * 10.0 ** np.linspace(-4, 0, M.shape[1]), 1.0),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_is_solved_and_certified(name):
    change, factor = DEGENERATE[name]
    M, mu = scene(40, noise=0.02)
    M, mu = change(M), factor * mu
    solution = working_set(M, mu, tol=1e-6)
    exact = conic(M, mu=mu)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 1e-6
    assert solution.objective == pytest.approx(exact.objective, rel=1e-5, abs=1e-7)
    for point in (solution, exact):
        assert_feasible(point)
    assert_sound(M, solution)
    if name == "all closed":
        assert len(solution.support) == 0
    if name == "no penalty":
        np.testing.assert_array_equal(solution.toarray(), np.eye(M.shape[1]))


def interrupt(progress):
    raise KeyboardInterrupt


@pytest.mark.parametrize("small", [50, 4000], ids=["in a sample", "on all columns"])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (dict(callback=interrupt), Status.INTERRUPTED),
        (dict(callback=lambda progress: True), Status.STOPPED_BY_CALLBACK),
        (dict(max_seconds=0.0), Status.MAX_SECONDS),
    ],
)
def test_early_stops_return_a_feasible_point_with_a_valid_gap(
    arguments, status, small, monkeypatch
):
    monkeypatch.setattr(search, "SMALL", small)
    M, mu = scene(300)
    solution = working_set(M, mu, tol=1e-9, **arguments)
    assert solution.status is status
    assert 0 < solution.gap < 1
    assert_feasible(solution)
    assert_sound(M, solution, working_set(M, mu, tol=1e-8).objective)


def test_early_stop_returns_zero_if_that_is_better():
    M, mu = scene(300)
    # where the search may have been led: worse than X = 0 at this penalty
    dear = Solution.from_matrix(np.eye(300), Problem(M, mu))
    solution = working_set(M, 1e3 * mu, X0=dear, max_seconds=0.0)
    assert solution.status is Status.MAX_SECONDS
    assert len(solution.support) == 0
    assert_sound(M, solution)


def test_progress_tells_gap_objective_and_atoms():
    M, mu = scene(200)
    seen = []
    solution = working_set(M, mu, tol=1e-6, callback=seen.append)
    assert seen[-1].gap == pytest.approx(solution.gap, rel=1e-3, abs=1e-12)
    assert seen[-1].objective == pytest.approx(solution.objective, rel=1e-12)
    assert seen[-1].n_active >= len(solution.support)
    assert [progress.iteration for progress in seen] == list(range(1, solution.n_iter + 1))
    assert np.linalg.norm(M - M[:, solution.support] @ solution.coef) == pytest.approx(
        seen[-1].residual, rel=1e-9
    )


def test_warm_start_starts_where_the_other_run_ended():
    M, mu = scene(200, noise=0.05)
    given = working_set(M, 1.1 * mu, tol=1e-6)
    for X0 in (given, given.toarray()):
        solution = working_set(M, mu, X0=X0, tol=1e-6)
        start = certify(given.for_problem(Problem(M, mu))).objective
        assert solution.history["objective"][1] <= start * (1 + 1e-12)
        assert solution.gap <= 1e-6


@pytest.mark.parametrize("small", [50, 4000])
@pytest.mark.parametrize(
    "target", [("residual", 0.6), ("residual", 1.5), ("trace", 2.0), ("trace", 3.0)]
)
def test_steered_to_a_target_with_a_certificate_for_the_final_penalty(target, small, monkeypatch):
    monkeypatch.setattr(search, "SMALL", small)
    M, mu = scene(300, noise=0.03)
    solution = working_set(M, mu, target=target, tol=1e-4)
    assert solution.status is Status.CONVERGED
    residual = np.linalg.norm(M - M[:, solution.support] @ solution.coef)
    attained = residual if target[0] == "residual" else solution.diagonal.sum()
    assert attained == pytest.approx(target[1], rel=1.1e-3)
    assert solution.gap <= 1e-4
    assert_sound(M, solution)
    fixed = working_set(M, solution.mu, tol=1e-5)
    assert solution.objective == pytest.approx(fixed.objective, rel=2e-4)


@pytest.mark.parametrize(
    ("penalty", "joining"),
    [(Quadratic(np.full(4, 0.6)), [1, 2]), (Quadratic(np.full(4, 0.6), 0.1), [1, 2, 0])],
    ids=["linear", "smooth"],
)
def test_of_multiples_of_one_column_only_the_first_joins_unless_they_share(penalty, joining):
    M = np.array([[1.0, 0.0, 2.0, 0.5], [0.0, 1.0, 0.0, 0.5]])
    columns = MemoryColumns(M, np.abs(M).sum(axis=0), np.ones(4))
    gates = Gates(columns, np.empty(0, np.int64), np.empty(0))
    rows, violation = violating_rows(
        np.array([1.0, 3.0, 2.0, 0.5]), penalty, None, gates, rounding=1e-10
    )
    assert rows.tolist() == joining
    assert violation == pytest.approx(2.4)


def test_search_for_an_unreachable_penalty_ends_soon():
    seen = []
    assert not find_penalty(lambda mu: seen.append(mu) or 1.0, 1.0, 1e-3)
    assert len(seen) <= 7
    assert np.all(np.diff(seen) > 0)


def test_unreachable_targets_have_their_own_status():
    M, mu = scene(40)
    solution = working_set(M, mu, target=("residual", 10 * np.linalg.norm(M)))
    assert solution.status is Status.TARGET_MISSED
    assert len(solution.support) == 0


def with_a_bright_point(factor, seed):
    """Mixtures, one that many times brighter and one zero; μ suits the ordinary ones."""
    rng = np.random.default_rng(seed)
    M = rng.random((6, 3)) @ rng.dirichlet(np.ones(3), 30).T + 0.01 * rng.random((6, 30))
    M[:, 7] = 0
    mu = mu_heuristic(np.delete(M, 3, axis=1), 3)
    M[:, 3] *= factor
    return M, mu


@pytest.mark.parametrize("seed", [1, 4, 14, 17])
def test_a_zero_column_adds_no_rounding_error_of_bright_ones_to_the_bound(seed):
    M, mu = with_a_bright_point(1e7, seed)
    solution = working_set(M, mu, max_seconds=1.0)
    assert 0 <= solution.dual_bound <= certify(solution).objective


@pytest.mark.parametrize("seed", [9, 14, 27])
def test_search_converges_beside_a_point_a_thousand_times_brighter(seed):
    M, mu = with_a_bright_point(1e3, seed)
    assert working_set(M, mu, tol=1e-3).status is Status.CONVERGED


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_point_a_million_times_brighter_leaves_a_small_gap(seed):
    M = make_mixtures(10, 60, 3, noise=0.05, random_state=seed)[0]
    mu = mu_heuristic(M, 3)
    M[:, 5] *= 1e6
    assert working_set(M, mu, tol=1e-10).gap < 1e-4


def test_search_with_tiny_steps_ends():
    """Beside an undeclared fill value derivatives are rounding errors: thousands of tiny steps."""
    M = make_mixtures(10, 1200, 3, noise=0.01, random_state=0)[0]
    M[:, 0] = 1e9
    solution = working_set(M, 1.0, max_seconds=60)
    assert solution.status is Status.STALLED
    assert solution.n_iter < 1000
    assert 0 < solution.gap < 1


def test_a_search_that_stalls_within_the_tolerance_has_converged(monkeypatch):
    monkeypatch.setattr(StallRule, "holds", True)
    M, mu = scene(300)
    stalled = working_set(M, mu, tol=1e-9)
    assert stalled.status is Status.STALLED
    again = working_set(M, mu, tol=1.01 * stalled.gap)
    assert again.status is Status.CONVERGED
    assert again.gap == pytest.approx(stalled.gap)
