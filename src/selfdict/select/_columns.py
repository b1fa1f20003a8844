"""What the selection methods share: norms that vouch for finite data, the tie rule, the word on too few."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from selfdict._validation import Array, all_finite
from selfdict.kernels.blas import single_threaded_blas
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.threads import for_slices

# Squared residual norms this close, relative, are ties.
TIE = 1e-6


def finite_squared_norms(M: Array) -> Array:
    """Return ‖m_j‖² of every column in float64, or raise where M is not finite, in one pass."""
    norms = squared_norms(M)
    require_finite(norms, M)
    return norms


def require_finite(sums: Array, M: Array) -> None:
    """Raise where sums of squares of M are not finite, and say whether M was not."""
    if not np.isfinite(sums).all():
        if all_finite(M):
            raise ValueError("the squares of the entries of M overflow; divide M by its largest entry first")
        raise ValueError("M contains NaN or infinity")


def negligible(M: Array) -> float:
    """Return the share of ‖m_j‖² below which a squared residual is rounding error of M's precision."""
    return float((16 * np.finfo(M.dtype).eps) ** 2 * M.shape[0])


def first_largest(residuals: Array, norms: Array) -> int:
    """Return the position of the largest residual; among ties, of the larger norm, then the first."""
    tied = np.flatnonzero(residuals >= (1 - TIE) * residuals.max())
    return int(tied[np.argmax(norms[tied])])


def enough(selected: list[int], r: int, reason: str) -> Array:
    """Return the selected indices as an array, or say why there are fewer than r."""
    if len(selected) < r:
        raise ValueError(f"r must be at most {len(selected)} for this M, got {r}: {reason}")
    return np.array(selected, dtype=np.intp)


def second_moments(M: Array) -> Array:
    """Return M Mᵀ (m, m) in float64, a block of columns at a time."""

    def product(start: int, stop: int) -> Array:
        block = np.asarray(M[:, start:stop], dtype=np.float64)
        return np.asarray(block @ block.T)

    with single_threaded_blas():
        return sum_slices(product, M.shape[1], 2048)


def sum_slices(term: Callable[[int, int], Array], n_items: int, slice_size: int) -> Array:
    """Return the sum of ``term(start, stop)`` over all slices, in their order."""
    total: Array = np.zeros(())
    for part in in_order(term, n_items, slice_size):
        total = total + part
    return total


def in_order(term: Callable[[int, int], Any], n_items: int, slice_size: int) -> Iterator[Any]:
    """Yield ``term(start, stop)`` for all slices, in their order, with at most 64 of them in memory."""
    group = 64 * slice_size
    for first in range(0, n_items, group):
        count = min(group, n_items - first)
        yield from for_slices(lambda a, b: term(first + a, first + b), count, slice_size)  # noqa: B023 (called at once)
