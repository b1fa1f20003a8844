"""The residual of sparse data, which would be dense, through products with the atoms instead.

With the open atoms D (m, k), P = YᵀD (l, k), G = DᵀD and the coefficients X (k, l), R = Y − D X has

    y_jᵀr_j = ‖y_j‖² − p_jᵀx_j,
    ‖r_j‖² = ‖y_j‖² − 2 p_jᵀx_j + x_jᵀG x_j,
    m_iᵀr_j = m_iᵀy_j − (m_iᵀD) x_j,

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
# with ten thousand columns, a tile of this many rows fits into the second-level cache
SPARSE_TILE_ROWS = 16


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
        if P is None:
            P = Y.T @ D
        norms = squared_norms(Y)
        fitted = np.einsum("jk,jk->j", P, Xt)
        square = norms - 2 * fitted + np.einsum("jk,jk->j", Xt @ (D.T @ D), Xt)
        return cls(Y, D, Xt, norms - fitted, np.maximum(square, 0.0), ROUNDING * norms)

    def positive_sums(self, M: Any, w: Array, factor: Array, rows: Array | None) -> Array:
        """Return Σ_j max(0, factor_j (m_i/w_i)ᵀr_j) for the rows i (None: all), in float64."""
        if rows is None:
            rows = np.arange(M.shape[1])
        Y = self.Y.tocsr().astype(np.float64)
        Y.data *= factor[Y.indices]
        atoms = (M.T @ self.D)[rows] / w[rows, None]
        weighted = np.ascontiguousarray((self.Xt * -factor[:, None]).T)
        sums = np.zeros(len(rows))

        def task(start: int, stop: int) -> None:
            tile = atoms[start:stop] @ weighted
            these = rows[start:stop]
            add_gram_rows(
                M.indptr,
                M.indices,
                M.data,
                Y.indptr,
                Y.indices,
                Y.data,
                these,
                1.0 / w[these],
                tile,
            )
            add_positive_sums(tile, sums[start:stop])

        with single_threaded_blas():
            for_slices(task, len(rows), SPARSE_TILE_ROWS)
        return sums
