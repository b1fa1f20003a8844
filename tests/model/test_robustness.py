"""The conical robustness κ against a cone program as the paper defines it; its properties."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfdict import conical_robustness

seeds = st.integers(0, 2**32 - 1)


def by_definition(W):
    distances = []
    for k in range(W.shape[1]):
        others = np.delete(W, k, axis=1)
        x = cp.Variable(others.shape[1], nonneg=True)
        problem = cp.Problem(cp.Minimize(cp.norm1(W[:, k] - others @ x)))
        distances.append(problem.solve(solver=cp.CLARABEL))
    return min(distances)


def columns(seed, m, r, signed=False):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((m, r)) if signed else rng.random((m, r)) ** 3
    return W / np.abs(W).sum(axis=0)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("m", "r"), [(5, 2), (4, 7), (20, 6), (50, 10)])
def test_is_the_least_distance_to_the_cone_of_the_others(m, r, signed):
    W = columns(m + r, m, r, signed)
    assert conical_robustness(W) == pytest.approx(by_definition(W), abs=1e-6)


@given(seeds, st.integers(2, 12), st.integers(2, 6), st.floats(1e-9, 1e9))
@settings(max_examples=30, deadline=None)
def test_range_unit_and_order(seed, m, r, unit):
    W = columns(seed, m, r)
    kappa = conical_robustness(W)
    assert 0 <= kappa <= 1 + 1e-12
    assert conical_robustness(unit * W) == pytest.approx(unit * kappa, rel=1e-6, abs=1e-6 * unit)
    shuffled = np.random.default_rng(seed).permutation(r)
    assert conical_robustness(W[:, shuffled]) == pytest.approx(kappa, abs=1e-6)


@given(seeds, st.integers(2, 12), st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_falls_with_more_columns_and_to_zero_inside_the_cone(seed, m, r):
    W = columns(seed, m, r)
    assert conical_robustness(W[:, :-1]) >= conical_robustness(W) - 1e-6
    inside = W @ np.random.default_rng(seed).random(r)
    assert conical_robustness(np.column_stack([W, inside])) == pytest.approx(0, abs=1e-6)


@given(seeds, st.integers(2, 12), st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_no_combination_comes_nearer(seed, m, r):
    """Weak duality: the linear programs are solved from the other side; every x ≥ 0 checks it."""
    W = columns(seed, m, r, signed=True)
    x = np.random.default_rng(seed).exponential(size=(r - 1, 20)) / r
    for k in range(r):
        distances = np.abs(W[:, [k]] - np.delete(W, k, axis=1) @ x).sum(axis=0)
        assert conical_robustness(W) <= distances.min() + 1e-6


def test_edges():
    assert conical_robustness([[2.0], [-1.0]]) == 3.0
    assert conical_robustness(np.zeros((3, 2))) == 0.0
    assert conical_robustness(np.eye(3, dtype=np.float32)) == 1.0
    with pytest.raises(ValueError, match="W must have 2 dimensions"):
        conical_robustness([1.0, 2.0])
