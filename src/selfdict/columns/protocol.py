"""What the working-set algorithm needs of the columns of M, wherever they are.

The algorithm (:mod:`selfdict.solvers.working_set`) holds what there is per atom: the working set,
its gates, gradients and second derivatives. What there is per column is a sum over columns:

- :class:`Columns` are the data: all columns that count, or a sample of them.
- :class:`ColumnFit` is their state: every column fitted exactly within the gates of the working
  set, and the sums over the columns that Newton's method takes.
- :class:`Multiplier` is the residual of that fit as a multiplier θ of the dual: the sums over its
  columns that score the rows and bound the optimum.

Columns are in memory (:mod:`selfdict.columns.memory`), on a GPU (:mod:`selfdict.columns.device`),
or in blocks that are read anew in each pass, here or on the workers of a cluster
(:mod:`selfdict.columns.block_columns`).

Everything is scaled to w = 1: atoms and columns are those of M/w, and column j has the weight
s_j w_j². Atoms of another dictionary are scaled to v = 1.
"""

from typing import Protocol

import numpy as np

from selfdict._validation import Array
from selfdict.model.dual import DualTerms
from selfdict.model.score_bounds import ColumnSums, Rows


class Multiplier(Protocol):
    """θ with the columns s_j w_j r_j, of the residual r_j of a fit."""

    @property
    def inner(self) -> Array:
        """s_j m_jᵀr_j, (l,)."""

    @property
    def quadratic(self) -> float:
        """Σ_j s_j ‖r_j‖²."""

    @property
    def is_formed(self) -> bool:
        """Whether residuals are formed; if not, their squares are differences of large sums."""

    @property
    def sums(self) -> ColumnSums | None:
        """What bounds on scores are made of; None where all scores are taken."""

    def scores(self, rows: Array | None, rough: bool) -> Array:
        """Return Σ_j max(0, (d_i/v_i)ᵀθ_j) of some rows (None: all); ``rough`` allows float32."""

    def dual_terms(self, scores: Array, atom_lengths: Array) -> DualTerms:
        """Return the terms of the dual value for rows with these scores and ‖d_i‖₂/v_i."""


class ColumnFit(Protocol):
    """Columns fitted within the gates of a working set, in the coordinates z_ij = x_ij v_i/w_j."""

    def change(self, kept: Array, new: Array) -> Array:
        """Keep the atoms of a mask and add new ones, closed; return the derivatives by their gates.

        The fit remains what it is if no open gate is left out.
        """

    def evaluate(self, t: Array) -> Array:
        """Fit all columns at the gates t; return the fit less that of X = 0, and its derivatives.

        The fit is ½Σ s‖m − Mx‖², and the result has 1 + k entries.
        """

    def hessian(self) -> Array:
        """Return the second derivatives by the gates evaluated last, (k, k)."""

    def save_state(self) -> None:
        """Remember where the entries are."""

    def restore_state(self) -> None:
        """Let the next fit start where the entries were when they were remembered last."""

    def multiplier(self) -> Multiplier:
        """Return the multiplier of the fit."""

    def rows(self, index: Array) -> Array:
        """Return rows of X for some atoms of the working set, (k, l)."""


class Columns(Protocol):
    """Columns of M to be fitted, with the rows that X may have."""

    # The atoms; the weights (l,) of Ω, which are positive, and of the residual; Σ_j s_j ‖m_j‖².
    @property
    def rows(self) -> Rows: ...
    @property
    def w(self) -> Array: ...
    @property
    def s(self) -> Array: ...
    @property
    def square(self) -> float: ...

    @property
    def n_features(self) -> int:
        """The number of rows of M."""

    @property
    def is_tied(self) -> bool:
        """Whether the atoms are the columns of M, each tied to its own gate."""

    @property
    def is_sample(self) -> bool:
        """Whether these columns are a sample that stands for all."""

    @property
    def slack(self) -> float:
        """The part of the dual value that bounds on scores may take.

        0: none, where all scores can be taken when the bounds do not suffice.
        """

    def take(self, indices: Array) -> "Columns":
        """Return a sample, by increasing indices, that stands for all columns."""

    def fit(self, atoms: Array) -> ColumnFit:
        """Return a working set of these atoms, with all entries at zero."""

    def first_atoms(self, count: int) -> Array:
        """Return up to ``count`` columns, by their indices, that a search may begin with."""


def scaled_atoms(rows: Rows, atoms: Array) -> Array:
    """Return some atoms scaled to v = 1, (m, k), in float64."""
    return np.asarray(rows.values(atoms) / rows.v[atoms], dtype=np.float64)


def own_atoms(atoms: Array, n_columns: int, indices: Array | None) -> Array:
    """Return, for each column, the position of the atom that it is itself, or −1.

    ``indices`` are the columns of a sample, increasing; None for all columns.
    """
    own = np.full(n_columns, -1)
    if indices is None:
        own[atoms] = np.arange(len(atoms))
        return own
    # atoms need not be in the sample: most of its columns are tied to no gate
    position = np.minimum(np.searchsorted(indices, atoms), n_columns - 1)
    is_fitted = indices[position] == atoms
    own[position[is_fitted]] = np.flatnonzero(is_fitted)
    return own
