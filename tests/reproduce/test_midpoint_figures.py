"""Figures 1 and 2 in their quick versions: the order of the methods, and where they break down."""

import numpy as np
import pytest
import scipy.stats
from reproduce.midpoints import MIDPOINT_METHODS, Trial, standard_errors_apart
from reproduce.outcome import Request

from reproduce import midpoints
from selfdict.metrics import relative_error


@pytest.fixture(scope="module")
def figure1():
    return midpoints.figure1(Request(quick=True))


@pytest.fixture(scope="module")
def figure2():
    return midpoints.figure2(Request(quick=True))


def recovery(outcome, eps):
    rows = next(iter(outcome.tables.values()))
    return {row["method"]: row["recovery"] for row in rows if row["eps"] == eps}


def test_figure1_greedy_methods_break_first_and_the_convex_model_last(figure1):
    low, early, middle, high = (recovery(figure1, eps) for eps in (0.05, 0.15, 0.25, 0.4))
    convex = ("FGNSR heuristic", "FGNSR dynamic", "FGNSR certified", "FGNSR certified, exchange")
    assert min(low.values()) == 1
    assert all(early[method] < 0.6 for method in ("SPA", "SNPA", "XRAY"))
    assert all(early[method] == 1 for method in convex)
    assert middle["FGNSR certified"] >= 0.95
    assert middle["FGNSR dynamic"] >= 0.95
    assert middle["SPA"] < middle["FGNSR heuristic"] < 0.95
    assert middle["exact SOCP"] == middle["FGNSR certified"]
    # the diagonal breaks down before the least error does
    exchanged = high.pop("FGNSR certified, exchange")
    assert max(high.values()) < 0.5 < exchanged


def test_figure1_breakdown_levels(figure1):
    breakdown = {row["method"]: row["breakdown"] for row in figure1.tables["figure1_breakdown"]}
    assert breakdown["SPA"] == breakdown["SNPA"] == breakdown["XRAY"] == 0.15
    assert breakdown["FGNSR heuristic"] == 0.25
    assert breakdown["FGNSR certified"] == breakdown["FGNSR dynamic"] == 0.4


def test_figure2_only_the_model_without_normalisation_withstands_scaling(figure2):
    low, middle = recovery(figure2, 0.05), recovery(figure2, 0.25)
    assert low["SPA"] == low["SNPA"] == 0
    assert low["SPA"] < low["XRAY"] < 1
    assert low["normalise, SPA"] > low["SPA"]
    assert low["FGNSR certified"] == low["FGNSR dynamic"] == low["normalise, FGNSR dynamic"] == 1
    assert middle["FGNSR certified"] >= 0.95
    assert middle["XRAY"] < 0.6
    assert middle["normalise, SPA"] < middle["normalise, FGNSR dynamic"] < middle["FGNSR certified"]


def test_the_same_seed_gives_the_same_data_and_another_seed_other_data():
    (first, true), (again, true_again), (other, _) = (
        Trial.make(0.2, 4.0, [seed, 1]) for seed in (0, 0, 1)
    )
    assert np.array_equal(first.M, again.M)
    assert np.array_equal(first.p, again.p)
    assert np.array_equal(true, true_again)
    assert not np.allclose(first.M, other.M)


def test_normalised_points_are_the_same_rays():
    trial, true = Trial.make(0.0, 4.0, [0])
    normalised = trial.normalised()
    assert np.allclose(np.abs(normalised.M).sum(axis=0), 1)
    assert relative_error(normalised.M, true) < 1e-9  # the true columns still span the cone
    # SPA finds them only now
    assert set(MIDPOINT_METHODS["SPA"].select(normalised)) == set(true)
    assert set(MIDPOINT_METHODS["SPA"].select(trial)) != set(true)


def test_standard_errors_apart():
    row = dict(recovery=0.9, recovery_se=0.03, repeats=25, authors_recovery=1.0, authors_se=0.04)
    assert standard_errors_apart(row) == pytest.approx(-2)
    rng = np.random.default_rng(0)
    ours, theirs = rng.random(100), rng.random(25) + 0.2
    drawn = dict(
        recovery=ours.mean(),
        recovery_se=scipy.stats.sem(ours),
        repeats=100,
        authors_recovery=theirs.mean(),
        authors_se=scipy.stats.sem(theirs),
    )
    pooled = scipy.stats.ttest_ind(ours, theirs).statistic
    assert standard_errors_apart(drawn) == pytest.approx(pooled)
    without_errors = row | {"recovery_se": 0.0, "authors_se": 0.0}
    assert standard_errors_apart(without_errors) == -np.inf
    assert standard_errors_apart(without_errors | {"recovery": 1.0}) == 0
    assert standard_errors_apart(row | {"authors_recovery": None}) is None
