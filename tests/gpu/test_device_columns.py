"""Columns fitted within gates on a device, against the compiled code of the CPU.

Without a GPU, Triton interprets the kernels, which takes up to a second per column.
"""

import numpy as np
import pytest

from on_device import DEVICE, tensor, torch
from same_gates import assert_same_search
from selfdict.columns.device import DeviceColumns
from selfdict.columns.memory import MemoryColumns
from selfdict.compute.device import long_gram
from selfdict.gpu import columns as gpu_columns
from selfdict.kernels import gates as cpu
from selfdict.model.score_bounds import MemoryRows

triton_gates = pytest.importorskip("selfdict.gpu.triton_gates")
pytestmark = pytest.mark.usefixtures("one_torch_thread")


class Columns:
    """Columns of a random problem, solved on the CPU as well."""

    def __init__(self, k=4, n=2, t=None, seed=0):
        rng = np.random.default_rng(seed)
        self.D = rng.random((8, k))
        self.Y = self.D @ rng.dirichlet(np.ones(k), n).T + 0.3 * rng.random((8, n))
        self.t = rng.random(k)
        if t is not None:
            self.t = np.array(t, dtype=float)
        self.own = np.full(n, -1)
        self.weight = rng.random(n) + 0.5
        self.Z = np.zeros((n, k))
        self.state = np.zeros((n, k), np.int8)

    @property
    def G(self):
        return self.D.T @ self.D

    @property
    def C(self):
        return self.Y.T @ self.D

    def on_cpu(self):
        """Return sums, entries and states from the compiled code."""
        Z = self.Z.copy()
        state = self.state.copy()
        sums = cpu.fit_columns(self.G, self.C, self.weight, self.t, self.own, Z, state)
        return sums, Z, state

    def on_device(self):
        """Return the same from the device."""
        Z = tensor(self.Z)
        state = tensor(self.state)
        arrays = [tensor(a) for a in (self.G, self.C, self.weight, self.t, self.own)]
        sums = gpu_columns.fit_columns(*arrays, Z, state)
        return sums.cpu().numpy(), Z.cpu().numpy(), state.cpu().numpy()

    def assert_equal(self, unique=True):
        expected, Z_cpu, state_cpu = self.on_cpu()
        sums, Z, state = self.on_device()
        np.testing.assert_allclose(sums, expected, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(Z @ self.D.T, Z_cpu @ self.D.T, atol=1e-11)
        if unique:
            np.testing.assert_allclose(Z, Z_cpu, atol=1e-10)
            np.testing.assert_array_equal(state, state_cpu)
        return state


@pytest.fixture
def small_tiles(monkeypatch):
    """Kernels, interpreted on a CPU, with tiles of 2 and 8 slots and short vectors."""
    monkeypatch.setattr(gpu_columns, "runs_triton", lambda device: True)
    monkeypatch.setattr(gpu_columns, "SLOTS", (2, 8))
    monkeypatch.setattr(triton_gates, "_SMALLEST_BLOCK", 8)


def test_entries_at_zero_at_their_gate_and_free(small_tiles):
    problem = Columns(t=[0.4, 0.3, 0.6, 0.5], n=4)
    everything = problem.D.sum(axis=1)
    problem.Y[:, 0] = -everything
    problem.Y[:, 1] = 10 * everything
    problem.Y[:, 2] = problem.D @ (0.5 * problem.t)
    state = problem.assert_equal()
    assert (state[0] == cpu.ZERO).all()
    assert (state[1] == cpu.GATE).all()
    assert (state[2] == cpu.FREE).all()


def test_closed_gates_and_own_columns(small_tiles):
    problem = Columns(t=[0.3, 0.0, 0.6, 1.0], n=4)
    problem.Y[:, :3] = problem.D[:, [0, 1, 3]]
    problem.own[:3] = [0, 1, 3]
    problem.assert_equal()


def test_all_gates_closed(small_tiles):
    problem = Columns(t=np.zeros(4), n=2)
    problem.own[0] = 2
    _, Z, state = problem.on_device()
    assert not Z.any()
    g = problem.C
    g[0, 2] = 1.0
    np.testing.assert_array_equal(state == cpu.GATE, g > 0)


@pytest.mark.parametrize("kind", ["duplicate", "sum"])
def test_dependent_atoms(kind, small_tiles):
    problem = Columns(t=np.full(4, 0.8))
    problem.D[:, 3] = problem.D[:, 1]
    if kind == "sum":
        problem.D[:, 3] += problem.D[:, 2]
    # the second column starts with all of them free
    problem.state[1] = cpu.FREE
    problem.Z[1] = 0.3
    problem.assert_equal(unique=False)


def test_nearly_dependent_atoms(small_tiles, monkeypatch):
    """An inverse that has lost digits takes an atom for dependent that is not."""
    monkeypatch.setattr(gpu_columns, "SLOTS", (8, 8))
    rng = np.random.default_rng(92)
    problem = Columns(k=6, n=1)
    problem.D = rng.random((12, 6))
    problem.D[:, 3:] = problem.D[:, :3] + 1e-5 * rng.standard_normal((12, 3))
    problem.Y = (problem.D @ rng.dirichlet(np.ones(6)) + 0.05 * rng.standard_normal(12))[:, None]
    problem.t = 0.5 * rng.random(6)
    expected, Z, state = problem.on_cpu()
    sums, Z_device, state_device = problem.on_device()
    np.testing.assert_array_equal(state_device, state)
    np.testing.assert_allclose(Z_device, Z, atol=1e-6)
    np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-12)


