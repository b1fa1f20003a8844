"""The residual of each column for a given dictionary and its coefficients."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix
from selfdict.abundances.blocks import check_pair, for_blocks
from selfdict.compute.scaling import (
    column_exponents,
    times_power_of_two,
    times_powers_of_two,
    unusual_exponent,
)
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns


def column_residuals(
    U: ArrayLike, M: ArrayLike, H: ArrayLike, *, block: int | None = None
) -> Array:
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
    block : int, optional
        How many columns a thread reads at a time; by default about 2 MiB of float64.

    Returns
    -------
    (n,) ndarray of float64

    Examples
    --------
    >>> from selfdict.abundances import column_residuals
    >>> column_residuals([[1.0], [0.0]], [[2.0, 0.0], [0.0, 3.0]], [[2.0, 0.0]])
    array([0., 3.])
    """
    U, M, _ = check_pair(U, M)
    H = as_matrix(H, "H", finite=False)
    if H.shape != (U.shape[1], M.shape[1]):
        raise InputError(f"H must have shape {(U.shape[1], M.shape[1])}, got {H.shape}")
    norms = np.empty(M.shape[1])

    def task(columns: slice, m: Array) -> None:
        h = H[:, columns]
        squares = _squares(U, m, h)
        norms[columns] = np.sqrt(squares)
        # Squares that have left the range, or lost digits below it; zero is such a one, too.
        unusual = np.flatnonzero(~((squares > 2.0**-900) & (squares < np.inf)))
        if unusual.size:
            norms[columns][unusual] = _scaled_norms(U, m[:, unusual], h[:, unusual])

    for_blocks(task, M, block)
    if not np.isfinite(norms).all():
        raise InputError("M or H contains NaN or infinity, or values too large to compute with")
    return norms


def _squares(U: Array, M: Any, H: Array) -> Array:
    """Return ‖m_j − U h_j‖² of dense or sparse columns."""
    if issparse(M):
        return _sparse_squares(U, M, H)
    residual = M - U @ H
    squares: Array = np.einsum("ij,ij->j", residual, residual)
    return squares


def _scaled_norms(U: Array, M: Any, H: Array) -> Array:
    """Return ‖m_j − U h_j‖ of columns of any size."""
    # Divided by powers of two, so that the largest of all entries of a column and of what is
    # subtracted from it is about one.
    atoms = unusual_exponent(U)
    parts = column_exponents(H) + atoms
    exponents = np.maximum(column_exponents(M), parts)
    U = times_power_of_two(U, -atoms)
    M = times_powers_of_two(dense_columns(M, slice(None)), -exponents)
    H = times_powers_of_two(H.astype(np.float64), atoms - exponents)
    residual = M - U @ H
    # A residual may be much smaller than what it is the difference of.
    further = column_exponents(residual)
    residual = times_powers_of_two(residual, -further)
    squares = np.einsum("ij,ij->j", residual, residual)
    return times_powers_of_two(np.sqrt(squares), exponents + further)


def _sparse_squares(U: Array, M: Any, H: Array) -> Array:
    """Return ‖m_j − U h_j‖² of sparse columns: by products, or explicitly where these cancel."""
    norms = squared_norms(M)
    mixed = np.einsum("jk,kj->j", M.T @ U, H)
    fitted = np.einsum("kj,kj->j", (U.T @ U) @ H, H)
    squares: Array = norms - 2 * mixed + fitted
    # Below this share of ‖m‖², too many digits have cancelled.
    for j in np.flatnonzero(squares < 1e-6 * norms):
        residual = dense_columns(M, [j])[:, 0] - U @ H[:, j]
        squares[j] = residual @ residual
    return squares
