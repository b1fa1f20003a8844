"""BLAS on one thread, for products taken inside the slices of :func:`selfdict.kernels.threads.for_slices`."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users = 0
_limit: Any = None


@cache
def _controller() -> Any:
    return ThreadpoolController()  # looking through the loaded libraries takes a millisecond: once


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread inside the ``with`` block, since the slices are shared among threads already.

    The number of threads belongs to the whole process, so it is set by the first of several blocks that
    overlap and given back by the last.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
