"""Weak duality: no bound, of any point or solver, is above what a feasible point attains."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from array_blocks import ArrayBlocks
from feasible import random_point
from selfdict import (
    Conic,
    FastGradient,
    Huber,
    Problem,
    Squared,
    Weighted,
    WorkingSet,
    certify,
    working_set,
)
from selfdict.solvers.block_search import solve_blocks

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ["plain", "variances", "huber", "dictionary", "sparse", "smooth"]


def random_problem(kind, mu, rng):
    """Return a problem with zero columns, entries of both signs, and often with weights."""
    m, n, d = rng.integers(1, 8, 3)
    M = rng.normal(0.3, 1.0, (m, n))
    M[:, rng.random(n) < 0.15] = 0.0
    options = {"loss": Squared()}
    if kind == "variances":
        options["loss"] = Weighted(rng.uniform(0.2, 3, m), rng.uniform(0.2, 3, n))
    elif kind == "huber":
        options["loss"] = Huber(0.7)
    elif kind == "dictionary":
        options["D"] = rng.normal(0.3, 2, (m, d)) * (rng.random(d) > 0.15)
    elif kind == "sparse":
        M = sp.csc_array(M * (rng.random((m, n)) < 0.4))
    elif kind == "smooth":
        options["smooth"] = 10.0 ** rng.uniform(-4, 2)
    if rng.random() < 0.5:
        options["sample_weight"] = rng.uniform(0, 2, n)
    problem = Problem(M, mu, **options)
    return problem.changed(p=rng.uniform(0.5, 1.5, problem.n_atoms))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60)
@given(seed=SEEDS, mu=st.just(0.0) | st.floats(1e-200, 2))
def test_random_points(kind, seed, mu):
    """No point lies below a bound from another, and each bound is as good as the naive one."""
    rng = np.random.default_rng(seed)
    problem = random_problem(kind, mu, rng)
    points = [certify(random_point(problem, rng)) for _ in range(3)]
    lowest = min(point.objective for point in points)
    for point in points:
        assert point.gap >= 0
        assert point.dual_bound <= lowest * (1 + 1e-12) + 1e-12
    expected = naive.dual_bound(problem, points[0].toarray())
    assert points[0].dual_bound >= expected - 1e-9 * (1 + abs(expected))


def in_memory(problem):
    return WorkingSet(tol=1e-9).solve(problem)


def in_blocks(problem):
    ratio = problem.smooth / problem.mu
    blocks = ArrayBlocks(problem.M, 3)
    return solve_blocks(
        blocks, 1, mu=problem.mu, smooth=ratio, p=lambda n: problem.p, tol=1e-9, sample_size=4
    )


def on_a_device(problem):
    """Search on a device; without a GPU the compiled code solves the columns."""
    tensor = pytest.importorskip("on_device").tensor
    options = {"sample_weight": problem.sample_weight, "smooth": problem.smooth}
    if problem.D is not None:
        options["D"] = tensor(problem.D)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("selfdict.columns.device.FEWEST_PAIRS", 0)  # bounds on scores
        return working_set(tensor(problem.M), problem.mu, tol=1e-9, **options)


def by_gradients(problem):
    return FastGradient(max_iter=50).solve(problem)


def exactly(problem):
    return Conic().solve(problem)


@st.composite
def solvable_problems(draw, plain):
    """Draw a problem and a generator; ``plain``: a penalty, no dictionary and no weights."""
    rng = np.random.default_rng(draw(SEEDS))
    m, n = draw(st.integers(1, 5)), draw(st.integers(1, 8))
    M = rng.normal(size=(m, n)) if draw(st.booleans()) else rng.random((m, n))
    arguments = {"smooth": 10.0 ** draw(st.floats(-4, 2))}
    if not plain and draw(st.booleans()):
        arguments["D"] = rng.random((m, draw(st.integers(1, 6))))
    if not plain and draw(st.booleans()):
        arguments["sample_weight"] = rng.uniform(0, 2, n)
    if draw(st.booleans()):
        M = np.asfortranarray(M.astype(np.float32))
    penalties = [1e-3, 0.1, 1.0]
    if not plain:
        penalties.append(0.0)
    return Problem(M, draw(st.sampled_from(penalties)), **arguments), rng


@pytest.mark.parametrize("mode", [in_blocks, on_a_device, by_gradients, exactly])
@given(data=st.data())
@settings(max_examples=40)
def test_solutions(mode, data):
    problem, rng = data.draw(solvable_problems(plain=mode is in_blocks))
    points = [in_memory(problem), certify(random_point(problem, rng)), mode(problem)]
    lowest = min(point.objective for point in points)
    for point in points:
        assert point.dual_bound <= lowest * (1 + 1e-12)
    assert points[0].objective <= lowest * (1 + 1e-6)
