"""A dictionary D with gates: an exact solver, weak duality, and its relation to model (6)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from selfdict import (
    Huber,
    Problem,
    Solution,
    Status,
    certify,
    conic,
    fast_gradient,
    mu_heuristic,
    thread_limit,
    working_set,
)
from selfdict.solvers import search

SHAPES = [(6, 9, 12), (12, 7, 5), (5, 20, 8), (30, 6, 10), (4, 4, 4), (8, 15, 20)]  # m, n, d


def problem(m, n, d, seed=0):
    """Signed data and atoms of another size, with a zero point and a zero atom."""
    rng = np.random.default_rng(seed)
    M, D = rng.normal(0.4, 1, (m, n)), 3 * rng.normal(0.4, 1, (m, d))
    M[:, 2], D[:, 1] = 0.0, 0.0
    return M, D, rng.uniform(0.2, 2, n), rng.uniform(0.5, 1.5, d)


def mixtures(n=300, d=40, r=4, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.random((25, d)) ** 2
    K = np.sort(rng.choice(d, r, replace=False))
    M = D[:, K] @ rng.dirichlet(np.ones(r), n).T
    return np.maximum(M + noise * rng.normal(size=M.shape), 0.0), D, K


def feasible_point(M, D, rng):
    """Return random gates, and rows below them."""
    w, v = np.abs(M).sum(axis=0), np.abs(D).sum(axis=0)
    t = rng.random(len(v)) * (v > 0)
    X = rng.random((len(v), len(w))) * t[:, None] * w / np.where(v > 0, v, 1.0)[:, None]
    return X, t


def assert_feasible(solution, M, D, tolerance=1e-9):
    w, v = np.abs(M).sum(axis=0), np.abs(D).sum(axis=0)
    X, t = solution.toarray(), solution.diagonal
    assert X.shape == (len(v), len(w))
    assert (t >= 0).all()
    assert (t <= 1).all()
    assert (X >= 0).all()
    assert (v[:, None] * X <= t[:, None] * w + tolerance * w.max()).all()
    assert not t[v == 0].any()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mu", [0.3, 0.01, 0.0])
def test_reaches_the_exact_optimum(shape, mu):
    M, D, s, p = problem(*shape)
    exact = conic(M, mu=mu, D=D, p=p, sample_weight=s)
    solution = working_set(M, mu, D=D, p=p, sample_weight=s, tol=1e-8)
    slow = fast_gradient(M, mu, D=D, p=p, sample_weight=s, tol=1e-7, max_iter=20_000)
    assert exact.gap <= 1e-6
    assert solution.gap <= 1e-8
    assert slow.gap <= 1e-7
    assert solution.status is slow.status is Status.CONVERGED
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6)
    assert slow.objective == pytest.approx(exact.objective, rel=1e-6)
    for point in (exact, solution, slow):
        assert_feasible(point, M, D)
        again = certify(point)
        assert again.objective == pytest.approx(point.objective, rel=1e-9)
        assert again.dual_bound <= exact.objective * (1 + 1e-9)


def test_constrained_model_meets_the_penalised_one():
    M, D, _ = mixtures(30, 20)
    penalised = conic(M, mu=0.05, D=D)
    epsilon = float(np.linalg.norm(M - D @ penalised.toarray()))
    constrained = conic(M, epsilon=epsilon, D=D)
    assert constrained.objective == pytest.approx(penalised.diagonal.sum(), rel=1e-5)
    assert constrained.gap <= 1e-5
    with pytest.raises(ValueError, match="bound on the residual is too small"):
        conic(M, epsilon=0.01 * epsilon, D=D)


@given(st.integers(0, 10_000), st.just(0.0) | st.floats(1e-200, 2))
def test_weak_duality_at_random_feasible_points(seed, mu):
    """No feasible gates and rows, with zero points and atoms, lie below a bound from others."""
    rng = np.random.default_rng(seed)
    m, n, d = rng.integers(1, 7, 3)
    M, D = rng.normal(0.3, 1, (m, n)), rng.normal(0.3, 2, (m, d))
    M[:, rng.random(n) < 0.15] = 0.0
    D[:, rng.random(d) < 0.15] = 0.0
    p, s = rng.uniform(0.5, 1.5, d), rng.uniform(0, 2, n)
    problem = Problem(M, mu, D=D, p=p, sample_weight=s)
    solutions = []
    for _ in range(3):
        X, t = feasible_point(M, D, rng)
        solutions.append(certify(Solution.from_matrix(X, problem, diagonal=t)))
    best = min(solution.objective for solution in solutions)
    assert all(solution.dual_bound <= best * (1 + 1e-12) + 1e-12 for solution in solutions)
    expected = naive.dual_bound_with_gates(M, D, solutions[0].toarray(), mu, p, s)
    assert solutions[0].dual_bound >= expected - 1e-9 * (1 + abs(expected))


@pytest.mark.parametrize("mu", [0.5, 0.05])
def test_with_the_data_as_dictionary_the_gates_relax_the_diagonal(mu):
    """X ∈ Ω with t = diag(X) is feasible for the gates: their optimum is not above model (6)."""
    M = np.random.default_rng(0).random((6, 12))
    own, gates = working_set(M, mu, tol=1e-8), working_set(M, mu, D=M, tol=1e-8)
    assert gates.objective <= own.objective * (1 + 1e-8)
    X = own.toarray()
    same = certify(Solution.from_matrix(X, Problem(M, mu, D=M), diagonal=np.diagonal(X)))
    assert same.objective == pytest.approx(own.objective)
    assert same.dual_bound <= gates.objective


@pytest.mark.parametrize("small", [20, 4000], ids=["in samples", "at once"])
def test_finds_the_atoms_of_mixtures(small, monkeypatch):
    monkeypatch.setattr(search, "SMALL", small)
    M, D, K = mixtures()
    solution = working_set(M, mu_heuristic(M, 4, D=D), D=D, tol=1e-6)
    assert solution.gap <= 1e-6
    assert set(np.argsort(-solution.diagonal)[:4]) == set(K)
    assert certify(solution).gap <= 1.1e-6


def test_units_of_data_and_dictionary_do_not_matter():
    M, D, _ = mixtures(100)
    mu = mu_heuristic(M, 4, D=D)
    assert mu_heuristic(1e3 * M, 4, D=1e-4 * D) == pytest.approx(1e6 * mu)
    one = working_set(M, mu, D=D, tol=1e-8)
    other = working_set(1e3 * M, 1e6 * mu, D=1e-4 * D, tol=1e-8)
    np.testing.assert_allclose(other.diagonal, one.diagonal, atol=1e-6)
    np.testing.assert_allclose(1e-7 * other.toarray(), one.toarray(), atol=1e-6)


def test_target_warm_start_and_threads():
    M, D, _ = mixtures()
    mu = mu_heuristic(M, 4, D=D)
    steered = working_set(M, mu, D=D, target=("trace", 2.5), tol=1e-4)
    assert steered.diagonal.sum() == pytest.approx(2.5, rel=2e-3)
    again = working_set(M, steered.mu, D=D, X0=steered, tol=1e-4)
    assert again.n_iter <= 2
    with thread_limit(1):
        alone = working_set(M, mu, D=D, target=("trace", 2.5), tol=1e-4)
    np.testing.assert_array_equal(alone.coef, steered.coef)


def test_algorithm_1_goes_on_where_it_is_started_and_meets_a_target():
    M, D, _ = mixtures(60, 30)
    first = fast_gradient(M, 0.1, D=D, max_iter=200, tol=0)
    for start in (first, working_set(M, 0.1, D=D, tol=1e-6)):
        again = fast_gradient(M, 0.1, D=D, X0=start, max_iter=0)
        assert again.objective == pytest.approx(start.objective, rel=1e-12)
    steered = fast_gradient(
        M, 0.1, D=D, target=("trace", 2.0), target_every=10, max_iter=3000, tol=1e-2
    )
    assert steered.diagonal.sum() == pytest.approx(2.0, rel=2e-3)
    assert steered.history["trace"][-1] == pytest.approx(steered.diagonal.sum())


def test_algorithm_1_takes_other_losses_with_a_dictionary():
    M, D, _ = mixtures(40, 20)
    M[3, 5] += 5.0
    solution = fast_gradient(M, 0.1, D=D, loss=Huber(0.05), tol=1e-5, max_iter=20_000)
    assert solution.gap <= 1e-5
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, t = feasible_point(M, D, rng)
        other = certify(Solution.from_matrix(X, solution.problem, diagonal=t))
        assert solution.dual_bound <= other.objective


def test_float32_stays_and_is_certified_in_float64():
    M, D, _ = mixtures()
    mu = mu_heuristic(M, 4, D=D)
    solution = working_set(M.astype(np.float32), mu, D=D, tol=1e-4)
    slow = fast_gradient(M.astype(np.float32), mu, D=D, max_iter=50)
    for point in (solution, slow):
        assert point.coef.dtype == point.diagonal.dtype == np.float32
        assert_feasible(point, M, D, 1e-6)
    assert solution.gap <= 1.1e-4
    assert solution.objective == pytest.approx(
        working_set(M, mu, D=D, tol=1e-6).objective, rel=2e-4
    )


def test_one_heuristic_atom_explains_what_is_its_multiple():
    D = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    M = np.outer(D[:, 2], [0.5, 2.0])
    assert mu_heuristic(M, 1, D=D) == pytest.approx(0.5e-6 * np.sum(M**2))
    assert mu_heuristic(M, 1, D=np.zeros((2, 3))) == 0.0


@pytest.mark.parametrize("empty", ["atoms", "points"])
def test_nothing_to_explain_or_to_explain_with(empty):
    M, D, _ = mixtures(20)
    M, D = (M, 0 * D) if empty == "atoms" else (0 * M, D)
    for mu in (0.0, 0.1):
        solution = working_set(M, mu, D=D)
        assert solution.support.size == 0
        assert solution.gap <= 1e-13
        assert solution.objective == pytest.approx(0.5 * np.sum(M**2))


def test_bad_input_is_one_clear_sentence():
    M, D, _ = mixtures(20)
    with pytest.raises(ValueError, match=r"D must have the 25 rows of M, got shape \(24, 40\)"):
        working_set(M, 0.1, D=D[1:])
    with pytest.raises(ValueError, match="D contains NaN"):
        working_set(M, 0.1, D=D * np.nan)
    with pytest.raises(ValueError, match=r"p must have shape \(40,\)"):
        working_set(M, 0.1, D=D, p=np.ones(20))
    with pytest.raises(TypeError, match="X0 must be a Solution"):
        working_set(M, 0.1, D=D, X0=np.zeros((40, 20)))
    with pytest.raises(TypeError, match="X0 must be a Solution"):
        fast_gradient(M, 0.1, D=D, X0=np.zeros((40, 20)))
    with pytest.raises(ValueError, match=r"X0 must have shape \(40, 20\), got \(20, 20\)"):
        fast_gradient(M, 0.1, D=D, X0=working_set(M, 0.1))
    with pytest.raises(ValueError, match="X0 belongs to 20 points, D has 40"):
        working_set(M, 0.1, D=D, X0=working_set(M, 0.1))
    with pytest.raises(ValueError, match="belongs to 40 points, M has 20"):
        working_set(M, 0.1, D=D).for_problem(Problem(M, 0.1))
    with pytest.raises(ValueError, match="rows have shape"):
        working_set(M, 0.1, D=D).for_problem(Problem(M[:, 1:], 0.1, D=D))
    with pytest.raises(ValueError, match='model "trace" does not take a dictionary D'):
        conic(M, epsilon=1.0, D=D, model="trace")
    with pytest.raises(ValueError, match="number of atoms, 40, got 41"):
        mu_heuristic(M, 41, D=D)
    with pytest.raises(ValueError, match="come with its gates"):
        Solution.from_matrix(np.zeros((3, 2)), Problem(M))
    with pytest.raises(ValueError, match="a gate for each of the 3 rows"):
        Solution.from_matrix(np.zeros((3, 2)), Problem(M), diagonal=np.zeros(2))
