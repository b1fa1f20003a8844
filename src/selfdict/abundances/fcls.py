"""Abundances that are nonnegative and sum to one (``fcls``), or nearly so (``soft_sum``)."""

import math
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.abundances.blocks import (
    ColumnSolver,
    check_out,
    check_pair,
    check_start,
    for_blocks,
)
from selfdict.abundances.nnls import nnls
from selfdict.kernels.columns import squared_norms


@overload
def fcls(
    U: ArrayLike,
    M: ArrayLike,
    *,
    at_most: bool = ...,
    H0: ArrayLike | None = ...,
    out: Array | None = ...,
    block: int | None = ...,
    return_kkt: Literal[False] = ...,
) -> Array: ...
@overload
def fcls(
    U: ArrayLike,
    M: ArrayLike,
    *,
    at_most: bool = ...,
    H0: ArrayLike | None = ...,
    out: Array | None = ...,
    block: int | None = ...,
    return_kkt: Literal[True],
) -> tuple[Array, Array]: ...
def fcls(
    U: ArrayLike,
    M: ArrayLike,
    *,
    at_most: bool = False,
    H0: ArrayLike | None = None,
    out: Array | None = None,
    block: int | None = None,
    return_kkt: bool = False,
) -> Array | tuple[Array, Array]:
    """Return the H ≥ 0 with columns that sum to one which minimises ‖M − U H‖_F.

    Each column is solved exactly.

    Parameters
    ----------
    U : (m, r) array_like
        The endmembers. More columns than rows, duplicates and a zero column (shade) are allowed.
    M : (m, n) array_like or sparse array
        One pixel per column; a ``np.memmap`` is read a block of columns at a time.
    at_most : bool
        Let the sums be at most one instead: the projection onto the hull of U and the origin that
        SNPA uses. A column equals that of ``nnls`` if the latter has a sum of at most one, else
        that of ``fcls``.
    H0 : (r, n) array_like, optional
        A start, such as the solution of a nearby problem. It saves time and does not change the
        result. Only where it is positive matters.
    out : (r, n) ndarray of floats, optional
        Where to write H, for example a ``np.memmap``.
    block : int, optional
        How many columns a thread reads at a time; by default about 2 MiB of float64.
    return_kkt : bool
        Whether to return the KKT residuals as well.

    Returns
    -------
    H : (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64. The computation is in
        float64.
    kkt : (n,) ndarray of float64
        Only with ``return_kkt``. For column j the largest violation, over i, of g_i ≤ λ and, where
        h_i > 0, of g_i = λ, with g = Uᵀ(m_j − U h_j) and λ = gᵀh_j. The unit is a (a + ‖m_j‖) with
        a = max ‖u_i‖; the violation is that before H is rounded to float32. With ``at_most``, the
        slack 1 − Σh counts as the abundance of an endmember 0.

    Notes
    -----
    Under Σh = 1, subtracting one endmember from U and M and appending a row of ones to both does
    not change the solution. Affinely independent columns of U then become linearly independent, and
    the active sets work as for ``nnls``, with one multiplier for the sum. No penalty weight is
    involved.

    Examples
    --------
    >>> from selfdict import fcls
    >>> fcls([[1.0, 0.0], [0.0, 1.0]], [[0.75, 2.0], [0.25, 0.0]])
    array([[0.75, 1.  ],
           [0.25, 0.  ]])
    >>> fcls([[1.0, 0.0], [0.0, 1.0]], [[0.25, 2.0], [0.25, 0.0]], at_most=True)
    array([[0.25, 1.  ],
           [0.25, 0.  ]])
    """
    U, M, dtype = check_pair(U, M)
    r = U.shape[1]
    shape = (r, M.shape[1])
    H0 = check_start(H0, shape)
    H = check_out(out, shape, dtype)
    if at_most:  # the slack is the abundance of one more endmember, the origin
        U = np.column_stack([U, np.zeros(len(U))])
        if H0 is not None:
            H0 = np.vstack([H0, 1.0 - H0.sum(axis=0)])
    solver = _solver(U)
    kkt = np.zeros(M.shape[1])

    def task(columns: slice, m: Array) -> None:
        start = None
        if H0 is not None:
            start = H0[:, columns]
        X = solver(m, start)
        H[:, columns] = X[:, :r].T
        if return_kkt:
            kkt[columns] = _kkt_residuals(U, m, X.T)

    for_blocks(task, M, block)
    if return_kkt:
        return H, kkt
    return H


