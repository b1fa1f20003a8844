"""Columns in memory: one block, whose products, entries and active sets are kept.

For fixed gates t = diag(X) of the working set, the columns of X decouple into small bounded
least-squares problems (:mod:`selfdict.kernels.gates`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.columns.protocol import ColumnFit, Multiplier, own_atoms, scaled_atoms
from selfdict.compute.device import Tensor
from selfdict.compute.linear_algebra import in_order
from selfdict.compute.threads import even_slices, for_slices
from selfdict.kernels.columns import squared_norms
from selfdict.kernels.gates import GATE, curvature, fit_columns
from selfdict.model.dual import DualTerms
from selfdict.model.score_bounds import ColumnSums, DenseSums, MemoryRows, Rows
from selfdict.model.sparse import SparseProducts
from selfdict.peers.successive import spa

# up to this many columns, and as many atoms as features, their products are held; beyond they are
# taken anew each time, which costs little beside the fit and saves 8 bytes per column and atom
HELD_COLUMNS = 200_000


class MemoryColumns:
    """Columns M (m, n) in memory; those of sparse data stay sparse.

    ``w`` and ``s`` (n,) are the weights of Ω and of the residual. ``rows`` are by default the
    columns themselves. ``indices`` (n,) tells which of all columns these are, if they are a sample.
    """

    def __init__(
        self,
        M: Array,
        w: Array,
        s: Array,
        rows: Rows | None = None,
        *,
        is_tied: bool = True,
        indices: Array | None = None,
        slack: float = 0.0,
    ) -> None:
        self.M = M
        self.w = w
        self.s = s
        self.is_tied = is_tied
        self.indices = indices
        self.slack = slack
        # in the coordinates z = x v/w the residual of column j is w_j times that of m_j/w_j
        self.weight = s * w**2
        self.rows: Rows = MemoryRows(M, w)
        if rows is not None:
            self.rows = rows

    @cached_property
    def squared_norms(self) -> Array:
        """‖m_j‖², (n,)."""
        return squared_norms(self.M)

    @cached_property
    def square(self) -> float:
        return float((self.s * self.squared_norms).sum())

    @property
    def n_features(self) -> int:
        return int(self.M.shape[0])

    @property
    def is_sample(self) -> bool:
        return self.indices is not None

    def take(self, indices: Array) -> "MemoryColumns":
        stands_for = len(self.w) / len(indices)
        return MemoryColumns(
            self.M[:, indices],
            self.w[indices],
            self.s[indices] * stands_for,
            self.rows,
            is_tied=self.is_tied,
            indices=indices,
            slack=self.slack,
        )

    def fit(self, atoms: Array) -> ColumnFit:
        return MemoryFit(self, atoms)

    def first_atoms(self, count: int) -> Array:
        if not self.is_tied:
            return np.empty(0, np.int64)
        first = spa(self.M, min(count, *self.M.shape), allow_fewer=True)
        if self.indices is not None:
            return np.asarray(self.indices[first])
        return first


@dataclass(frozen=True, eq=False)
class DenseMultiplier:
    """θ as it is stored, in memory or on a device."""

    columns: MemoryColumns
    # (l,): s_j m_jᵀr_j and s_j ‖r_j‖²
    inner: Array
    square: Array
    theta: "Array | Tensor"  # (m, l)
    sums: ColumnSums

    is_formed: ClassVar[bool] = True

    @property
    def quadratic(self) -> float:
        return float(self.square.sum())

    @classmethod
    def of(cls, columns: MemoryColumns, R: Array) -> "DenseMultiplier":
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

    def __init__(self, columns: MemoryColumns, residual: SparseProducts) -> None:
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


class MemoryFit:
    """Columns in memory fitted within the gates of a working set.

    ``Z`` and ``state`` (l, k) are the fitted columns, and whether each entry is at zero, at its
    gate or free in between.
    """

    def __init__(self, columns: MemoryColumns, atoms: Array) -> None:
        self.columns = columns
        self.weight = columns.weight
        n = len(columns.w)
        # about 64 slices at most, so that their partial sums stay few
        self.columns_per_slice = even_slices(n, max(250, -(-n // 64)))
        self.C: Array | None = None  # products of the columns with the atoms, if they are held
        self.Z = np.empty((n, 0))
        self.state = np.empty((n, 0), np.int8)
        self.own = np.full(n, -1)
        self._set_atoms(atoms, np.empty(0, bool))

    def _set_atoms(self, atoms: Array, kept: Array) -> None:
        """Take other atoms: those of the mask ``kept`` of the old ones first, then new ones."""
        columns = self.columns
        added = len(atoms) - int(kept.sum())
        self.atoms = atoms
        self.D = scaled_atoms(columns.rows, atoms)
        self.G = self.D.T @ self.D  # products of the atoms with each other
        # one after the other, so that each old array is freed before the next new one is made
        self._hold_products(kept, added)
        self.Z = _replace_columns(self.Z, kept, added)
        self.state = _replace_columns(self.state, kept, added)
        if columns.is_tied:
            self.own = own_atoms(atoms, len(columns.w), columns.indices)
        # the states for which second derivatives were computed last, and these derivatives
        self._last_hessian: tuple[Array, Array] | None = None

    def _hold_products(self, kept: Array, added: int) -> None:
        """Keep some of the products of columns and atoms and take those with new atoms."""
        n_features, n_columns = self.columns.M.shape
        is_small = n_columns <= HELD_COLUMNS and len(self.atoms) <= n_features
        # those of sparse columns take long
        if not is_small and not issparse(self.columns.M):
            self.C = None
            return
        if self.C is None:
            kept = np.empty(0, bool)
            added = len(self.atoms)
            self.C = np.empty((n_columns, 0))
        held = _replace_columns(self.C, kept, added)
        old = held.shape[1] - added
        self.C = held

        def task(start: int, stop: int) -> None:
            held[start:stop, old:] = self._products(old, start, stop)

        for_slices(task, n_columns, self.columns_per_slice)

    def _products(self, first: int, start: int, stop: int) -> Array:
        """Return the products of some columns with the atoms from ``first`` on, scaled to w = 1."""
        M = self.columns.M
        C: Array = M[:, start:stop].T.astype(np.float64, copy=False) @ self.D[:, first:]
        C /= self.columns.w[start:stop, None]
        return C

    def change(self, kept: Array, new: Array) -> Array:
        n_old = int(kept.sum())
        self._set_atoms(np.concatenate([self.atoms[kept], new]), kept)
        index = np.arange(n_old, len(self.atoms))

        def task(start: int, stop: int) -> Array:
            if self.C is None:
                C = self._products(n_old, start, stop)
            else:
                C = self.C[start:stop, n_old:]
            # the derivative of the fit by the entries of the new atoms, which are zero so far
            g = C - self.Z[start:stop, :n_old] @ self.G[:n_old, n_old:]
            # a closed gate is binding where the entry would grow, and in the atom's own column
            at_gate = (g > 0) | (self.own[start:stop, None] == index)
            self.state[start:stop, n_old:][at_gate] = GATE
            return np.asarray(-self.weight[start:stop] @ np.where(at_gate, g, 0.0))

        # from zeros, because there may be no column at all
        parts = for_slices(task, len(self.weight), self.columns_per_slice)
        return np.asarray(sum(parts, start=np.zeros(len(new))))

    def save_state(self) -> None:
        self._saved_state = self.state.copy()

    def restore_state(self) -> None:
        self.state[:] = self._saved_state

    def evaluate(self, t: Array) -> Array:
        def task(start: int, stop: int) -> Array:
            if self.C is None:
                C = self._products(0, start, stop)
            else:
                C = self.C[start:stop]
            sums: Array = fit_columns(
                self.G,
                C,
                self.weight[start:stop],
                t,
                self.own[start:stop],
                self.Z[start:stop],
                self.state[start:stop],
            )
            return sums

        parts = for_slices(task, len(self.weight), self.columns_per_slice)
        self.sums = np.asarray(sum(parts, start=np.zeros(1 + len(t))))
        return self.sums

    def hessian(self) -> Array:
        H = None
        if self._last_hessian is not None:
            # a column whose entries have not come to or left their gates contributes as before
            state, last = self._last_hessian
            moved = np.flatnonzero((self.state != state).any(axis=1))
            # the part of a column much longer than others would leave its rounding errors behind
            longest = self.weight[moved].max(initial=0.0)
            is_long = longest > 1e4 * np.median(self.weight)
            if 2 * len(moved) < len(self.weight) and not is_long:
                H = last + self._curvature(self.state, moved) - self._curvature(state, moved)
        if H is None:
            H = self._curvature(self.state)
        self._last_hessian = self.state.copy(), H
        return H

    def _curvature(self, state: Array, columns: Array | None = None) -> Array:
        """Return the contribution of some columns, or of all, to the second derivatives."""
        weight = self.weight
        if columns is not None:
            weight = weight[columns]
            state = state[columns]

        def task(start: int, stop: int) -> Array:
            part: Array = curvature(self.G, weight[start:stop], state[start:stop])
            return part

        total = np.zeros(self.G.shape)
        for part in in_order(task, len(weight), self.columns_per_slice):
            total += part
        return total

    def residual(self) -> Array:
        """Return M − D X, (m, l), in float64."""
        M = self.columns.M
        w = self.columns.w
        R = np.empty(M.shape)
        # of a column that is an atom itself, 1 − t is left: m − t m would be a difference of large
        # numbers, and a long column has a large weight
        left = np.ones(len(w))
        tied = np.flatnonzero(self.own >= 0)
        left[tied] -= self.Z[tied, self.own[tied]]

        def task(start: int, stop: int) -> None:
            X = self.Z[start:stop] * w[start:stop, None]
            tied = np.flatnonzero(self.own[start:stop] >= 0)
            X[tied, self.own[start:stop][tied]] = 0.0
            np.multiply(M[:, start:stop], left[start:stop], out=R[:, start:stop])
            R[:, start:stop] -= self.D @ X.T

        for_slices(task, len(w), self.columns_per_slice)
        return R

    def multiplier(self) -> Multiplier:
        columns = self.columns
        if self.C is not None and issparse(columns.M):
            w = columns.w[:, None]
            sparse = SparseProducts.of(columns.M, self.D, self.Z * w, self.C * w)
            return SparseMultiplier(columns, sparse)
        return DenseMultiplier.of(columns, self.residual())

    def rows(self, index: Array) -> Array:
        w = self.columns.w
        v = self.columns.rows.v[self.atoms[index], None]
        X = np.empty((len(index), len(w)))

        def task(start: int, stop: int) -> None:
            X[:, start:stop] = self.Z[start:stop, index].T * (w[start:stop] / v)

        for_slices(task, len(w), self.columns_per_slice)
        return X


def _replace_columns(A: Array, kept: Array, added: int) -> Array:
    """Keep some columns of A and append zeros (the value of ZERO, for a state)."""
    old = int(kept.sum())
    out = np.zeros((len(A), old + added), A.dtype)
    out[:, :old] = A[:, kept]
    return out
