"""The multiplier θ of a fit: dense data has a residual, that of sparse data is not formed."""

from typing import TYPE_CHECKING

import numpy as np

from selfdict._validation import Array
from selfdict.compute.device import Tensor
from selfdict.kernels.columns import squared_norms
from selfdict.model.dual import DualTerms
from selfdict.model.memory_rows import DenseSums, MemoryRows
from selfdict.model.objective import SparseResidual
from selfdict.model.score_bounds import ColumnSums

if TYPE_CHECKING:
    from selfdict.columns.memory import MemoryColumns


class DenseMultiplier:
    """θ (m, l) as it is stored, in memory or on a device.

    ``inner`` and ``square`` (l,) are s_j m_jᵀr_j and s_j ‖r_j‖².
    """

    is_formed = True

    def __init__(
        self,
        columns: "MemoryColumns",
        inner: Array,
        square: Array,
        theta: "Array | Tensor",
        sums: ColumnSums,
    ) -> None:
        self.columns = columns
        self.inner = inner
        self.square = square
        self.theta = theta
        self.sums = sums
        self.quadratic = float(square.sum())

    @classmethod
    def of(cls, columns: "MemoryColumns", R: Array) -> "DenseMultiplier":
        """Return the multiplier of columns with the residual R (m, l), which is overwritten."""
        inner = columns.s * np.einsum("ij,ij->j", R, columns.M)
        square = columns.s * squared_norms(R)
        R *= columns.s * columns.w
        return cls(columns, inner, square, R, DenseSums(R))

    def scores(self, rows: Array | None, rough: bool) -> Array:
        dtype: type = np.float64
        if rough:
            dtype = np.float32
        return self.columns.rows.positive_sums(self.theta, rows, dtype)

    def dual_terms(self, scores: Array, atom_lengths: Array) -> DualTerms:
        columns = self.columns
        return DualTerms.from_columns(
            self.inner,
            self.square,
            scores,
            magnitudes=np.sqrt(columns.s * self.square),
            data_norms=np.sqrt(columns.squared_norms),
            atom_lengths=atom_lengths,
            w=columns.w,
            n_terms=len(self.theta),
            n_summed=columns.rows.summation_depth(len(columns.w)),
        )


class SparseMultiplier:
    """θ of sparse data, through products with the atoms."""

    is_formed = False
    sums = None

    def __init__(self, columns: "MemoryColumns", residual: SparseResidual) -> None:
        self.columns = columns
        self.residual = residual
        self.inner: Array = columns.s * residual.inner
        self.quadratic = float(columns.s @ residual.square)

    def scores(self, rows: Array | None, rough: bool) -> Array:
        columns = self.columns
        atoms = columns.rows
        assert isinstance(atoms, MemoryRows)  # sparse data has no others
        return self.residual.positive_sums(atoms.D, atoms.v, columns.s * columns.w, rows)

    def dual_terms(self, scores: Array, atom_lengths: Array) -> DualTerms:
        columns = self.columns
        data_norms = np.sqrt(columns.squared_norms)
        return self.residual.dual_terms(scores, columns.s, columns.w, data_norms, atom_lengths)
