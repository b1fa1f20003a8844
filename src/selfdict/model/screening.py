"""Which rows of X should open: their scores, in tiles, for any rows and any columns.

With the residual R = M − M X and θ_j = s_j r_j, row i may stay zero iff

    σ_i = m_iᵀθ_i + Σ_{j≠i} (w_j/w_i) max(0, m_iᵀθ_j) ≤ μ p_i.

With rows and columns scaled to w = 1 this is, apart from the own column, a plain sum of positive
parts; atoms of another dictionary have no own column. It is taken of tiles that are still in the
cache of the core that multiplied them; where M has few rows (bands, or what
:func:`selfdict.compress` leaves of them), without storing the tiles at all.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices
from selfdict.kernels.screening import (
    add_positive_differences,
    add_positive_products,
    add_positive_sums,
    pack,
)

ROWS, COLUMNS = 256, 1024  # of a tile
FEW = 32  # features up to which BLAS would spend more time on storing the products than on taking them


PositiveSums = Callable[
    [Array, Array | None, Any], Array
]  # of θ, rows, and the dtype of the product


def row_scores(
    M: Array,
    theta: Array,
    w: Array,
    D: Array | None = None,
    v: Array | None = None,
    place: Any = None,
) -> Array:
    """Return σ_i(θ) of every row i in float64; 0 where the weight of the atom is 0.

    Parameters
    ----------
    M : (m, n) ndarray
    theta : (m, n) ndarray of float64
    w : (n,) ndarray of float64
    D, v : (m, d) and (d,) ndarray, optional
        The atoms and their weights; by default the columns of M and w.
    place : torch.device or None
        Where to take the product; None for the CPU.
    """
    atoms, weights = (M, w) if D is None or v is None else (D, v)
    rows = np.flatnonzero(weights > 0)
    scores = np.zeros(weights.size)
    sums = screener(atoms, weights, place)
    scores[rows] = sums(theta * w, None if rows.size == weights.size else rows, np.float64)
    if D is None:
        own = np.einsum("ij,ij->j", M, theta, dtype=np.float64)
        scores[rows] += np.minimum(own[rows], 0.0)
    return scores


def screener(D: Array, v: Array, place: Any) -> PositiveSums:
    """Return :func:`positive_sums` for some atoms and weights, on the CPU or on a device."""
    if place is None:
        return partial(positive_sums, D, v)
    from selfdict.gpu.screening import Screen

    return Screen(D, v, place).positive_sums


def positive_sums(D: Array, v: Array, theta: Array, rows: Array | None, dtype: Any) -> Array:
    """Return Σ_j max(0, (d_i/v_i)ᵀθ_j) for the rows i; the product is taken in ``dtype``, the sum in float64.

    Parameters
    ----------
    D : (m, d) ndarray
        The atoms: M itself, or another dictionary.
    v : (d,) ndarray
        Positive weights.
    theta : (m, l) ndarray of float64
    rows : (k,) ndarray of int or None
        The rows to score; None for all d.
    dtype : float32 or float64
    """
    count = D.shape[1] if rows is None else len(rows)
    unit = 1.0
    if dtype == np.float32:  # far from overflow, whatever the unit of M
        unit = float(np.abs(theta).max(initial=0.0)) or 1.0
        theta = (theta / unit).astype(np.float32)
    sums = np.zeros(count)
    if len(D) <= FEW:
        _few_features(D, v, theta, rows, sums, dtype)
        return unit * sums

    def task(start: int, stop: int) -> None:
        index = slice(start, stop) if rows is None else rows[start:stop]
        left = np.ascontiguousarray((D[:, index] / v[index]).T, dtype=dtype)
        buffer = np.empty((stop - start) * min(COLUMNS, theta.shape[1]), dtype)
        for first in range(0, theta.shape[1], COLUMNS):
            right = theta[:, first : first + COLUMNS]
            V = buffer[: len(left) * right.shape[1]].reshape(len(left), -1)
            np.matmul(left, right, out=V)
            add_positive_sums(V, sums[start:stop])

    with single_threaded_blas():
        for_slices(task, count, ROWS)
    return unit * sums


def _few_features(
    D: Array, v: Array, theta: Array, rows: Array | None, sums: Array, dtype: Any
) -> None:
    """Add the positive sums of :func:`positive_sums` to ``sums``, multiplied and added up in one kernel."""
    packed = pack(theta, dtype)

    def task(start: int, stop: int) -> None:
        index = slice(start, stop) if rows is None else rows[start:stop]
        count = stop - start
        left, out = (
            np.zeros((count + count % 2, packed.shape[1]), dtype),
            np.zeros(count + count % 2),
        )
        left[:count, : len(D)] = (D[:, index] / v[index]).T
        add_positive_products(left, packed, out)
        sums[start:stop] = out[:count]

    for_slices(task, len(sums), ROWS)


def gram(M: Array, w: Array) -> Array:
    """Return the products ŷ_iᵀŷ_j of all points ŷ = m/w, (n, n), for M (m, n) and positive weights w (n,)."""
    Y = M / w
    K = np.empty((w.size, w.size))

    def task(start: int, stop: int) -> None:
        np.matmul(Y[:, start:stop].T, Y[:, start:], out=K[start:stop, start:])
        K[stop:, start:stop] = K[start:stop, stop:].T

    with single_threaded_blas():
        for_slices(task, w.size, ROWS)
    return K


def gram_sums(K: Array, C: Array, Z: Array, weight: Array) -> Array:
    """Return Σ_j ω_j max(0, ŷ_iᵀŷ_j − c_iᵀz_j) for all i, given K = :func:`gram`, C and Z (n, k) and ω (n,).

    With the atoms D of a working set and C = ŶᵀD this is Σ_j ω_j max(0, ŷ_iᵀ(ŷ_j − D z_j)): k
    operations a column for a score, where the residual takes as many as there are features.
    """
    sums = np.zeros(len(C))

    def task(start: int, stop: int) -> None:
        add_positive_differences(K[start:stop], C[start:stop] @ Z.T, weight, sums[start:stop])

    with single_threaded_blas():
        for_slices(task, len(C), ROWS)
    return sums
