"""The successive nonnegative projection algorithm."""

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix, as_rank
from selfdict.abundances import column_residuals, fcls
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.peers.spa import enough, first_largest, negligible


def snpa(M: ArrayLike, r: int) -> Array:
    """Select r columns of M by successive nonnegative projection.

    Like :func:`spa`, with the same rule for ties, but the residual of a column is its difference to
    the nearest point of the convex hull of the selected columns and the origin: m_j − M(:, K) h
    with h ≥ 0 and Σh ≤ 1. It does not need linearly independent columns, so r may exceed the rank
    of M.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        One data point per column, in any memory order; it may be a ``np.memmap``. Sparse data is
        not made dense.
    r : int
        How many columns to select.

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
    H = None
    while True:
        # What is left of a column in the hull is rounding, and it must not be selected for that.
        residuals[residuals <= negligible(M) * norms] = 0.0
        residuals[selected] = 0.0
        if not residuals.any():
            break
        selected.append(first_largest(residuals, norms))
        if len(selected) == r:
            break
        # In float64, so that the abundances are, also if M is float32.
        U = dense_columns(M, selected).astype(np.float64)
        start = None
        if H is not None:  # the abundances of the last step, and none of the new column
            start = np.vstack([H, np.zeros(M.shape[1])])
        H = fcls(U, M, at_most=True, H0=start)
        residuals = column_residuals(U, M, H) ** 2
    reason = f"all columns lie in the convex hull of {len(selected)} of them and the origin"
    return enough(selected, r, reason)
