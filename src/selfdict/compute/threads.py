"""Threads, of the compiled kernels and of BLAS.

A kernel is a serial function that has released the GIL and works on the slice ``[start, stop)`` of
its items. This module distributes the slices over a few threads. The slices depend on the problem
alone, never on the number of threads, so sums taken slice by slice give the same bits on one thread
and on many. Products inside the slices use one thread of BLAS.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from numbers import Integral
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import threadpoolctl

from selfdict._errors import InputError

_lock = Lock()
# The limits in force, in the order in which they were set, by any thread.
_limits: list[Any] = []

if hasattr(os, "register_at_fork"):
    # A forked child must not find the lock held by a thread that does not exist there.
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


@cache
def _controller() -> Any:
    """Find the BLAS libraries that are loaded; once, since the search takes a millisecond."""
    import scipy.linalg  # noqa: F401 (loads SciPy's BLAS, which could not be found otherwise)

    return threadpoolctl.ThreadpoolController()


@contextmanager
def blas_limit(limit: int) -> Iterator[None]:
    """Let BLAS use ``limit`` threads inside the ``with`` block."""
    # The number of threads belongs to the process, and threads leave their blocks in any order. A
    # thread that leaves takes back the limit that was set last, so that the last thread to leave
    # restores what was in force before the first block.
    with _lock:
        _limits.append(_controller().limit(limits=limit, user_api="blas"))
        _let_other_threads_change_the_limit()
    try:
        yield
    finally:
        with _lock:
            _limits.pop().restore_original_limits()
            _let_other_threads_change_the_limit()


def _let_other_threads_change_the_limit() -> None:
    """Allow what newer versions of threadpoolctl allow only to the thread that set a limit."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Keep BLAS to one thread inside the ``with`` block."""
    # The slices share the threads already, and BLAS would make each product wait for all of them.
    # One thread also makes a product independent of the number of threads.
    return blas_limit(1)


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
        At least 1; None changes nothing. The limit is at most the larger of 64 and four times the
        number of available cores.

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
    """Start ``size`` worker threads, which never end, and return the queue of their jobs."""
    # A plain queue costs less than the futures of an executor.
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
    """Return the length of slices that cut items into an even number of equal parts."""
    # Two threads then end together. Few items are done before another thread is awake.
    if n_items <= uncut:
        return max(1, n_items)
    pairs = -(-n_items // (2 * at_most))
    return -(-n_items // (2 * pairs))


def for_slices(task: Callable[[int, int], Any], n_items: int, slice_size: int) -> list[Any]:
    """Call ``task(start, stop)`` for slices of ``range(n_items)``; return the results in order."""
    # The calling thread takes slices like the workers. On an interruption the running slices are
    # waited for, so that nothing writes into an array afterwards. A task that calls this function
    # again runs its slices itself: workers that all wait for other workers would wait for ever.
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
