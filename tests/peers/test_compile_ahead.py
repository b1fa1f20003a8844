"""The second process that compiles kernels for the first fit on a machine."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from selfdict import FGNSR, thread_limit
from selfdict.peers import compile_ahead

X = np.random.default_rng(0).random((20, 5))


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Let the cache be empty, start nothing, and return the commands that would be run."""
    started = []

    def popen(command, **options):
        started.append(command)
        return SimpleNamespace(kill=lambda: None, wait=lambda: None)

    stats = SimpleNamespace(cache_path=str(tmp_path))
    monkeypatch.setattr(compile_ahead, "correlate", SimpleNamespace(stats=stats))
    monkeypatch.setattr(compile_ahead.subprocess, "Popen", popen)
    compile_ahead._start_once.cache_clear()
    yield started
    compile_ahead._start_once.cache_clear()


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (X, ["float64", "F", "clusters"]),
        (np.asfortranarray(X, dtype=np.float32), ["float32", "C", "clusters"]),
    ],
)
def test_a_fit_starts_it_once_for_its_kind_of_data(commands, points, expected):
    with thread_limit(2):
        for _ in range(2):
            FGNSR(2, random_state=0).fit(points)
    assert [command[4:] for command in commands] == [expected]


def test_gates_come_late_in_a_fit_of_clusters(commands):
    with thread_limit(2):
        FGNSR(2, candidates=10, random_state=0).fit(X)
    assert [command[6] for command in commands] == ["gates"]


def test_it_is_not_started_within_one_thread(commands):
    with thread_limit(1):
        compile_ahead.start(X, clusters_first=False)
    assert commands == []


def test_it_is_not_started_by_a_program_with_python_built_in(commands, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/usr/bin/viewer")
    with thread_limit(2):
        compile_ahead.start(X, clusters_first=False)
    assert commands == []


def test_it_is_not_started_if_there_is_a_cache(commands, tmp_path):
    (tmp_path / "rank_two.correlate-128.py311.nbi").touch()
    with thread_limit(2):
        compile_ahead.start(X, clusters_first=False)
    assert commands == []


def test_a_fit_goes_on_where_no_process_can_be_started(commands, monkeypatch):
    def refuse(command, **options):
        raise OSError("no more processes")

    monkeypatch.setattr(compile_ahead.subprocess, "Popen", refuse)
    with thread_limit(2):
        compile_ahead.start(X, clusters_first=False)


def test_the_name_of_the_cached_kernel_is_the_one_that_is_looked_for():
    compile_ahead.compile_late_kernels("float64", "C", "clusters")
    assert not compile_ahead._cache_is_empty()


NEW_IN_A_FIT = """
import sys

import numpy as np

from selfdict import FGNSR
from selfdict.kernels import curvature, gates, leading_eigen, rank_two, screening
from selfdict.peers import compile_ahead


def signatures():
    found = set()
    for module in (curvature, gates, leading_eigen, rank_two, screening):
        for name, value in vars(module).items():
            for signature in getattr(value, "signatures", ()):
                found.add((name, str(signature)))
    return found


dtype, order = sys.argv[1:]
compile_ahead.compile_late_kernels(dtype, order, "clusters")
compile_ahead.compile_late_kernels(dtype, order, "gates")
before = signatures()
assert before
M = np.random.default_rng(1).random((40, 300)).astype(dtype)
FGNSR(3, random_state=0).fit(np.array(M, order=order).T)
print(sorted(signatures() - before))
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_it_compiles_all_that_a_fit_needs_late(dtype, order):
    # In a process of its own: what another test has compiled would be known already.
    command = [sys.executable, "-c", NEW_IN_A_FIT, dtype, order]
    assert subprocess.check_output(command, text=True).strip() == "[]"
