"""BLAS on one thread, for products taken inside the slices of :func:`selfdict.kernels.threads.for_slices`."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> Any:
    return ThreadpoolController()  # a search through what is loaded, a millisecond: once


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread inside the ``with`` block.

    The slices share the threads already, and BLAS would make each product wait for all of them. It also makes the
    result of a product independent of the number of threads.
    """
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit
