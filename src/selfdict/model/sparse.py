"""The residual of sparse data, which would be dense, through products with the atoms instead.

With the open atoms D (m, k), P = YᵀD (l, k), G = DᵀD and the coefficients X (k, l), R = Y − D X has

    y_jᵀr_j = ‖y_j‖² − p_jᵀx_j,    ‖r_j‖² = ‖y_j‖² − 2 p_jᵀx_j + x_jᵀG x_j,    m_iᵀr_j = m_iᵀy_j − (m_iᵀD) x_j,

and m_iᵀy_j costs as many operations as features the two share. Near an exact fit, where sparse data
rarely is, the differences lose digits: what they may have gained by rounding is taken off the dual
bound.
"""

from typing import Any, NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.screening import add_positive_sums
from selfdict.kernels.sparse import add_gram_rows

ROUNDING = 64 * np.finfo(np.float64).eps  # relative error of the products
ROWS = 16  # of a tile: with ten thousand columns it fits into the second cache


class SparseResidual(NamedTuple):
    """R = Y − D X for sparse Y (m, l): what is known of it without forming it.

    Attributes
    ----------
    Y : (m, l) sparse array
    D : (m, k) ndarray of float64
    Xt : (l, k) ndarray of float64
        The coefficients, transposed.
    inner, square : (l,) ndarray of float64
        y_jᵀr_j and ‖r_j‖².
    rounding : (l,) ndarray of float64
        How much too large y_jᵀr_j may be.
    """

    Y: Any
    D: Array
    Xt: Array
    inner: Array
    square: Array
    rounding: Array

    @classmethod
    def of(cls, Y: Any, D: Array, Xt: Array, P: Array | None = None) -> "SparseResidual":
        """Compute the two products; ``P`` is YᵀD, if it is at hand."""
        P = Y.T @ D if P is None else P
        norms, fitted = squared_norms(Y), np.einsum("jk,jk->j", P, Xt)
        square = norms - 2 * fitted + np.einsum("jk,jk->j", Xt @ (D.T @ D), Xt)
        return cls(Y, D, Xt, norms - fitted, np.maximum(square, 0.0), ROUNDING * norms)

    def positive_sums(self, M: Any, w: Array, factor: Array, rows: Array | None) -> Array:
        """Return Σ_j max(0, factor_j (m_i/w_i)ᵀr_j) for the rows i, in float64, as the dense function of this name."""
        rows = np.arange(M.shape[1]) if rows is None else rows
        by_features = self.Y.tocsr().astype(np.float64)
        by_features.data *= factor[by_features.indices]
        atoms = (M.T @ self.D)[rows] / w[rows, None]
        weighted = np.ascontiguousarray((self.Xt * -factor[:, None]).T)
        sums = np.zeros(len(rows))

        def task(start: int, stop: int) -> None:
            V = atoms[start:stop] @ weighted
            these = rows[start:stop]
            left, right = (
                (M.indptr, M.indices, M.data),
                (by_features.indptr, by_features.indices, by_features.data),
            )
            add_gram_rows(*left, *right, these, 1.0 / w[these], V)
            add_positive_sums(V, sums[start:stop])

        with single_threaded_blas():
            for_slices(task, len(rows), ROWS)
        return sums
