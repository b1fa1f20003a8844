"""Slices on threads (order, limits, nesting, errors, forks), and threads of BLAS."""

import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from selfdict import InputError, thread_limit
from selfdict.compute import threads
from selfdict.compute.threads import _worker_queue, for_slices, n_threads, single_threaded_blas


def test_slices_cover_everything_once_in_order():
    assert for_slices(lambda a, b: (a, b), 10, 4) == [(0, 4), (4, 8), (8, 10)]
    assert for_slices(lambda a, b: (a, b), 0, 4) == []


def test_limit_holds_inside_the_block_only():
    before = n_threads()
    with thread_limit(1):
        assert n_threads() == 1
        assert set(for_slices(lambda a, b: threading.current_thread(), 8, 1)) == {
            threading.main_thread()
        }
    with thread_limit(None):
        assert n_threads() == before
    for limit in (0, 1.5, "2"):
        with pytest.raises(InputError), thread_limit(limit):
            pass


def test_nested_slices_run_in_the_calling_thread():
    with thread_limit(2):
        inner = for_slices(lambda a, b: sum(for_slices(lambda c, d: d - c, 10, 2)), 8, 1)
    assert inner == [10] * 8


@pytest.mark.parametrize("in_caller", [True, False])
def test_error_in_a_slice_reaches_the_caller(in_caller):
    taken = threading.Barrier(2)  # each thread has one of the two slices

    def fail(a, b):
        taken.wait(30)
        if (threading.current_thread() is threading.main_thread()) == in_caller:
            raise RuntimeError("in a slice")

    with pytest.raises(RuntimeError), thread_limit(2):
        for_slices(fail, 2, 1)


def test_busy_workers_are_not_waited_for():
    done = threading.Event()
    with thread_limit(2):
        _worker_queue(1).put(lambda: done.wait(30) and None)
        try:
            assert for_slices(lambda a, b: done.is_set(), 8, 1) == [False] * 8
            assert not done.is_set()
        finally:
            done.set()


def test_late_worker_does_not_end_the_wait():
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
def test_interruption_waits_for_running_slices():
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


def test_interruption_waits_for_slices_just_queued(monkeypatch):
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


def test_threads_are_shared_by_all_numbers_of_slices():
    before = set(threading.enumerate())
    with thread_limit(7):
        for n in range(2, 10):
            for_slices(lambda a, b: None, n, 1)
    assert len(set(threading.enumerate()) - before) <= 6


def _child(queue):
    queue.put(sum(for_slices(lambda a, b: b - a, 100, 10)))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_child_starts_its_own_threads():
    with thread_limit(2):
        for_slices(lambda a, b: None, 4, 1)
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=_child, args=(queue,))
        process.start()
        assert queue.get(timeout=30) == 100
        process.join(30)


def test_huge_limit_is_capped():
    most = max(64, 4 * (os.cpu_count() or 1))
    before = threading.active_count()
    with thread_limit(10**6):
        assert n_threads() <= most  # first, since a million threads would end the machine
        assert for_slices(lambda start, stop: stop, 1000, 1) == list(range(1, 1001))
    assert threading.active_count() - before <= most


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_blas_has_one_thread_inside_the_block():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_threaded_blas():
            assert blas_threads() == {1}
        assert blas_threads() == before
        with pytest.raises(KeyError), single_threaded_blas():
            raise KeyError
        assert blas_threads() == before


@pytest.mark.parametrize("limit", [single_threaded_blas, lambda: thread_limit(1)])
def test_blas_limit_is_restored_whatever_the_order(limit):
    entered, left = threading.Event(), threading.Event()
    inside = []

    def second():
        with limit():
            entered.set()
            left.wait(30)
            inside.append(blas_threads())

    other = threading.Thread(target=second)
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with limit():
            other.start()
            assert entered.wait(30)
        left.set()
        other.join(30)
        assert inside == [{1}]
        assert blas_threads() == before
