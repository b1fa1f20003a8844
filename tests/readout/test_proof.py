"""Proofs about groups: against exact solutions of the reduced problems, and at random groups."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array

import cvxpy_model
from selfdict import (
    FGNSR,
    Candidates,
    Huber,
    InputError,
    Problem,
    Squared,
    Status,
    UnsupportedError,
    Weighted,
    WorkingSet,
    certify,
    conic,
    fast_gradient,
    mu_heuristic,
    prove_groups,
    working_set,
)
from selfdict.datasets import make_mixtures
from selfdict.readout.bounds import LimitedSolver, Trials, rank_limit


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_bounds_hold_for_random_groups(seed, weighted):
    rng = np.random.default_rng(seed)
    n = 9
    M = rng.random((5, n))
    s = rng.uniform(0.2, 2, n) if weighted else None
    p = rng.uniform(0.8, 1.2, n)
    mu = 0.02 * float((M**2).sum())
    solution = WorkingSet(tol=1e-8).solve(Problem(M, mu, p=p, sample_weight=s))
    order = rng.permutation(n)
    groups = [order[:2], order[2:3], order[3:6]]
    proof = prove_groups(solution, groups)
    optimum = conic(M, mu=mu, p=p, sample_weight=s)

    def exact_without(rows):
        weight = np.ones(n) if s is None else s
        return cvxpy_model.solve(M, mu, p, M.sum(axis=0), weight, Squared(), closed=rows)[1]

    alone = exact_without(order[6:])
    assert alone / optimum.objective - 1 <= proof.enough + 1e-6
    for group, needed in zip(groups, proof.needed, strict=True):
        rise = exact_without(group) / optimum.objective - 1
        assert needed <= rise + 1e-6
        assert needed >= rise - max(1e-3, 0.06 * rise)  # and it has two digits
    # rows that are proven closed are closed at the exact optimum
    assert optimum.diagonal[proof.closed].max(initial=0.0) < 1e-5


def test_quick_bounds_are_close_for_nearly_separable_data():
    M, _, _ = make_mixtures(20, 600, 4, noise=0.01, random_state=0)
    model = FGNSR(4, random_state=0).fit(M.T)
    exact = model.prove()
    model.solution_ = replace(model.solution_, history={"seconds": np.array([1e6])})
    quick = model.prove(max_seconds=60)
    assert quick.enough <= exact.enough + 0.02
    assert quick.is_needed.all()
    assert (quick.needed <= exact.needed).all()


def test_most_rows_are_closed_and_open_ones_are_not():
    M, _, _ = make_mixtures(20, 300, 4, noise=0.02, random_state=0)
    model = FGNSR(4, random_state=0).fit(M.T)
    proof = model.prove()
    assert proof.closed.mean() > 0.8
    assert not proof.closed[proof.solution.support].any()
    assert proof.enough < 0.2
    assert (proof.needed > 0).all()
    assert proof.limit <= model.reconstruction_err_
    assert "suffice" in proof.sentence


def test_what_is_not_proven_in_time_is_left_open():
    M, _, _ = make_mixtures(20, 300, 4, noise=0.02, random_state=0)
    model = FGNSR(4, random_state=0).fit(M.T)
    proof = model.prove(max_seconds=0)
    assert not proof.complete
    assert proof.enough == np.inf
    assert (proof.needed == 0).all()
    assert not proof.closed.any()
    assert "not proven" in proof.sentence
    assert "incomplete" in proof.sentence
    whole = model.prove(max_seconds=60)
    assert whole.complete
    assert "incomplete" not in whole.sentence


def test_an_interruption_ends_the_proof(monkeypatch):
    M, _, _ = make_mixtures(20, 300, 4, noise=0.02, random_state=0)
    model = FGNSR(4, random_state=0).fit(M.T)
    solve = WorkingSet.solve
    calls = []

    def interrupted(self, *args, **options):
        calls.append(self.tol)
        return replace(solve(self, *args, **options), status=Status.INTERRUPTED)

    monkeypatch.setattr(WorkingSet, "solve", interrupted)
    proof = model.prove()
    assert len(calls) == 1
    assert not proof.complete


def test_a_group_without_weight_is_not_needed():
    M, _, pure = make_mixtures(20, 100, 3, noise=0.01, random_state=0)
    solution = working_set(M, mu_heuristic(M, 3), tol=1e-6)
    idle = int(np.flatnonzero(solution.diagonal == 0)[0])
    proof = prove_groups(solution, [[k] for k in [*pure, idle]])
    assert proof.needed[-1] == 0
    assert proof.is_needed.tolist() == [True, True, True, False]
    assert "3 are" in proof.sentence


def test_trials_without_a_start():
    M, _, _ = make_mixtures(20, 300, 4, noise=0.02, random_state=0)
    expected = FGNSR(4, random_state=0).fit(M.T).prove()
    trials = Trials(expected.solution, LimitedSolver(), few_points=0)
    assert trials.enough(expected.groups) == pytest.approx(expected.enough, abs=1e-3)
    needed = [trials.needed(group) for group in expected.groups]
    np.testing.assert_allclose(needed, expected.needed, rtol=0.06, atol=1e-3)


@pytest.mark.parametrize("kind", ["sparse", "dictionary", "weights", "variances", "candidates"])
def test_every_kind_of_problem(kind):
    M = make_mixtures(15, 120, 3, noise=0.02, random_state=1)[0]
    options, data, sample_weight = {}, M.T, None
    if kind == "sparse":
        data = csc_array(np.where(0.1 * M.max() < M, M, 0.0)).T
    elif kind == "dictionary":
        options["dictionary"] = np.vstack([M.T[:20], np.random.default_rng(0).random((10, 15))])
    elif kind == "weights":
        sample_weight = np.random.default_rng(0).uniform(0.5, 3, 120)
    elif kind == "variances":
        options["loss"] = Weighted(band_variance=np.linspace(0.5, 2, 15))
    else:
        options["candidates"] = 40
    model = FGNSR(3, random_state=0, **options).fit(data, sample_weight=sample_weight)
    proof = model.prove()
    assert proof.enough < 1
    assert np.isfinite(proof.needed).all()
    assert proof.closed.shape == model.solution_.diagonal.shape
    assert not proof.closed[proof.solution.support].any()
    assert len(proof.groups) == 3


def test_the_limit_is_that_of_the_svd():
    M = make_mixtures(12, 40, 3, noise=0.1, random_state=0)[0]
    singular = np.linalg.svd(M, compute_uv=False)
    expected = np.linalg.norm(singular[3:]) / np.linalg.norm(singular)
    assert rank_limit(M, 3) == pytest.approx(expected, rel=1e-9)
    assert rank_limit(M, 3) <= expected
    assert rank_limit(csc_array(M), 3) == pytest.approx(expected, rel=1e-9)
    assert rank_limit(M, 12) == 0.0
    assert rank_limit(np.zeros((3, 4)), 1) == 0.0


@pytest.mark.parametrize("weighting", ["sample_weight", "loss"])
def test_the_limit_is_one_of_the_points_as_they_are(weighting):
    M = make_mixtures(12, 40, 3, noise=0.1, random_state=0)[0]
    weight = 10.0 ** np.random.default_rng(0).uniform(-3, 3, 40)
    if weighting == "loss":
        problem = Problem(M, 0.1, loss=Weighted(pixel_variance=1 / weight))
    else:
        problem = Problem(M, 0.1, sample_weight=weight)
    small = Candidates(20).reduce(problem)
    singular = np.linalg.svd(M, compute_uv=False)
    attained = np.linalg.norm(singular[3:]) / np.linalg.norm(singular)
    for solved in (problem, small):
        solution = WorkingSet().solve(solved)
        proof = prove_groups(solution, [[0], [1], [2]])
        assert proof.limit <= attained
        assert proof.limit == pytest.approx(attained, rel=1e-9)


@pytest.mark.parametrize(
    "groups", [[[0, 1], [1]], [[0], []], [], [[0, 99]]], ids=["overlap", "empty", "none", "beyond"]
)
def test_invalid_groups(groups):
    solution = working_set(np.random.default_rng(0).random((4, 20)), 0.1)
    with pytest.raises(InputError):
        prove_groups(solution, groups)


def test_group_of_all_rows_is_enough_and_needed():
    M = make_mixtures(10, 30, 2, noise=0.05, random_state=0)[0]
    solution = working_set(M, mu_heuristic(M, 2), tol=1e-8)
    proof = prove_groups(solution, [np.arange(30)])
    assert proof.enough <= 1e-3
    assert proof.needed[0] > 0  # nothing but X = 0 is left


def test_other_losses_and_models_are_refused():
    M = make_mixtures(10, 30, 2, noise=0.05, random_state=0)[0]
    with pytest.raises(UnsupportedError):
        prove_groups(fast_gradient(M, 0.1, loss=Huber(0.1)), [[0]])
    with pytest.raises(InputError):
        prove_groups(conic(M, epsilon=1.0), [[0]])


def test_a_target_does_not_move_the_penalty():
    M = make_mixtures(10, 30, 3, noise=0.01, random_state=0)[0]
    mu = mu_heuristic(M, 3)
    plain = WorkingSet(tol=1e-9).solve(Problem(M, mu))
    steered = certify(plain.for_problem(Problem(M, mu, target=("trace", 1.0))))
    groups = [[k] for k in plain.support[:3]]
    expected = prove_groups(plain, groups)
    found = prove_groups(steered, groups)
    np.testing.assert_allclose(found.needed, expected.needed, atol=1e-6)
    assert found.enough == pytest.approx(expected.enough, abs=1e-6)


def test_share_of_closed_rows_is_rounded_down():
    M = np.outer([1.0, 2.0, 3.0], np.linspace(1, 2, 2500))
    p = np.ones(2500)
    p[7] = 0.9
    proof = prove_groups(working_set(M, 1e3, p=p), [[7]])
    assert np.flatnonzero(~proof.closed).tolist() == [7]
    assert "99.9 % of the candidates are proven to have no weight" in proof.sentence


def test_groups_that_may_be_twice_as_bad_do_not_suffice():
    M = make_mixtures(10, 60, 4, noise=0.001, random_state=0)[0]
    solution = working_set(M, mu_heuristic(M, 4))
    proof = prove_groups(solution, [[int(solution.support[0])]])
    assert proof.enough > 1
    assert "not proven" in proof.sentence


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"tol": np.nan}, InputError),
        ({"tol": "a"}, TypeError),
        ({"max_seconds": "5"}, TypeError),
        ({"max_seconds": -1}, InputError),
    ],
)
def test_settings_are_checked(options, error):
    M = make_mixtures(10, 30, 3, noise=0.01, random_state=0)[0]
    solution = working_set(M, 0.1)
    with pytest.raises(error, match=next(iter(options))):
        prove_groups(solution, [[0]], **options)
