"""Sums over blocks of columns in a fixed order: any number of threads gives the same bits."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices


def second_moments(M: Array) -> Array:
    """Return M Mᵀ (m, m) in float64, computed block by block."""
    columns_per_block = 2048

    def product(start: int, stop: int) -> Array:
        block = np.asarray(M[:, start:stop], dtype=np.float64)
        return np.asarray(block @ block.T)

    with single_threaded_blas():
        return sum_slices(product, M.shape[1], columns_per_block)


def transposed_product(A: Array, M: Any) -> Array:
    """Return Aᵀ M (q, n) for A (m, q) and a dense or sparse M (m, n), in slices of columns."""
    if issparse(M):
        return np.ascontiguousarray((M.T @ A).T)
    product = np.empty((A.shape[1], M.shape[1]), dtype=np.result_type(A, M))
    At = np.ascontiguousarray(A.T)

    def task(start: int, stop: int) -> None:
        np.matmul(At, M[:, start:stop], out=product[:, start:stop])

    columns_per_slice = 4096
    with single_threaded_blas():
        for_slices(task, M.shape[1], columns_per_slice)
    return product


def sum_slices(term: Callable[[int, int], Array], n_items: int, slice_size: int) -> Array:
    """Return the sum of ``term(start, stop)`` over all slices, in their order."""
    total: Array = np.zeros(())
    for part in in_order(term, n_items, slice_size):
        total = total + part
    return total


def in_order(term: Callable[[int, int], Any], n_items: int, slice_size: int) -> Iterator[Any]:
    """Yield ``term(start, stop)`` for all slices, in their order.

    At most 64 of the results are in memory at a time.
    """
    items_per_group = 64 * slice_size
    for first in range(0, n_items, items_per_group):

        def shifted_term(start: int, stop: int, first: int = first) -> Any:
            return term(first + start, first + stop)

        count = min(items_per_group, n_items - first)
        yield from for_slices(shifted_term, count, slice_size)
