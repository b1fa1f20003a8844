"""XRAY, the extreme ray method."""

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix, as_rank, as_vector
from selfdict.abundances import column_residuals, nnls
from selfdict.kernels.columns import column_norms, dense_columns, squared_norms
from selfdict.peers.spa import enough, negligible


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
    M : (m, n) array_like or sparse array
        One data point per column, in any memory order; it may be a ``np.memmap``. Sparse data is
        not made dense.
    r : int
        How many columns to select.
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
        # In float64, so that the abundances are, also if M is float32.
        U = dense_columns(M, selected).astype(np.float64)
        # Start from the abundances of the last step, and none of the new column.
        H = nnls(U, M, H0=np.vstack([H, np.zeros(M.shape[1])]))
        residuals = column_residuals(U, M, H) ** 2
    reason = f"all columns lie in the cone of {len(selected)} of them"
    if p is not None:
        reason += ", or have pᵀm ≤ 0"
    return enough(selected, r, reason)
