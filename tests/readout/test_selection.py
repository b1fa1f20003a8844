"""Indices out of a solution: each way where it must be right, exchange against brute force."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from selfdict import (
    Candidates,
    InputError,
    InputWarning,
    Problem,
    Solution,
    WorkingSet,
    fast_gradient,
    h2nmf,
    nnls,
    select_indices,
    working_set,
)
from selfdict.compute.deadline import Deadline
from selfdict.datasets import make_mixtures
from selfdict.metrics import relative_error
from selfdict.peers.greedy import Budget, Fit, grow
from selfdict.readout.exchange import ERROR_TIE, exchange, kick, settle

METHODS = ("auto", "diagonal", "spa", "clusters", "exchange")


def solution_with(diagonal, M):
    return Solution.from_matrix(np.diag(diagonal), Problem(M, 0.1))


@pytest.mark.parametrize("method", METHODS)
def test_finds_the_pure_columns_of_clean_data(method):
    M, _, pure = make_mixtures(20, 100, 4, concentration=1.0, random_state=0)
    solution = working_set(M, 1e-4 * np.linalg.norm(M) ** 2)
    assert sorted(select_indices(solution, 4, method=method)) == sorted(pure)


def test_diagonal_takes_the_largest_first_and_breaks_ties_by_index():
    solution = solution_with([0.2, 0.9, 0.5, 0.5], np.eye(4))
    assert select_indices(solution, 3, method="diagonal").tolist() == [1, 2, 3]


def test_near_duplicates_fool_the_diagonal_but_not_the_clusters():
    rng = np.random.default_rng(0)
    M = np.repeat(np.eye(3), [3, 1, 1], axis=1) + 1e-3 * rng.random((3, 5))
    solution = solution_with([0.33, 0.35, 0.32, 0.3, 0.3], M)
    assert set(select_indices(solution, 3, method="diagonal")) == {0, 1, 2}
    assert set(select_indices(solution, 3, method="clusters")) == {1, 3, 4}


def test_columns_that_are_heavy_enough_are_not_merged_though_they_are_near():
    M = np.array([[1.0, 0.8, 0.0], [0.0, 0.2, 1.0]])
    diagonal = [0.7, 0.6, 0.3]  # the second has more than a third of all weight
    assert set(select_indices(solution_with(diagonal, M), 2, method="clusters")) == {0, 1}
    duplicates = solution_with(diagonal, M[:, [0, 0, 2]])
    assert set(select_indices(duplicates, 2, method="clusters")) == {0, 2}


def test_spa_measures_rows_in_units_of_the_columns_norms():
    """A dark pixel has a row of large entries; scaled, it counts as what it explains."""
    M = np.array([[1.0, 0.0, 0.01, 0.5], [0.0, 1.0, 0.0, 0.5]])
    X = np.zeros((4, 4))
    X[0] = [0.9, 0, 0.009, 0.45]
    X[1] = [0, 0.9, 0, 0.45]
    X[2] = [10.0, 0.0, 0.1, 5.0]  # w_2 = 0.01 allows X_2j up to 100 X_22 w_j
    solution = Solution.from_matrix(X, Problem(M, 0.1))
    assert select_indices(solution, 2, method="spa").tolist() == [0, 1]


def test_a_short_support_is_filled_up_by_what_lowers_the_error():
    M, _, pure = make_mixtures(20, 60, 4, concentration=1.0, random_state=0)
    for method in METHODS:
        K = select_indices(solution_with(np.eye(60)[pure[0]], M), 4, method=method)
        assert len(set(K)) == 4
        assert relative_error(M, K) < 0.2 * relative_error(M, [pure[0]])
        if method in ("diagonal", "spa", "clusters"):
            assert K[0] == pure[0]


@pytest.mark.parametrize("seed", range(5))
def test_exchange_is_as_good_as_brute_force_on_small_data(seed):
    rng = np.random.default_rng(seed)
    M = rng.random((5, 14))
    best = min(relative_error(M, list(K)) for K in combinations(range(14), 3))
    K = select_indices(fast_gradient(M, 0.05, max_iter=300, tol=0), 3, method="exchange")
    assert relative_error(M, K) <= best * 1.05


def error_by_nnls(M, sizes, K):
    R = M - M[:, K] @ nnls(M[:, K], M)
    return np.sum(sizes * R**2)


def test_fits_equal_nnls_from_nothing_and_from_the_last_fits():
    M = make_mixtures(30, 200, 5, noise=0.05, random_state=0)[0]
    sizes = np.arange(1.0, 201.0)
    fit = Fit.of(M, sizes, M, 30)
    # One candidate more or less starts from the fit before; the last one has a duplicate.
    for K in ([3, 50, 120], [3, 120], [7, 3, 120], [3, 7, 50, 120], [9], [3, 3, 50]):
        expected = error_by_nnls(M, sizes, K)
        assert fit.square(np.array(K)) == pytest.approx(expected, rel=1e-9)
    choices = np.array([50, 80, 33])
    squares = fit.squares_with(np.array([3, 120]), choices, Deadline())
    expected = [error_by_nnls(M, sizes, [3, 120, choice]) for choice in choices]
    np.testing.assert_allclose(squares, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_on_gains_change_no_ranking(seed):
    M = make_mixtures(20, 800, 4, noise=0.05, random_state=seed)[0]
    clusters = h2nmf(M, 60)
    representatives = M[:, clusters.indices]
    anchors = (clusters.indices, clusters.labels)
    rng = np.random.default_rng(seed)
    for size in (1, 3, 6):
        K = rng.choice(800, size, replace=False)
        plain = Fit.of(representatives, clusters.sizes, M, 12)
        bounded = replace(plain, anchors=anchors, _squares={}, _promising={})
        np.testing.assert_array_equal(bounded.promising(K, 4), plain.promising(K, 4))


def test_exchange_never_raises_the_error_and_respects_its_bound():
    M = make_mixtures(30, 200, 5, noise=0.05, random_state=0)[0]
    fit = Fit.of(M, np.ones(200), M, 12)
    start = grow(fit, 5, np.array([0, 1]), 4, Budget())
    assert start[:2].tolist() == [0, 1]
    before = fit.square(start)
    K, after = exchange(fit, fit, start, 4, Budget())
    assert after <= before
    assert after == pytest.approx(fit.square(K))
    whole = Fit.of(M, np.ones(200), M, 30)
    assert whole.limit(5) == pytest.approx(np.sum(np.linalg.svd(M, compute_uv=False)[5:] ** 2))
    same, unchanged = exchange(fit, fit, start, 4, Budget(0))
    assert same.tolist() == start.tolist()
    assert unchanged == pytest.approx(before, rel=1e-12)
    kicked, lowest = kick(fit, K, after, 4, Budget())
    assert lowest <= after
    assert lowest == pytest.approx(fit.square(kicked))


def test_exchange_reaches_columns_outside_the_support_and_the_representatives():
    M, _, pure = make_mixtures(20, 1500, 4, noise=0.002, concentration=2.0, random_state=0)
    clusters = h2nmf(M, 20)
    solution = WorkingSet().solve(Candidates(20).reduce_to(Problem(M, 1.0), clusters))
    K = select_indices(solution, 4, method="exchange")
    assert relative_error(M, K) <= 1.1 * relative_error(M, pure)
    inside = select_indices(solution, 4, method="spa")
    assert set(inside) <= set(clusters.indices)
    assert relative_error(M, K) <= relative_error(M, inside)


@pytest.mark.parametrize(("r", "noise", "seed"), [(4, 0.02, 0), (5, 0.05, 2)])
def test_exchange_is_never_worse_than_where_it_started(r, noise, seed):
    M = make_mixtures(60, 300, r, noise=noise, random_state=seed)[0]
    solution = working_set(M, 0.1)
    errors = {
        method: relative_error(M, select_indices(solution, r, method=method)) for method in METHODS
    }
    assert errors["exchange"] <= ERROR_TIE * min(errors.values())


def test_of_choices_with_the_same_error_exchange_takes_the_one_whose_abundances_sum_to_one():
    """Each pure column is there twice, once at half its length: one cone, other sums."""
    M, _, pure = make_mixtures(12, 60, 3, noise=0.02, random_state=0)
    M = np.hstack([0.5 * M[:, pure], M])
    half, full = np.arange(3), pure + 3
    assert settle([half, full], M, M) is full
    A = M * np.where(np.arange(63) < 3, 1.0, 1 + 1e-3 * np.random.default_rng(0).random((12, 1)))
    errors = [relative_error(M, A[:, K]) for K in (half, full)]
    assert errors[0] < errors[1] <= ERROR_TIE * errors[0]
    assert settle([half, full], M, A) is full
    worse = np.array([*full[:2], *np.setdiff1d(np.arange(6, 63), full)[:1]])
    assert relative_error(M, worse) > ERROR_TIE * relative_error(M, half)
    assert settle([half, worse], M, M) is half


def test_exchange_where_all_columns_form_one_cluster():
    """Beside a fill value nobody declared all other differences are rounding errors."""
    M = make_mixtures(10, 1200, 3, noise=0.01, random_state=0)[0]
    M[:, 0] = 1e9
    assert h2nmf(M, 500).sizes.size == 1
    K = select_indices(working_set(M, 1.0), 3, method="exchange")
    assert 0 in K
    assert len(set(K.tolist())) == 3


@pytest.mark.parametrize(
    "arguments",
    [
        dict(r=0),
        dict(r=4),
        dict(method="best"),
        dict(method="spa", r=3, solution=solution_with([1.0, 0, 0], np.ones((2, 3)))),
    ],
)
def test_invalid_input(arguments):
    with pytest.raises(InputError):
        select_indices(
            **{"solution": solution_with([0.5, 0.5, 0.5], np.eye(3)), "r": 2, **arguments}
        )


def incomplete_solution():
    """Return a solution with three of the 40 pure columns of the data."""
    M, _, pure = make_mixtures(60, 600, 40, noise=0.05, random_state=0)
    return solution_with(1.0 * np.isin(np.arange(600), pure[:3]), M)


@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_ends_the_choice_and_says_so(method):
    solution = incomplete_solution()
    with pytest.warns(InputWarning):
        K = select_indices(solution, 50, method=method, max_seconds=0)
    assert len(set(K.tolist())) == 50


def test_a_long_exchange_is_announced_before_it_starts(monkeypatch):
    solution = incomplete_solution()
    monkeypatch.setattr("selfdict.readout.exchange.ANNOUNCED", 0.1)
    monkeypatch.setattr("selfdict.readout.exchange.exchange", None)  # cannot be called
    with pytest.warns(InputWarning), pytest.raises(TypeError):
        select_indices(solution, 30, method="exchange")


def test_what_is_remembered_changes_no_choice(monkeypatch):
    M, _, _ = make_mixtures(m=30, n=300, r=6, noise=0.05, random_state=3)
    fits = [Fit.of(M, np.ones(300), M, 20) for _ in range(2)]
    results = []
    fitted = Fit.fitted
    for fit in fits:
        start = grow(fit, 6, np.empty(0, np.int64), 8, Budget())
        results.append(exchange(fit, fit, start, 8, Budget())[0].tolist())
        monkeypatch.setattr(Fit, "fitted", lambda self, K: fitted(replace(self, _recent={}), K))
        monkeypatch.setattr(Fit, "promising", Fit._rank)
    assert results[0] == results[1]
