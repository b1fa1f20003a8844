"""Threads for the compiled kernels.

A kernel is a serial function that has released the GIL and works on the slice ``[start, stop)`` of
its items. Here the slices are handed to a few threads. The slices depend on the problem alone,
never on the number of threads, so sums taken slice by slice give the same bits on one thread and on
many.
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
    """Return how many threads kernels may use now: the limit in force, else the cores of this process."""
    if (limit := _limit.get()) is not None:
        return limit
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def thread_limit(limit: int | None) -> Iterator[None]:
    """Let kernels and BLAS use at most ``limit`` threads inside the ``with`` block.

    Parameters
    ----------
    limit : int or None
        At least 1; None changes nothing.

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
    token = _limit.set(limit)
    try:
        with blas_limit(limit):
            yield
    finally:
        _limit.reset(token)


_inside = ContextVar("selfdict_inside", default=False)


@cache
def _crew(size: int) -> "SimpleQueue[Callable[[], None]]":
    """Start threads for good; return the queue of jobs they serve, which costs less than the futures of an executor."""
    jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def serve() -> None:
        _inside.set(True)
        while True:
            jobs.get()()

    for k in range(size):
        Thread(target=serve, name=f"selfdict_{k}", daemon=True).start()
    return jobs


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child makes its own
    os.register_at_fork(after_in_child=_crew.cache_clear)


def for_slices(task: Callable[[int, int], Any], n_items: int, slice_size: int) -> list[Any]:
    """Call ``task(start, stop)`` for consecutive slices of ``range(n_items)`` and return the results in order.

    The calling thread takes slices like the others. On an interruption the running slices are
    waited for, so nothing writes into an array afterwards. A task that comes here again runs its
    slices itself: a pool whose threads all wait for it would wait for ever.
    """
    slices = [(start, min(start + slice_size, n_items)) for start in range(0, n_items, slice_size)]
    limit = n_threads()
    size = min(limit, len(slices))
    if size <= 1 or _inside.get():
        return [task(*bounds) for bounds in slices]
    results: list[Any] = [None] * len(slices)
    waiting = list(enumerate(slices))[::-1]

    def work() -> None:
        while waiting:
            try:
                k, bounds = waiting.pop()
            except IndexError:  # another thread was quicker
                return
            results[k] = task(*bounds)

    started: list[None] = []
    ended: list[None] = []
    errors: list[BaseException] = []
    bell: SimpleQueue[None] = SimpleQueue()  # rings whenever a thread has ended

    def help_out() -> None:
        started.append(None)
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            ended.append(None)
            bell.put(None)

    def finish() -> None:
        _inside.set(False)
        waiting.clear()
        # Who has not started by now finds nothing to do: no need to wait until it wakes. One that
        # starts meanwhile rings as well, which is why what counts is how many have ended, and not
        # how often it rang.
        while len(ended) < len(started):
            try:
                bell.get()
            except KeyboardInterrupt as error:
                errors.append(error)

    jobs = _crew(limit - 1)  # not of another size for each number of slices: its threads stay
    try:
        try:
            _inside.set(True)
            for _ in range(size - 1):
                jobs.put(help_out)
            work()
        finally:
            finish()
    except BaseException:
        finish()  # the interruption may have come while it ran
        raise
    if errors:
        raise errors[0]
    return results
