"""Slices on threads: order, limits, nesting, errors, forks."""

import multiprocessing
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

from selfdict import nnls, thread_limit
from selfdict.compute import threads
from selfdict.compute.threads import _worker_queue, for_slices, n_threads


def test_slices_cover_everything_once_in_order():
    assert for_slices(lambda a, b: (a, b), 10, 4) == [(0, 4), (4, 8), (8, 10)]
    assert for_slices(lambda a, b: (a, b), 0, 4) == []


def test_limit_holds_inside_the_block_only():
    before = n_threads()
    with thread_limit(1):
        assert n_threads() == 1
        assert (
            for_slices(lambda a, b: threading.current_thread() is threading.main_thread(), 8, 1)
            == [True] * 8
        )
    with thread_limit(None):
        assert n_threads() == before
    for limit in (0, 1.5, "2"):
        with pytest.raises(ValueError, match=f"at least 1, got {limit!r}"), thread_limit(limit):
            pass


def test_results_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    U, M = rng.random((20, 4)), rng.random((20, 30_000))
    with thread_limit(1):
        one = nnls(U, M)
    with thread_limit(3):
        np.testing.assert_array_equal(nnls(U, M), one)


def test_a_task_may_come_back():
    with thread_limit(2):
        inner = for_slices(lambda a, b: sum(for_slices(lambda c, d: d - c, 10, 2)), 8, 1)
    assert inner == [10] * 8


@pytest.mark.parametrize("in_caller", [True, False])
def test_an_error_in_a_slice_reaches_the_caller(in_caller):
    taken = threading.Barrier(2)  # each thread has one of the two slices

    def fail(a, b):
        taken.wait(30)
        if (threading.current_thread() is threading.main_thread()) == in_caller:
            raise RuntimeError("in a slice")

    with pytest.raises(RuntimeError, match="in a slice"), thread_limit(2):
        for_slices(fail, 2, 1)


def test_a_thread_that_is_busy_elsewhere_is_not_waited_for():
    done = threading.Event()
    with thread_limit(2):
        _worker_queue(1).put(lambda: done.wait(30) and None)
        try:
            assert for_slices(lambda a, b: done.is_set(), 8, 1) == [False] * 8
            assert not done.is_set()
        finally:
            done.set()


def test_a_thread_that_comes_late_does_not_end_the_wait_for_the_others():
    release, taken = threading.Event(), threading.Event()

    def task(a, b):
        if threading.current_thread() is threading.main_thread():
            return taken.wait(30)
        taken.set()
        time.sleep(0.1)  # the caller has nothing left to do and waits
        release.set()  # the other thread wakes, too late
        time.sleep(0.1)
        return True

    with thread_limit(3):
        _worker_queue(2).put(lambda: release.wait(30) and None)
        try:
            assert for_slices(task, 3, 1) == [True] * 3
        finally:
            release.set()


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to threads on Windows")
def test_an_interruption_waits_for_what_is_running():
    taken, done = threading.Event(), threading.Event()

    def task(a, b):
        if threading.current_thread() is threading.main_thread():
            return taken.wait(30)
        taken.set()
        time.sleep(0.1)  # the caller has nothing left to do and waits
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.1)
        done.set()

    with thread_limit(2), pytest.raises(KeyboardInterrupt):
        for_slices(task, 2, 1)
    assert done.is_set()


class _InterruptedQueue:
    """Hands a job to a thread and is interrupted then."""

    def put(self, job):
        thread = threading.Thread(target=job)
        thread.start()
        raise KeyboardInterrupt


def test_an_interruption_waits_for_what_has_just_been_handed_out(monkeypatch):
    monkeypatch.setattr(threads, "_worker_queue", lambda size: _InterruptedQueue())
    running = []

    def task(a, b):
        running.append(a)
        time.sleep(0.05)
        running.remove(a)
        if left:
            late.append(a)

    left, late = [], []
    with thread_limit(2), pytest.raises(KeyboardInterrupt):
        for_slices(task, 8, 1)
    left.append(True)
    assert running == []
    time.sleep(0.2)
    assert late == []
    assert not threads._inside_slice.get()  # this thread is not taken to be inside a task any more


def test_slices_of_any_number_share_the_threads():
    before = set(threading.enumerate())
    with thread_limit(7):
        for n in range(2, 10):
            for_slices(lambda a, b: None, n, 1)
    assert len(set(threading.enumerate()) - before) <= 6


def _child(queue):
    queue.put(sum(for_slices(lambda a, b: b - a, 100, 10)))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_its_own_threads():
    with thread_limit(2):
        for_slices(lambda a, b: None, 4, 1)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=_child, args=(queue,))
        process.start()
        assert queue.get(timeout=30) == 100
        process.join(30)


def test_a_huge_limit_starts_a_sensible_number_of_threads():
    most = max(64, 4 * (os.cpu_count() or 1))
    before = threading.active_count()
    with thread_limit(10**6):
        assert n_threads() <= most  # first, since a million threads would end the machine
        assert for_slices(lambda start, stop: stop, 1000, 1) == list(range(1, 1001))
    assert threading.active_count() - before <= most
