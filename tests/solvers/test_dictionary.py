"""A dictionary D with gates: an exact solver, weak duality, and its relation to model (6)."""

import numpy as np
import pytest

from feasible import assert_feasible
from selfdict import (
    InputError,
    Problem,
    Solution,
    Status,
    certify,
    conic,
    fast_gradient,
    mu_heuristic,
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
        assert_feasible(point)
        again = certify(point)
        assert again.objective == pytest.approx(point.objective, rel=1e-9)
        assert again.dual_bound <= exact.objective * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.5, 0.05])
def test_gates_of_the_data_as_dictionary_relax_the_diagonal(mu):
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


def test_solvers_continue_from_a_given_solution():
    M, D, _ = mixtures(60, 30)
    first = fast_gradient(M, 0.1, D=D, max_iter=200, tol=0)
    best = working_set(M, 0.1, D=D, tol=1e-6)
    for start in (first, best):
        again = fast_gradient(M, 0.1, D=D, X0=start, max_iter=0)
        assert again.objective == pytest.approx(start.objective, rel=1e-12)
    assert working_set(M, 0.1, D=D, X0=best, tol=1e-6).n_iter <= 2


@pytest.mark.parametrize("solver", [working_set, fast_gradient])
def test_invalid_starts_are_refused(solver):
    M, D, _ = mixtures(20)
    with pytest.raises(TypeError):
        solver(M, 0.1, D=D, X0=np.zeros((40, 20)))  # without its gates
    with pytest.raises(InputError):
        solver(M, 0.1, D=D, X0=working_set(M, 0.1))


def test_solutions_of_other_problems_are_refused():
    M, D, _ = mixtures(20)
    solution = working_set(M, 0.1, D=D)
    for other in (Problem(M, 0.1), Problem(M[:, 1:], 0.1, D=D)):
        with pytest.raises(InputError):
            solution.for_problem(other)
    for gates in (None, np.zeros(2)):
        with pytest.raises(InputError):
            Solution.from_matrix(np.zeros((3, 2)), Problem(M), diagonal=gates)


def test_too_many_atoms_for_the_heuristic_are_refused():
    M, D, _ = mixtures(20)
    with pytest.raises(InputError):
        mu_heuristic(M, 41, D=D)


def test_heuristic_for_multiples_of_one_atom():
    D = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    M = np.outer(D[:, 2], [0.5, 2.0])
    assert mu_heuristic(M, 1, D=D) == pytest.approx(0.5e-6 * np.sum(M**2))
    assert mu_heuristic(M, 1, D=np.zeros((2, 3))) == 0.0


@pytest.mark.parametrize("empty", ["atoms", "points"])
def test_zero_data_and_zero_dictionaries(empty):
    M, D, _ = mixtures(20)
    M, D = (M, 0 * D) if empty == "atoms" else (0 * M, D)
    for mu in (0.0, 0.1):
        solution = working_set(M, mu, D=D)
        assert solution.support.size == 0
        assert solution.gap <= 1e-13
        assert solution.objective == pytest.approx(0.5 * np.sum(M**2))
