"""Abundances that are nonnegative and sum to one (``fcls``), or nearly so (``soft_sum``)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.abundances.blocks import (
    ColumnSolver,
    check_pair,
    check_start,
    fit_columns,
)
from selfdict.abundances.nnls import near_norms, nnls


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
        result. Only where it is positive matters.

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
    U, M, dtype = check_pair(U, M)
    r = U.shape[1]
    H0 = check_start(H0, (r, M.shape[1]))
    if at_most:  # the slack is the abundance of one more endmember, the origin
        U = np.column_stack([U, np.zeros(len(U))])
        if H0 is not None:
            H0 = np.vstack([H0, 1.0 - H0.sum(axis=0)])
    return fit_columns(_solver(U), M, H0, dtype)[:r]


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
    longest = np.linalg.norm(U, axis=0).max()
    if longest == 0:
        raise InputError("U must not be zero")
    scale = near_norms(U)
    solver = _soft_solver(U, scale, math.sqrt(stiffness) * longest)
    return fit_columns(solver, M, None, dtype, scale)


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
