"""How many threads BLAS may use.

Products inside the slices of :func:`selfdict.compute.threads.for_slices` use one.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from threading import Lock
from typing import Any

import threadpoolctl

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
    """Let BLAS use ``limit`` threads inside the ``with`` block.

    The number of threads belongs to the process, and threads leave their blocks in any order. A
    thread that leaves takes back the limit that was set last, so that the last thread to leave
    restores what was in force before the first block.
    """
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
    """Keep BLAS to one thread inside the ``with`` block.

    The slices share the threads already, and BLAS would make each product wait for all of them. One
    thread also makes the result of a product independent of the number of threads.
    """
    return blas_limit(1)
