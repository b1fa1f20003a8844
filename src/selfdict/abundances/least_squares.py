"""Nonnegative least squares for many columns, with sums that are free, near one, or equal to one.

All are solved exactly.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_floats, as_matrix
from selfdict.abundances.column_solver import (
    ColumnSolver,
    Fit,
    check_part,
    fit_columns,
    for_parts,
    with_digits,
)
from selfdict.compute.deadline import Deadline, predicted_seconds
from selfdict.kernels.columns import squared_norms

MANY_ENDMEMBERS = 30  # a fit of a single column by more of them takes milliseconds


def nnls(U: ArrayLike, M: ArrayLike, *, H0: ArrayLike | None = None) -> Array:
    """Return the H ≥ 0 that minimises ‖M − U H‖_F. Each column is solved exactly.

    Parameters
    ----------
    U : (m, r) array_like
        The dictionary, for example the pure pixels M(:, K). More columns than rows, duplicates and
        zero columns are allowed; a zero column has coefficient zero.
    M : (m, n) array_like or sparse array
        One right-hand side per column; a ``np.memmap`` is read a block of columns at a time.
    H0 : (r, n) array_like, optional
        A start, such as the solution of a nearby problem. It saves time and does not change the
        result. Only the positions of its positive entries matter.

    Returns
    -------
    (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64. The computation is in
        float64.

    Notes
    -----
    The columns of U are scaled to norm about one and reduced to a triangular matrix by QR. If its
    condition number is below 1e3, the active-set method works on its Gram matrix (with at most 12
    columns: block principal pivoting), otherwise on the triangular matrix itself, which does not
    square the condition number. From 1e5 on it works on U without the reduction, which is slower,
    but such a U would magnify the rounding errors of the reduction. If the solution is not unique,
    as with duplicates in U, one of the solutions is returned.

    Results agree with ``scipy.optimize.nnls`` to 1e-9 up to a condition number of 1e6. Beyond that
    both are less accurate, and these results are closer to the solution in exact arithmetic.

    Examples
    --------
    >>> from selfdict import nnls
    >>> nnls([[1.0, 1.0], [0.0, 1.0]], [[3.0, 1.0], [1.0, 2.0]])
    array([[2. , 0. ],
           [1. , 1.5]])
    """
    return fit_soft_sum(U, M, 0.0, H0=H0).H


def fit_soft_sum(
    U: ArrayLike,
    M: ArrayLike,
    stiffness: float,
    *,
    weights: Array | None = None,
    H0: ArrayLike | None = None,
    with_residuals: bool = False,
) -> Fit:
    """Return the H ≥ 0 that minimises ‖W(M − U H)‖² + λ a² Σ_j (Σ_i H_ij − 1)².

    W is the diagonal matrix of ``weights`` (m,), by default the identity. The unit a is the length
    of the longest column of WU, so λ ≥ 0, the stiffness, has none. λ = 0 is :func:`nnls`, λ = ∞ is
    :func:`fcls`. Residuals are those of M − U H, whatever the weights.
    """
    if math.isinf(stiffness):
        return fit_fixed_sum(U, M, weights=weights, H0=H0, with_residuals=with_residuals)
    plain, M, dtype = _check_pair(U, M)
    U = _weighted(plain, weights)
    r = U.shape[1]
    H0 = _check_start(H0, (r, M.shape[1]))
    norms = np.linalg.norm(U, axis=0)
    # The nearest powers of two, which divide without rounding.
    exponents = np.round(np.log2(norms, out=np.zeros_like(norms), where=norms > 0))
    scale = np.exp2(exponents)
    stacked = U / scale
    # A row of constants below U and below every pixel draws the sums to one.
    constants = np.zeros(0)
    if stiffness > 0:
        constants = np.full(1, math.sqrt(stiffness) * norms.max())
        stacked = np.vstack([U, np.full(r, constants[0])]) / scale
    Q, R = np.linalg.qr(stacked)
    R[:, ~stacked.any(axis=0)] = 0.0
    P: Array | None = _weighted(Q[: len(U)], weights)
    solver = ColumnSolver(R, P, constants @ Q[len(U) :], simplex=False)
    # Up to this condition number, the reduction by QR leaves ten digits.
    if solver.condition > 1e5:
        offset = np.concatenate([np.zeros(len(U)), constants])
        P = None
        if weights is not None:
            P = _weighted(np.eye(len(U), len(stacked)), weights)
        solver = ColumnSolver(stacked, P, offset, simplex=False)
    return fit_columns(solver, plain, M, dtype, scale[:, None], H0, with_residuals, weights)


def fcls(
    U: ArrayLike, M: ArrayLike, *, at_most: bool = False, H0: ArrayLike | None = None
) -> Array:
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
        result. Only the positions of its positive entries matter.

    Returns
    -------
    (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64. The computation is in
        float64.

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
    return fit_fixed_sum(U, M, at_most=at_most, H0=H0).H


def fit_fixed_sum(
    U: ArrayLike,
    M: ArrayLike,
    *,
    at_most: bool = False,
    weights: Array | None = None,
    H0: ArrayLike | None = None,
    with_residuals: bool = False,
) -> Fit:
    """Return what :func:`fcls` does for weighted rows, and residuals without the weights."""
    plain, M, dtype = _check_pair(U, M)
    r = plain.shape[1]
    H0 = _check_start(H0, (r, M.shape[1]))
    if at_most:  # the slack is the abundance of one more endmember, the origin
        plain = np.column_stack([plain, np.zeros(len(plain))])
        if H0 is not None:
            H0 = np.vstack([H0, 1.0 - H0.sum(axis=0)])
    U = _weighted(plain, weights)
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
    solver = ColumnSolver(R, _weighted(P, weights), Q[-1] - origin @ P, simplex=True)
    fit = fit_columns(solver, plain, M, dtype, np.ones((1, 1)), H0, with_residuals, weights)
    return fit._replace(H=fit.H[:r])


def _weighted(U: Array, weights: Array | None) -> Array:
    """Return the rows of U times their weights; None: all are one."""
    if weights is None:
        return U
    return np.asarray(U * weights[:, None])


def _check_pair(U: ArrayLike, M: ArrayLike) -> tuple[Array, Array, type]:
    """Return U in float64, M without reading it, and the dtype of what is computed from them."""
    U = as_matrix(U, "U")
    M = as_floats(M, sparse=True)
    if U.shape[0] != M.shape[0]:
        raise InputError(f"U and M must have equally many rows, got shapes {U.shape} and {M.shape}")
    return np.asarray(U, dtype=np.float64), M, np.result_type(U.dtype, M.dtype).type


def _check_start(H0: ArrayLike | None, shape: tuple[int, int]) -> Array | None:
    """Return the start as a matrix of the given shape, or None."""
    if H0 is None:
        return None
    H0 = as_floats(H0, "H0")
    if H0.shape != shape:
        raise InputError(f"H0 must have shape {shape}, got {H0.shape}")
    return H0


def column_residuals(U: ArrayLike, M: ArrayLike, H: ArrayLike) -> Array:
    """Return ‖m_j − U h_j‖₂ for every column, without holding M − U H.

    The residual itself is formed, a block of columns at a time in float64. The faster formula
    ‖m‖² − 2 hᵀUᵀm + hᵀUᵀU h loses all digits below 1e-8 ‖m‖. It is used only for sparse columns
    whose residual is at least 1e-3 ‖m‖.

    Parameters
    ----------
    U : (m, r) array_like
    M : (m, n) array_like or sparse array
        May be a ``np.memmap``.
    H : (r, n) array_like

    Returns
    -------
    (n,) ndarray of float64

    Examples
    --------
    >>> from selfdict.abundances import column_residuals
    >>> column_residuals([[1.0], [0.0]], [[2.0, 0.0], [0.0, 3.0]], [[2.0, 0.0]])
    array([0., 3.])
    """
    U, M, _ = _check_pair(U, M)
    H = as_floats(H, "H")
    if H.shape != (U.shape[1], M.shape[1]):
        raise InputError(f"H must have shape {(U.shape[1], M.shape[1])}, got {H.shape}")
    squares = np.zeros(M.shape[1])

    def task(start: int, stop: int) -> None:
        columns = slice(start, stop)
        part = M[:, columns]
        norms = squared_norms(part)
        check_part(M, start, stop, norms)
        if issparse(M):
            mixed = np.einsum("jk,kj->j", part.T @ U, H[:, columns])
            fitted = np.einsum("kj,kj->j", (U.T @ U) @ H[:, columns], H[:, columns])
            squares[columns] = norms - 2 * mixed + fitted
        squares[columns] = with_digits(squares[columns], norms, U, part, H[:, columns])

    for_parts(task, M)
    if not np.isfinite(squares).all():
        raise InputError("H contains NaN, infinity or values too large to compute with")
    return np.asarray(np.sqrt(squares))


def affords_fits(deadline: Deadline, n_fits: int, U: Array, M: Any) -> bool:
    """Whether there is time to fit all columns of M by those of U several times."""
    if deadline.left is None:
        return True
    if deadline.passed and U.shape[1] >= MANY_ENDMEMBERS:
        return False  # even a prediction takes long
    return deadline.affords(n_fits * predicted_seconds(lambda columns: nnls(U, columns), M))
