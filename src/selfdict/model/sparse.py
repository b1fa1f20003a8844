"""The residual of sparse data, which would be dense: products with the atoms take its place.

The formulas are those of :doc:`/mathematics`. Near an exact fit the differences lose digits. What
rounding may have done is known, by the norms β_j = ‖y_j‖ + Σ_k ‖d_k‖ |x_kj| of what is summed up:
it is taken off the dual bound. Where ‖r_j‖² would have no digit left, r_j is formed for a moment.
"""

from typing import Any, NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.columns import (
    add_gram_rows,
    add_positive_sums,
    dense_columns,
    squared_norms,
)
from selfdict.model.dual import DualTerms, dot_error


class SparseProducts(NamedTuple):
    """R = Y − D X for sparse Y (m, l): what is known of it without forming it."""

    Y: Any  # (m, l)
    D: Array  # (m, k)
    Xt: Array  # (l, k): the coefficients, transposed
    # (l,): y_jᵀr_j and ‖r_j‖²
    inner: Array
    square: Array
    magnitudes: Array  # (l,): β_j, from which the errors of both follow
    square_error: Array  # (l,): by how much ``square`` may be too small

    @classmethod
    def of(cls, Y: Any, D: Array, Xt: Array, P: Array | None = None) -> "SparseProducts":
        """Compute the two products; ``P`` is YᵀD, if it is at hand."""
        if P is None:
            P = Y.T @ D
        norms = squared_norms(Y)
        fitted = np.einsum("jk,jk->j", P, Xt)
        square = norms - 2 * fitted + np.einsum("jk,jk->j", Xt @ (D.T @ D), Xt)
        magnitudes = np.sqrt(norms) + np.abs(Xt) @ np.sqrt(squared_norms(D))
        error = dot_error(sum(D.shape))
        square_error = 4 * error * magnitudes**2
        # the difference of large sums has hardly a digit left: form the residual itself
        few_digits = np.flatnonzero(square < 1e6 * square_error)
        at_a_time = max(1, (1 << 23) // len(D))  # 64 MiB
        for start in range(0, few_digits.size, at_a_time):
            columns = few_digits[start : start + at_a_time]
            R = dense_columns(Y, columns).astype(np.float64) - D @ Xt[columns].T
            square[columns] = squared_norms(R)
            formed = error * magnitudes[columns]
            square_error[columns] = formed * (2 * np.sqrt(square[columns]) + formed)
        return cls(Y, D, Xt, norms - fitted, np.maximum(square, 0.0), magnitudes, square_error)

    def dual_terms(
        self, scores: Array, s: Array, w: Array, data_norms: Array, atom_lengths: Array
    ) -> DualTerms:
        """Return the terms of the dual bound for θ_j = s_j r_j, as :class:`DualTerms` has them."""
        return DualTerms.from_columns(
            s * self.inner,
            s * self.square,
            scores,
            magnitudes=s * self.magnitudes,
            data_norms=data_norms,
            atom_lengths=atom_lengths,
            w=w,
            n_terms=sum(self.D.shape),
            n_summed=len(w),
            square_error=s * self.square_error,
        )

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
            csc = (M.indptr, M.indices, M.data)
            csr = (Y.indptr, Y.indices, Y.data)
            add_gram_rows(*csc, *csr, these, 1.0 / w[these], tile)
            add_positive_sums(tile, sums[start:stop])

        with single_threaded_blas():
            # with ten thousand columns, a tile of 16 rows fits into the second-level cache
            for_slices(task, len(rows), 16)
        return sums
