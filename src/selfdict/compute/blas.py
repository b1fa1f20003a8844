"""How many threads BLAS may use: one, for products inside the slices of :func:`selfdict.compute.threads.for_slices`."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from threading import Lock
from typing import Any

import threadpoolctl

_lock = Lock()
_limits: list[Any] = []  # in force, in the order in which they were set, by whichever thread

if hasattr(
    os, "register_at_fork"
):  # a child shall not find the lock held by a thread it does not have
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 (only what is loaded is found)

    return (
        threadpoolctl.ThreadpoolController()
    )  # a search through what is loaded, a millisecond: once


@contextmanager
def blas_limit(limit: int) -> Iterator[None]:
    """Let BLAS use ``limit`` threads inside the ``with`` block.

    The number belongs to the process, and threads leave their blocks in any order: who leaves takes
    back the limit that was set last, so that the last one to leave restores what was before the
    first.
    """
    with _lock:
        _limits.append(_libraries().limit(limits=limit, user_api="blas"))
        _hand_over()
    try:
        yield
    finally:
        with _lock:
            _limits.pop().restore_original_limits()
            _hand_over()


def _hand_over() -> None:
    """Let other threads change what this one has set, which newer versions of threadpoolctl allow to nobody else."""
    openblas: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(openblas, "clear_controlling_thread"):
        openblas.clear_controlling_thread()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Keep BLAS to one thread inside the ``with`` block.

    The slices share the threads already, and BLAS would make each product wait for all of them. It
    also makes the result of a product independent of the number of threads.
    """
    return blas_limit(1)
