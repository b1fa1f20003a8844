"""Successive selection of columns: SPA, SNPA, XRAY, and the rule for ties of all peers."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix, as_rank, as_vector
from selfdict.abundances import column_residuals, fcls, nnls
from selfdict.kernels.columns import (
    column_norms,
    dense_columns,
    squared_norms,
    subtract_squares,
)

# Squared residual norms that agree to this relative difference are ties.
RESIDUAL_TIE = 1e-6


def negligible(M: Array) -> float:
    """Return the share of ‖m_j‖² below which a squared residual is rounding error in M's dtype."""
    return float((16 * np.finfo(M.dtype).eps) ** 2 * M.shape[0])


def first_largest(residuals: Array, norms: Array) -> int:
    """Return the position of the largest residual; among ties, the larger norm, then the first."""
    tied = np.flatnonzero(residuals >= (1 - RESIDUAL_TIE) * residuals.max())
    return int(tied[np.argmax(norms[tied])])


def enough(selected: list[int], r: int, reason: str) -> Array:
    """Return the selected indices as an array; raise if there are fewer than r."""
    if len(selected) < r:
        if not selected:
            raise InputError("all points are zero: there is none to select")
        raise InputError(f"r must be at most {len(selected)} for these data, got {r}: {reason}")
    return np.array(selected, dtype=np.intp)


def spa(M: ArrayLike, r: int, *, allow_fewer: bool = False) -> Array:
    """Select r columns of M by successive projection.

    Each step selects the column with the largest residual and projects all columns onto the
    orthogonal complement of it. Squared residual norms that agree to 1e-6 relative are ties; the
    column with the larger original norm wins, then the one that comes first.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        One data point per column, in any memory order; it may be a ``np.memmap``. Sparse data is
        not made dense.
    r : int
        How many columns to select.
    allow_fewer : bool, default=False
        If all columns lie in the span of k < r selected ones, return these k instead of raising.

    Returns
    -------
    (r,) ndarray of int
        Indices of the selected columns in order of selection.

    Raises
    ------
    ValueError
        If the numerical rank of M is below r (unless ``allow_fewer``).

    Notes
    -----
    The residuals are never formed. With u the direction of the residual selected last, ‖r_j‖² falls
    by (uᵀm_j)², which takes one matrix-vector product per step. A bound on the rounding error of
    this subtraction is kept for each column. The residuals of all columns that may be the largest
    within this bound are computed explicitly, so the selection is that of explicit residuals.

    Examples
    --------
    >>> import selfdict
    >>> selfdict.spa([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5]], 2)
    array([0, 1])
    """
    M = as_matrix(M, sparse=True)
    if issparse(M):
        # The bound on the rounding grows with m, which is large for sparse data.
        M = M.astype(np.float64)
    m, n = M.shape
    norms = squared_norms(M)
    r = as_rank(r, n)
    # Squared; −inf once a column is selected or known to lie in the span.
    residuals = norms.copy()
    # Bounds on the errors of the residuals, and of the products uᵀm_j.
    slack = m * np.finfo(np.float64).eps * norms
    rounding = (m + 1) * np.finfo(M.dtype).eps * np.sqrt(norms)
    U = np.empty((m, 0))
    selected: list[int] = []
    while True:
        index = _largest(M, U, residuals, slack)
        if index < 0:
            break
        selected.append(index)
        residuals[index] = -np.inf
        if len(selected) == r:
            break
        u = _project_out(dense_columns(M, [index]).T.astype(np.float64), U)[0]
        U = np.column_stack([U, u / np.linalg.norm(u)])
        # OpenBLAS has been seen to flag an invalid value here, though all of them are finite.
        with np.errstate(invalid="ignore"):
            products = U[:, -1].astype(M.dtype) @ M
        subtract_squares(residuals, slack, products, rounding)
    if allow_fewer:
        r = len(selected)
    return enough(selected, r, f"all points lie in the span of {len(selected)} of them")


def _largest(M: Array, U: Array, residuals: Array, slack: Array) -> int:
    """Return the column with the largest residual, or −1; correct what is computed explicitly."""
    while True:
        # Low enough that every column which may tie with the largest is a candidate.
        threshold = (1 - 2 * RESIDUAL_TIE) * max(0.0, float((residuals - slack).max()))
        most = residuals + slack
        candidates = np.flatnonzero((most >= threshold) & (most > 0.0))
        if not candidates.size:
            return -1
        exact, norms = _exact(M, U, candidates)
        exact[exact <= negligible(M) * norms] = -np.inf
        residuals[candidates] = exact
        slack[candidates] = 8 * M.shape[0] * np.finfo(np.float64).eps * norms
        # Too small only if a candidate turned out to lie in the span: then search again.
        if exact.max() * (1 - RESIDUAL_TIE) >= threshold and exact.max() > 0:
            return int(candidates[first_largest(exact, norms)])


def _exact(M: Array, U: Array, columns: Array) -> tuple[Array, Array]:
    """Return ‖m_j − U Uᵀ m_j‖² and ‖m_j‖² of some columns, the same bits for equal columns."""
    if issparse(M):
        part = M[:, columns]
        norms = squared_norms(part)
        exact = norms - ((part.T @ U) ** 2).sum(axis=1)
        # Below this share of ‖m_j‖², too many digits have cancelled in the difference.
        cancelled = np.flatnonzero(exact < 1e-6 * norms)
        exact[cancelled] = _explicit(M, U, columns[cancelled])[0]
        return exact, norms
    return _explicit(M, U, columns)


