"""A working set of model (6): atoms, their gates, and the columns of M fitted within the gates.

For fixed gates t = diag(X) of the working set, the columns of X decouple into small bounded
least-squares problems (:mod:`selfdict.kernels.gates`). Their sum f(t) is convex, continuously
differentiable and piecewise quadratic in as many variables as there are atoms;
:mod:`selfdict.solvers.newton` minimises it.
"""

from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.threads import even_slices, for_slices
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.curvature import curvature
from selfdict.kernels.gates import GATE, ZERO, fit_columns
from selfdict.kernels.sparse import dense_columns
from selfdict.model.sparse import SparseResidual

# up to this many columns, their products with the atoms are held; beyond they are taken anew each
# time, which costs little beside the fit and saves 8 bytes per column and atom
HELD_COLUMNS = 200_000
# times the median weight: beyond, second derivatives are not updated but computed anew
LONG_COLUMN = 1e4


class Gates:
    """A working set: its atoms, their gates, and columns of M fitted to them.

    Everything is scaled to w = 1: atoms and columns are those of M/w, and column j has the weight
    s_j w_j². Atoms of another dictionary are scaled to v = 1; none of the columns is then tied to
    its gate.

    Parameters
    ----------
    M : (m, n) ndarray
        The data.
    w, s : (n,) ndarray of float64
        Positive weights of Ω; weights of the residual.
    columns : (l,) ndarray of int or None
        The columns to fit, increasing; None for all.
    D, v : (m, d) ndarray, (d,) ndarray of float64
        The dictionary and its positive weights; None for M and w.
    gram : (n, n) ndarray or None
        The products of all columns scaled to w = 1, if they are known and all are fitted to columns
        of M.
    atom_lengths : (d,) ndarray of float64 or None
        ‖d_i‖₂/v_i of all atoms, if they are known.

    Attributes
    ----------
    atoms, t : (k,) ndarray
        Columns of the dictionary, and their gates: for D = M the diagonal of X.
    Z, state : (l, k) ndarray
        The fitted columns in the coordinates z_ij = x_ij v_i/w_j, and whether each entry is at
        zero, at its gate or free in between.
    fit, gradient : float, (k,) ndarray
        ½Σ s‖m − Mx‖² of these columns, and its derivatives with respect to the gates.
    """

    def __init__(
        self,
        M: Array,
        w: Array,
        s: Array,
        columns: Array | None = None,
        D: Array | None = None,
        v: Array | None = None,
        gram: Array | None = None,
        atom_lengths: Array | None = None,
    ) -> None:
        self.columns = columns
        self.gram = gram
        self.tied = D is None
        self.D = M
        self.v = w
        if D is not None and v is not None:
            self.D = D
            self.v = v
        self.Y = M
        self.scale = w
        self.s = s
        if columns is not None:
            self.Y = M[:, columns]
            self.scale = w[columns]
            self.s = s[columns]
        # in the coordinates z = x v/w the residual of column j is w_j times that of m_j/w_j
        self.weight = self.s * self.scale**2
        self.squared_norms = squared_norms(self.Y)
        self.squares = self.s * self.squared_norms
        self.square = float(self.squares.sum())
        n = len(self.scale)
        self.atoms = np.empty(0, np.int64)
        self.t = np.empty(0)
        self.G = np.empty((0, 0))  # products of the atoms with each other
        # products of the columns with the atoms; of sparse columns they take long
        self.C: Array | None = None
        if n <= HELD_COLUMNS or gram is not None or issparse(self.Y):
            self.C = np.empty((n, 0))
        self.Z = np.empty((n, 0))
        self.state = np.empty((n, 0), np.int8)
        self.own = self._own_atoms()
        self.fit = 0.5 * self.square
        self.gradient = np.empty(0)
        # the states for which second derivatives were computed last, and these derivatives
        self._last_hessian: tuple[Array, Array] | None = None
        self._known_lengths = atom_lengths
        # about 64 slices at most, so that their partial sums stay few
        self.columns_per_slice = even_slices(n, max(250, -(-n // 64)))

    @cached_property
    def atom_lengths(self) -> Array:
        """‖d_i‖₂/v_i of all atoms of the dictionary, (d,)."""
        if self._known_lengths is not None:
            return self._known_lengths
        if self.tied and self.columns is None:
            return np.sqrt(self.squared_norms) / self.v
        return np.sqrt(squared_norms(self.D)) / self.v

    def open(self, atoms: Array, t: Array) -> None:
        """Start with these atoms at these gates: fit all columns."""
        self.change(np.zeros(len(self.atoms), bool), atoms)
        # most entries end at zero: from there a column needs fewer exchanges than from its gates
        self.state[:] = ZERO
        self.t = t
        self.evaluate(t)

    def change(self, kept: Array, new: Array) -> None:
        """Keep the atoms of a mask, which includes all open ones, and add new ones, closed.

        The fit remains what it is, and so does its gradient at the atoms kept.
        """
        n = len(self.scale)
        old = int(kept.sum())
        added = len(new)
        self.atoms = np.concatenate([self.atoms[kept], new])
        self.t = np.concatenate([self.t[kept], np.zeros(added)])
        D = np.empty((0, 0))
        if self.gram is None:
            D = self.scaled_atoms()
            self.G = D.T @ D
        else:
            self.G = self.gram[np.ix_(self.atoms, self.atoms)]
        # one after the other, so that each old array is freed before the next new one is made
        if self.C is not None:
            self.C = _replace_columns(self.C, kept, added)
        self.Z = _replace_columns(self.Z, kept, added)
        self.state = _replace_columns(self.state, kept, added)
        self.own = self._own_atoms()
        self._last_hessian = None

        def task(start: int, stop: int) -> Array:
            if self.gram is None:
                C = self._products(D[:, old:], start, stop)
            else:
                C = self.gram[new, start:stop].T
            if self.C is not None:
                self.C[start:stop, old:] = C
            # the derivative of the fit by the entries of the new atoms, which are zero so far
            g = C - self.Z[start:stop, :old] @ self.G[:old, old:]
            # a closed gate is binding where the entry would grow, and in the atom's own column
            at_gate = (g > 0) | (self.own[start:stop, None] == np.arange(old, old + added))
            self.state[start:stop, old:][at_gate] = GATE
            return np.asarray(-self.weight[start:stop] @ np.where(at_gate, g, 0.0))

        # from zeros, because there may be no column at all
        of_new = sum(for_slices(task, n, self.columns_per_slice), start=np.zeros(added))
        self.gradient = np.concatenate([self.gradient[kept], of_new])

    def _products(self, D: Array, start: int, stop: int) -> Array:
        """Return the products of some columns with some atoms D (m, k), both scaled to w = 1."""
        C: Array = self.Y[:, start:stop].T.astype(np.float64, copy=False) @ D
        C /= self.scale[start:stop, None]
        return C

    def _own_atoms(self) -> Array:
        """Return, for each fitted column, the position of the atom that it is itself, or −1."""
        n = len(self.scale)
        own = np.full(n, -1)
        if not self.tied:
            return own
        if self.columns is None:
            own[self.atoms] = np.arange(len(self.atoms))
            return own
        # atoms need not be in the sample: most of its columns are tied to no gate
        position = np.minimum(np.searchsorted(self.columns, self.atoms), n - 1)
        is_fitted = self.columns[position] == self.atoms
        own[position[is_fitted]] = np.flatnonzero(is_fitted)
        return own

    def scaled_atoms(self) -> Array:
        """Return the atoms scaled to w = 1, (m, k)."""
        return np.asarray(dense_columns(self.D, self.atoms) / self.v[self.atoms], dtype=np.float64)

    def residual(self) -> Array:
        """Return M − D X on the fitted columns, (m, l), in float64."""
        D = self.scaled_atoms()
        R = np.empty(self.Y.shape)
        left = self._left_of_own()

        def task(start: int, stop: int) -> None:
            X = self.Z[start:stop] * self.scale[start:stop, None]
            tied = np.flatnonzero(self.own[start:stop] >= 0)
            X[tied, self.own[start:stop][tied]] = 0.0
            np.multiply(self.Y[:, start:stop], left[start:stop], out=R[:, start:stop])
            R[:, start:stop] -= D @ X.T

        for_slices(task, len(self.scale), self.columns_per_slice)
        return R

    def _left_of_own(self) -> Array:
        """Return 1 − t_i for columns that are atom i themselves, and 1 for the others.

        m_j − t_j m_j would be a difference of large numbers, and a long column has a large weight.
        """
        left = np.ones(len(self.scale))
        tied = np.flatnonzero(self.own >= 0)
        left[tied] -= self.t[self.own[tied]]
        return left

    def residual_terms(self) -> tuple[Array, Array, Array]:
        """Return s_j m_jᵀr_j and s_j ‖r_j‖² of the fitted columns, and θ.

        θ (m, l) has the columns s_j w_j r_j.
        """
        theta = self.residual()
        inner = self.s * np.einsum("ij,ij->j", theta, self.Y)
        square = self.s * squared_norms(theta)
        theta *= self.s * self.scale
        return inner, square, theta

    def rows(self, index: Array) -> Array:
        """Return rows of X for some atoms, (k, l)."""
        return np.asarray(self.Z[:, index].T * (self.scale / self.v[self.atoms[index], None]))

    def sparse_residual(self) -> SparseResidual:
        """Return the same of sparse data, which is not formed."""
        assert self.C is not None  # held for sparse columns
        scale = self.scale[:, None]
        return SparseResidual.of(self.Y, self.scaled_atoms(), self.Z * scale, self.C * scale)

    def evaluate(self, t: Array) -> None:
        """Fit all columns at the gates t."""
        D = np.empty((0, 0))
        if self.C is None:
            D = self.scaled_atoms()

        def task(start: int, stop: int) -> Array:
            if self.C is None:
                C = self._products(D, start, stop)
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
                0,
                stop - start,
            )
            return sums

        parts = for_slices(task, len(self.scale), self.columns_per_slice)
        sums = sum(parts, start=np.zeros(1 + len(t)))
        self.fit = 0.5 * self.square + float(sums[0])
        self.gradient = sums[1:]

    def hessian(self) -> Array:
        """Return the second derivatives at the gates evaluated last."""
        n = len(self.scale)
        H = None
        if self._last_hessian is not None:
            # a column whose entries have not come to or left their gates contributes as before
            state, last = self._last_hessian
            moved = np.flatnonzero((self.state != state).any(axis=1))
            # the part of a column much longer than others would leave its rounding errors behind
            longest = self.weight[moved].max(initial=0.0)
            if 2 * len(moved) < n and longest <= LONG_COLUMN * np.median(self.weight):
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
            part: Array = curvature(self.G, weight, state, start, stop)
            return part

        parts = for_slices(task, len(weight), self.columns_per_slice)
        return np.asarray(sum(parts, start=np.zeros(self.G.shape)))


def _replace_columns(A: Array, kept: Array, added: int) -> Array:
    """Keep some columns of A and append zeros (the value of ZERO, for a state)."""
    old = int(kept.sum())
    out = np.zeros((len(A), old + added), A.dtype)
    out[:, :old] = A[:, kept]
    return out
