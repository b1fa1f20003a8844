"""States of columns that a process keeps from one fit to the next."""

import numpy as np
import pytest

from array_blocks import ArrayBlocks
from selfdict.columns import block_columns
from selfdict.columns.block_columns import (
    BlockPart,
    _derivatives,
    _Pass,
    forget,
    keep_state,
    kept_bytes,
    last_state,
)
from selfdict.solvers.block_search import solve_blocks


def states(n, k, seed=0):
    return np.random.default_rng(seed).integers(0, 3, (n, k)).astype(np.int8)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch):
    monkeypatch.setattr(block_columns, "_kept", {})


def test_states_are_stored_exactly():
    atoms = np.array([7, 3, 40, 5, 9, 11, 2, 1, 90])
    state = states(13, 9)
    place = "a", (0, 0)
    keep_state(*place, atoms, state)
    np.testing.assert_array_equal(last_state(*place, atoms), state)
    # new atoms start at zero
    found = last_state(*place, np.array([40, 8, 7]))
    np.testing.assert_array_equal(found[:, [0, 2]], state[:, [2, 0]])
    assert not found[:, 1].any()
    for other in (("a", (1, 0)), ("b", (0, 0))):
        assert last_state(*other, atoms) is None
    keep_state(*place, np.empty(0, np.int64), np.empty((5, 0), np.int8))
    assert last_state(*place, np.array([1, 2])).shape == (5, 2)


def test_states_beyond_the_limit_are_not_stored(monkeypatch):
    monkeypatch.setattr(block_columns, "MAX_BYTES", 100)
    atoms = np.arange(8)
    for block in range(9):
        keep_state("a", (block, 0), atoms, states(10, 8))  # 20 bytes
    assert kept_bytes() == 100
    assert last_state("a", (0, 0), atoms) is not None
    assert last_state("a", (8, 0), atoms) is None
    # a block that is kept already stays, another search takes the place of this one
    keep_state("a", (0, 0), atoms, states(10, 8))
    assert kept_bytes() == 100
    keep_state("b", (0, 0), atoms, states(10, 8))
    assert kept_bytes() == 20
    forget("b")
    assert kept_bytes() == 0


@pytest.mark.parametrize("t", [0.2, 0.5, 0.8])
def test_warm_fit_equals_the_cold_one(t):
    rng = np.random.default_rng(1)
    M = rng.random((12, 200))
    w = M.sum(axis=0)
    indices = np.arange(0, 200, 20)
    atoms = M[:, indices] / w[indices]
    part = BlockPart(0, w, indices, np.arange(10))
    passes = {
        name: _Pass(name, indices, atoms, np.full(10, t), _derivatives) for name in ("warm", "cold")
    }
    # what the warm one starts from: the fit at other gates
    list(_Pass("warm", indices, atoms, np.full(10, 0.5), _derivatives).fits(M, part))
    (warm,) = passes["warm"].fits(M, part)
    (cold,) = passes["cold"].fits(M, part)
    np.testing.assert_array_equal(warm.state, cold.state)
    np.testing.assert_allclose(warm.Z, cold.Z, atol=1e-12)
    np.testing.assert_allclose(warm.sums, cold.sums, rtol=1e-12)


def test_a_search_leaves_nothing():
    M = np.random.default_rng(2).random((20, 400))
    solve_blocks(ArrayBlocks(M, 50), 4, tol=1e-2, sample_size=80)
    assert kept_bytes() == 0