def _explicit(M: Array, U: Array, columns: Array) -> tuple[Array, Array]:
    """Return the same from the residuals themselves, block by block."""
    exact = np.empty(columns.size)
    norms = np.empty(columns.size)
    entries = 1 << 20  # of the columns that are made dense, in float64, at a time
    block = max(16, entries // M.shape[0])
    for start in range(0, columns.size, block):
        part = slice(start, start + block)
        rows = np.ascontiguousarray(dense_columns(M, columns[part]).T, dtype=np.float64)
        norms[part] = np.einsum("ij,ij->i", rows, rows)
        rows = _project_out(rows, U)
        exact[part] = np.einsum("ij,ij->i", rows, rows)
    return exact, norms


def _project_out(rows: Array, U: Array) -> Array:
    """Return rows − rows U Uᵀ, projected twice for full accuracy."""
    for _ in range(2):
        rows = rows - (rows @ U) @ U.T
    return rows


def snpa(M: ArrayLike, r: int) -> Array:
    """Select r columns of M by successive nonnegative projection.

    Like :func:`spa`, with the same rule for ties, but the residual of a column is its difference to
    the nearest point of the convex hull of the selected columns and the origin: m_j − M(:, K) h
    with h ≥ 0 and Σh ≤ 1. It does not need linearly independent columns, so r may exceed the rank
    of M.

    Parameters
    ----------
    M, r
        See :func:`spa`.

    Returns
    -------
    (r,) ndarray of int
        Indices of the selected columns in order of selection.

    Raises
    ------
    ValueError
        If all columns lie in the hull of fewer than r of them and the origin.

    Examples
    --------
    >>> import selfdict
    >>> selfdict.snpa([[2.0, 0.0, 1.0, 0.9], [0.0, 1.0, 0.5, 0.9]], 3)
    array([0, 1, 3])
    """
    M = as_matrix(M, sparse=True)
    r = as_rank(r, M.shape[1])
    norms = squared_norms(M)
    residuals = norms.copy()
    selected: list[int] = []
    H = np.empty((0, M.shape[1]))
    while True:
        # What is left of a column in the hull is rounding, and it must not be selected for that.
        residuals[residuals <= negligible(M) * norms] = 0.0
        residuals[selected] = 0.0
        if not residuals.any():
            break
        selected.append(first_largest(residuals, norms))
        if len(selected) == r:
            break
        _, H, residuals = _fit(M, selected, H, partial(fcls, at_most=True))
    reason = f"all points lie in the convex hull of {len(selected)} of them and the origin"
    return enough(selected, r, reason)


def xray(M: ArrayLike, r: int, *, p: ArrayLike | None = None) -> Array:
    """Select r columns of M, one extreme ray of their cone after another (XRAY, variant "max").

    Let R = M − M(:, K) H, where H ≥ 0 are the best coefficients for the columns K selected so far.
    Each step takes the column i with the largest residual and selects the column j that maximises
    R(:, i)ᵀ m_j / ‖m_j‖₁. Among ties the first one is taken. Like :func:`snpa` it can select more
    columns than the rank of M.

    The method as published divides by pᵀm_j with any positive p. For nonnegative M and p = 1 this
    is the ℓ1 norm, which can also be used for columns of any sign.

    Parameters
    ----------
    M, r
        See :func:`spa`.
    p : (m,) array_like, optional
        Positive. If given, divide by pᵀm_j instead of ‖m_j‖₁; columns with pᵀm_j ≤ 0 are never
        selected.

    Returns
    -------
    (r,) ndarray of int
        Indices of the selected columns in order of selection.

    Raises
    ------
    ValueError
        If all columns lie in the cone of fewer than r of them, or fewer than r may be selected.

    Examples
    --------
    >>> import selfdict
    >>> selfdict.xray([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5]], 2)
    array([0, 1])
    """
    M = as_matrix(M, sparse=True)
    r = as_rank(r, M.shape[1])
    norms = squared_norms(M)
    lengths = column_norms(M).astype(np.float64)
    if p is not None:
        p = as_vector(p, M.shape[0], "p", np.float64, positive=True)
        lengths = (p / p.max()) @ M
    residuals = norms
    selected: list[int] = []
    U = np.empty((M.shape[0], 0))
    H = np.empty((0, M.shape[1]))
    while True:
        i = int(np.argmax(np.where(residuals > negligible(M) * norms, residuals, 0.0)))
        if residuals[i] <= negligible(M) * norms[i]:
            break
        residual = dense_columns(M, [i])[:, 0] - U @ H[:, i]
        scores = (residual.astype(M.dtype) @ M).astype(np.float64)
        scores = np.divide(scores, lengths, out=np.full(M.shape[1], -np.inf), where=lengths > 0)
        scores[selected] = -np.inf
        if scores.max() == -np.inf:
            break
        selected.append(int(np.argmax(scores)))
        if len(selected) == r:
            break
        U, H, residuals = _fit(M, selected, H, nnls)
    reason = f"all points lie in the cone of {len(selected)} of them"
    if p is not None:
        reason += ", or have pᵀm ≤ 0"
    return enough(selected, r, reason)


def _fit(
    M: Array, selected: list[int], H: Array, solve: Callable[..., Array]
) -> tuple[Array, Array, Array]:
    """Return the selected columns, the abundances of all columns, and their squared residuals."""
    # In float64, so that the abundances are, also if M is float32.
    U = dense_columns(M, selected).astype(np.float64)
    # Start from the abundances of the last step, and none of the new column.
    H = solve(U, M, H0=np.vstack([H, np.zeros(M.shape[1])]))
    return U, H, column_residuals(U, M, H) ** 2
