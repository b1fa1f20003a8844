"""How well a dictionary and its coefficients explain each column."""

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix
from selfdict.abundances.blocks import check_pair, for_blocks


def column_residuals(U: ArrayLike, M: ArrayLike, H: ArrayLike, *, block: int | None = None) -> Array:
    """Return ‖m_j − U h_j‖₂ for every column, without holding M − U H.

    The residual itself is formed, a block of columns at a time in float64: the shorter way through
    ‖m‖² − 2 hᵀUᵀm + hᵀUᵀU h loses all digits below 1e-8 ‖m‖.

    Parameters
    ----------
    U : (m, r) array_like
    M : (m, n) array_like
        May be a ``np.memmap``.
    H : (r, n) array_like
    block : int, optional
        Columns that a thread reads at a time; by default about 2 MiB of float64.

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
        raise ValueError(f"H must have shape {(U.shape[1], M.shape[1])}, got {H.shape}")
    norms = np.empty(M.shape[1])

    def task(columns: slice, m: Array) -> None:
        residual = m - U @ H[:, columns]
        norms[columns] = np.sqrt(np.einsum("ij,ij->j", residual, residual))

    for_blocks(task, M, block)
    if not np.isfinite(norms).all():
        raise ValueError("M or H contains NaN or infinity, or values too large to compute with")
    return norms