def test_wrong_warm_starts(small_tiles):
    problem = Columns(t=np.full(4, 0.5), seed=1)
    problem.state[:] = [cpu.GATE, cpu.FREE, cpu.ZERO, cpu.FREE]
    problem.Z[:] = [9.0, -1.0, 2.0, 7.0]
    problem.assert_equal()


def test_columns_larger_than_any_tile(small_tiles, monkeypatch):
    monkeypatch.setattr(gpu_columns, "SLOTS", (1, 2))
    problem = Columns(t=np.full(4, 3.0))
    state = problem.assert_equal()
    assert (state == cpu.FREE).sum(axis=1).max() > 2


def test_inaccurate_columns_are_solved_on_the_cpu(small_tiles, monkeypatch):
    exchange = triton_gates.exchange

    def careless(*arguments):
        outcome = exchange(*arguments)
        outcome[::2] = triton_gates.INACCURATE.value
        return outcome

    monkeypatch.setattr(triton_gates, "exchange", careless)
    Columns(t=np.full(4, 0.4)).assert_equal()


@pytest.mark.parametrize("slots", [(2, 8), (1,)])
def test_curvature(slots, small_tiles, monkeypatch):
    monkeypatch.setattr(gpu_columns, "SLOTS", slots)
    monkeypatch.setattr("selfdict.compute.device.BLOCK_ENTRIES", 1)  # 16 columns at a time
    state = np.random.default_rng(0).integers(0, 3, (60, 4)).astype(np.int8)
    problem = Columns(n=60)
    expected = cpu.curvature(problem.G, problem.weight, state)
    found = gpu_columns.curvature(tensor(problem.G), tensor(problem.weight), tensor(state))
    np.testing.assert_allclose(found.cpu(), expected, atol=1e-12)


def test_gram_of_a_long_tensor():
    A = torch.from_numpy(np.random.default_rng(0).random((1000, 3)))
    np.testing.assert_allclose(long_gram(A), A.T @ A, rtol=1e-13)
    assert long_gram(A[:0]).tolist() == [[0.0] * 3] * 3


@pytest.mark.parametrize("sample", [None, np.arange(1, 60, 3)])
@pytest.mark.parametrize("has_dictionary", [False, True])
def test_columns_on_a_device_equal_those_in_memory(sample, has_dictionary, monkeypatch):
    """Everything but the kernels: the compiled code solves the columns."""
    monkeypatch.setattr(gpu_columns, "_MOST_ATOMS", 0)
    monkeypatch.setattr("selfdict.compute.device.BLOCK_ENTRIES", 100)
    rng = np.random.default_rng(0)
    M = rng.random((8, 60)).astype(np.float32)
    w = M.astype(np.float64).sum(axis=0)
    D = M
    v = w
    if has_dictionary:
        D = rng.random((8, 30))
        v = D.sum(axis=0)
    s = np.linspace(0.5, 1.5, 60)
    is_tied = not has_dictionary
    in_memory = MemoryColumns(M, w, s, MemoryRows(D, v), is_tied=is_tied)
    on_device = DeviceColumns.of(M, w, s, D, v, is_tied, torch.device(DEVICE))
    if sample is not None:
        in_memory = in_memory.take(sample)
        on_device = on_device.take(sample)
    assert on_device.square == pytest.approx(in_memory.square, rel=1e-12)
    np.testing.assert_allclose(on_device.rows.lengths, in_memory.rows.lengths, rtol=1e-12)
    np.testing.assert_array_equal(on_device.first_atoms(3), in_memory.first_atoms(3))
    assert_same_search(in_memory, on_device)
