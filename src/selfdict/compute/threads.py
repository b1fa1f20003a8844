"""Threads for the compiled kernels.

A kernel is a serial function that has released the GIL and works on the slice ``[start, stop)`` of
its items. This module distributes the slices over a few threads. The slices depend on the problem
alone, never on the number of threads, so sums taken slice by slice give the same bits on one thread
and on many.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from numbers import Integral
from queue import SimpleQueue
from threading import Thread
from typing import Any

from selfdict._errors import InputError
from selfdict.compute.blas import blas_limit

_limit: ContextVar[int | None] = ContextVar("selfdict_threads", default=None)


def n_threads() -> int:
    """Return how many threads kernels may use: the limit in force, else the cores available."""
    limit = _limit.get()
    if limit is not None:
        return limit
    return _available_cores()


def _available_cores() -> int:
    """Return how many cores this process may use: they can be fewer than those of the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def thread_limit(limit: int | None) -> Iterator[None]:
    """Let kernels and BLAS use at most ``limit`` threads inside the ``with`` block.

    Parameters
    ----------
    limit : int or None
        At least 1; None changes nothing. More than four times the cores available, and than 64,
        means the larger of these two numbers.

    Examples
    --------
    >>> import selfdict
    >>> with selfdict.thread_limit(1):
    ...     K = selfdict.spa([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], 2)
    """
    if limit is None:
        yield
        return
    if not isinstance(limit, Integral) or limit < 1:
        raise InputError(f"the thread limit must be a whole number, at least 1, got {limit!r}")
    # Workers never end, and more of them than this only wait for one another.
    most = max(64, 4 * _available_cores())
    limit = min(int(limit), most)
    token = _limit.set(limit)
    try:
        with blas_limit(limit):
            yield
    finally:
        _limit.reset(token)


# Whether this thread is working on a slice.
_inside_slice = ContextVar("selfdict_inside_slice", default=False)


@cache
def _worker_queue(size: int) -> "SimpleQueue[Callable[[], None]]":
    """Start ``size`` worker threads, which never end, and return the queue of their jobs.

    A plain queue costs less than the futures of an executor.
    """
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def serve() -> None:
        _inside_slice.set(True)
        while True:
            jobs.get()()

    for k in range(size):
        Thread(target=serve, name=f"selfdict_{k}", daemon=True).start()
    return jobs


if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork: the child starts its own.
    os.register_at_fork(after_in_child=_worker_queue.cache_clear)


class _SharedSlices:
    """The slices of one call of :func:`for_slices`, which several threads take one by one."""

    def __init__(self, task: Callable[[int, int], Any], slices: list[tuple[int, int]]) -> None:
        self.task = task
        self.results: list[Any] = [None] * len(slices)
        self.waiting = list(enumerate(slices))[::-1]
        # Lists, because appending is atomic; only their lengths count.
        self.started: list[None] = []
        self.ended: list[None] = []
        self.errors: list[BaseException] = []
        self.worker_has_ended: SimpleQueue[None] = SimpleQueue()

    def work(self) -> None:
        """Take slices until none is left."""
        while self.waiting:
            try:
                k, bounds = self.waiting.pop()
            except IndexError:  # another thread has taken the last one
                return
            self.results[k] = self.task(*bounds)

    def work_in_worker(self) -> None:
        """Do the same in a worker thread, which keeps its error for the calling thread."""
        self.started.append(None)
        try:
            self.work()
        except BaseException as error:
            self.errors.append(error)
        finally:
            self.ended.append(None)
            self.worker_has_ended.put(None)

    def finish(self) -> None:
        """Take no more slices, and wait for the workers that have started."""
        _inside_slice.set(False)
        self.waiting.clear()
        # A worker that has not started by now finds nothing to do: no need to wait until it wakes.
        # One that starts meanwhile signals its end as well, so the number of signals does not tell
        # when to stop. The number of workers that have ended does.
        while len(self.ended) < len(self.started):
            try:
                self.worker_has_ended.get()
            except KeyboardInterrupt as error:
                self.errors.append(error)


def even_slices(n_items: int, at_most: int, uncut: int = 256) -> int:
    """Return the length of slices that cut items into an even number of equal parts.

    Two threads then end together. Up to ``uncut`` items are not cut: they are done before another
    thread is awake.

    Examples
    --------
    >>> from selfdict.compute.threads import even_slices
    >>> even_slices(742, 250), even_slices(100, 50)
    (186, 100)
    """
    if n_items <= uncut:
        return max(1, n_items)
    pairs = -(-n_items // (2 * at_most))
    return -(-n_items // (2 * pairs))


def for_slices(task: Callable[[int, int], Any], n_items: int, slice_size: int) -> list[Any]:
    """Call ``task(start, stop)`` for consecutive slices of ``range(n_items)``.

    Return the results in the order of the slices. The calling thread takes slices like the workers.
    On an interruption the running slices are waited for, so nothing writes into an array
    afterwards. A task that calls this function again runs its slices itself: workers that all wait
    for other workers would wait for ever.
    """
    slices = [(start, min(start + slice_size, n_items)) for start in range(0, n_items, slice_size)]
    limit = n_threads()
    size = min(limit, len(slices))
    if size <= 1 or _inside_slice.get():
        return [task(*bounds) for bounds in slices]
    shared = _SharedSlices(task, slices)
    # As many workers as the limit allows, not as there are slices: workers never end, and each
    # number of slices would start others.
    jobs = _worker_queue(limit - 1)
    try:
        try:
            _inside_slice.set(True)
            for _ in range(size - 1):
                jobs.put(shared.work_in_worker)
            shared.work()
        finally:
            shared.finish()
    except BaseException:
        shared.finish()  # an interruption may have stopped the first call
        raise
    if shared.errors:
        raise shared.errors[0]
    return shared.results