def _solver(U: Array) -> ColumnSolver:
    """Return the solver for U with one endmember subtracted and a row of ones below."""
    # The endmember in the middle. The mean itself would not do: if all endmembers are equal, it
    # differs from them by rounding.
    origin = U[:, np.linalg.norm(U - U.mean(axis=1, keepdims=True), axis=0).argmin()]
    centred = U - origin[:, None]
    scale = np.linalg.norm(centred, axis=0).max()
    if not scale > 0:  # all endmembers are equal
        scale = 1.0
    Q, R = np.linalg.qr(np.vstack([centred / scale, np.ones(U.shape[1])]))
    # The right-hand side (m − origin) / scale with a one below, reduced by Qᵀ: Pᵀm + offset.
    P = Q[:-1] / scale
    return ColumnSolver(R, P, Q[-1] - origin @ P, simplex=True)


def _kkt_residuals(U: Array, M: Array, H: Array) -> Array:
    """Return the violations that :func:`fcls` documents, one per column."""
    largest = np.linalg.norm(U, axis=0).max()
    G = U.T @ (M - U @ H)
    G -= (G * H).sum(axis=0)  # λ, since the abundances sum to one
    violation = np.where(H > 0, np.abs(G), np.maximum(G, 0.0))
    size = largest * (largest + np.sqrt(squared_norms(M)))
    residuals: Array = violation.max(axis=0) / np.where(size > 0, size, 1.0)
    return residuals


def soft_sum(U: ArrayLike, M: ArrayLike, stiffness: float) -> Array:
    """Return the H ≥ 0 that minimises ‖M − U H‖² + λ a² Σ_j (Σ_i H_ij − 1)².

    The unit a is the length of the longest column of U, so λ has none. With λ = 0 this is
    :func:`selfdict.nnls`, with λ = ∞ :func:`selfdict.fcls`. Each column is solved exactly.

    Parameters
    ----------
    U : (m, r) array_like
        Spectra, not all of them zero.
    M : (m, n) array_like or sparse array
        Pixels.
    stiffness : float
        λ ≥ 0.

    Returns
    -------
    (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64.

    Examples
    --------
    >>> from selfdict.abundances import fcls
    >>> soft_sum([[1.0, 0.0], [0.0, 1.0]], [[1.5], [0.0]], stiffness=1.0)
    array([[1.25],
           [0.  ]])
    """
    if not stiffness >= 0:
        raise InputError(f"stiffness must be at least 0; got {stiffness}")
    if stiffness == 0:
        return nnls(U, M)
    if math.isinf(stiffness):
        return fcls(U, M)
    U, M, dtype = check_pair(U, M)
    norms = np.linalg.norm(U, axis=0)
    if not norms.any():
        raise InputError("U must not be zero")
    # Powers of two bring the columns to about the same length, which changes no digit.
    scale = np.exp2(np.round(np.log2(norms, out=np.zeros_like(norms), where=norms > 0)))
    solver = _soft_solver(U, scale, math.sqrt(stiffness) * norms.max())
    H: Array = np.empty((U.shape[1], M.shape[1]), dtype=dtype)

    def task(columns: slice, m: Array) -> None:
        H[:, columns] = (solver(m) / scale).T

    for_blocks(task, M, None)
    return H


def _soft_solver(U: Array, scale: Array, row: float) -> ColumnSolver:
    """Return the solver for U / scale with a row of constants below U and below every pixel."""
    stacked = np.vstack([U, np.full(U.shape[1], row)]) / scale
    Q, R = np.linalg.qr(stacked)
    solver = ColumnSolver(R, Q[:-1], row * Q[-1], simplex=False)
    # Up to this condition number, the reduction by QR leaves ten digits.
    if solver.condition <= 1e5:
        return solver
    pad = np.eye(len(U), len(stacked))
    offset = np.zeros(len(stacked))
    offset[-1] = row
    return ColumnSolver(stacked, pad, offset, simplex=False)
