"""Bounds on the scores of rows: never below the score, whatever the data, and worth their while."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from selfdict import Problem, Solution, WorkingSet, certify, mu_heuristic
from selfdict.datasets import make_mixtures
from selfdict.model import score_bounds
from selfdict.model.score_bounds import DECIDED, DenseSums, MemoryRows, ScoreBounds, Step
from selfdict.model.scores import Metric, MetricSums


@pytest.fixture
def bounds_always(monkeypatch):
    """Use bounds of all kinds for problems of any size."""
    monkeypatch.setattr(score_bounds, "FEWEST_ROWS", 1)
    monkeypatch.setattr(score_bounds, "FEWEST_ROWS_FOR_CLUSTERS", 1)
    monkeypatch.setattr(score_bounds, "FEWEST_PRODUCTS_FOR_MORE_DIRECTIONS", 1)
    monkeypatch.setattr(score_bounds, "COLUMNS_PER_FEATURE", 0)


def exact_sums(D, v, theta):
    """Σ_j max(0, (d_i/v_i)ᵀθ_j) in extended precision."""
    products = (D.astype(np.longdouble) / v).T @ theta.astype(np.longdouble)
    return np.maximum(products, 0).sum(axis=1)


def atoms_of_kind(kind, m, d, rng):
    """Columns that are hard for a bound in one way or another."""
    D = rng.random((m, d))
    if kind == "clusters":
        D = D[:, rng.integers(min(3, d), size=d)] + 1e-9 * rng.standard_normal((m, d))
    if kind == "duplicates":
        D = D[:, rng.integers(min(4, d), size=d)]
    if kind == "bright":
        D[:, 0] *= 1e6
    if kind == "signs":
        D = rng.standard_normal((m, d))
    if kind == "zeros":
        D[:, ::3] = 0.0
    if kind == "one direction":
        D = np.outer(rng.random(m), rng.random(d))
    return D


KINDS = ["plain", "clusters", "duplicates", "bright", "signs", "zeros", "one direction"]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 80),
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(-30, 30),
    st.integers(0, 2**32 - 1),
)
def test_no_score_exceeds_its_bound(kind, dtype, m, d, n_columns, exponent, seed):
    rng = np.random.default_rng(seed)
    D = atoms_of_kind(kind, m, d, rng).astype(dtype)
    v = rng.uniform(0.1, 10.0, d)
    theta = rng.standard_normal((m, n_columns)) * 10.0 ** rng.integers(-8, 1, n_columns)
    theta = np.ldexp(theta, exponent)
    theta[:, rng.random(n_columns) < 0.2] = 0.0
    exact = exact_sums(D, v, theta)
    bounds = ScoreBounds(MemoryRows(D, v))
    sums = DenseSums(theta)
    if not theta.any():
        assert not bounds.scores(sums, np.ones(d), np.zeros(1), rough=False).any()
        return
    metric = Metric.from_sums(MetricSums.of(theta))
    rows = np.arange(d)
    most = np.full(d, np.inf)
    for step in (Step.CLUSTERS, Step.DIRECTIONS, Step.MORE_DIRECTIONS, Step.SINGLE):
        found = bounds._bounds(step, sums, metric, rows, most)
        assert (bounds.rows.lengths * found >= exact).all()


@pytest.mark.parametrize("rough", [False, True])
def test_penalties_within_rounding_of_the_scores(rough):
    rng = np.random.default_rng(1)
    D = rng.random((12, 300))
    v = D.sum(axis=0)
    theta = rng.standard_normal((12, 400))
    exact = exact_sums(D, v, theta).astype(float)
    # some penalties at the score, some just above it, some far above, some just below
    penalty = exact * np.resize([1.0, 1 + 1e-12, 2.0, 1 - 1e-12], 300)
    scores = ScoreBounds(MemoryRows(D, v)).scores(DenseSums(theta), penalty, np.zeros(1), rough)
    assert (scores >= exact * (1 - 1e-13)).all()
    undecided = scores > DECIDED * penalty
    assert undecided[exact > DECIDED * penalty].all()
    if not rough:
        np.testing.assert_allclose(scores[undecided], exact[undecided], rtol=1e-12)


@pytest.mark.usefixtures("bounds_always")
@pytest.mark.parametrize("m", [40, 100])
def test_most_rows_of_mixtures_are_decided(m):
    M = make_mixtures(m, 3000, 4, noise=0.01, random_state=0)[0]
    problem = Problem(M, mu_heuristic(M, 4))
    solution = WorkingSet(tol=1e-6).solve(problem)
    residual = M - M[:, solution.support] @ solution.coef
    bounds = ScoreBounds(MemoryRows(M, problem.w))
    own = np.minimum(np.einsum("ij,ij->j", M, residual), 0.0)
    penalty = problem.mu * problem.p
    scores = bounds.scores(DenseSums(residual * problem.w), penalty, own, rough=False)
    undecided = bounds.undecided
    assert undecided["directions"] < 0.4 * 3000
    # directions beyond these are worth it only if there are many more features
    assert ("more directions" in undecided) == (m == 100)
    if m == 100:
        assert undecided["more directions"] < 0.9 * undecided["directions"]
    exact = naive.row_scores(M, residual, problem.w)
    assert (scores >= exact - 1e-9).all()
    support = solution.support
    np.testing.assert_allclose(scores[support], exact[support], rtol=1e-10)


@pytest.mark.usefixtures("bounds_always")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("given", ["data", "weights", "dictionary", "closed rows"])
def test_optimum_and_bound_are_those_without_score_bounds(monkeypatch, dtype, given):
    rng = np.random.default_rng(2)
    M = make_mixtures(12, 240, 4, noise=0.02, random_state=3)[0].astype(dtype)
    mu = mu_heuristic(M, 4)
    options = {}
    if given == "weights":
        options = {"sample_weight": rng.uniform(0.5, 2.0, 240), "w": rng.uniform(1.0, 2.0, 240)}
    if given == "dictionary":
        options = {"D": np.hstack([M[:, :60], rng.random((12, 40)).astype(dtype)])}
    problem = Problem(M, mu, **options)
    if given == "closed rows":
        problem = problem.changed(p=np.where(rng.random(240) < 0.3, np.inf, 1.0))
    bounded = WorkingSet(tol=1e-10).solve(problem)
    certified = certify(bounded)
    monkeypatch.setattr(score_bounds, "FEWEST_ROWS", 10**9)
    exhaustive = WorkingSet(tol=1e-10).solve(problem)
    rel = max(1e-9, float(np.finfo(dtype).eps))
    assert bounded.objective == pytest.approx(exhaustive.objective, rel=rel)
    # entries are rounded to the dtype of M, which may take them out of Ω by as much
    assert bounded.dual_bound <= exhaustive.objective * (1 + np.finfo(dtype).eps)
    assert bounded.gap <= max(1e-10, 2 * exhaustive.gap)
    assert certified.dual_bound == pytest.approx(certify(bounded).dual_bound, rel=1e-9)


@pytest.mark.usefixtures("bounds_always")
def test_bound_of_a_small_residual_is_that_without_score_bounds(monkeypatch):
    # the best scaling is far above one, where rows count that bounds had decided
    M = make_mixtures(10, 60, 3, noise=0.05, random_state=0)[0]
    problem = Problem(M, 0.5)
    solution = Solution.from_matrix(0.98 * np.eye(60), problem)
    bounded = certify(solution).dual_bound
    monkeypatch.setattr(score_bounds, "FEWEST_ROWS", 10**9)
    assert bounded == pytest.approx(certify(solution).dual_bound, rel=1e-12)
