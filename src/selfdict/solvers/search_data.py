"""Between a problem and its search: the columns and atoms that are not zero, and the way back."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from selfdict._errors import UnsupportedError
from selfdict._validation import Array
from selfdict.columns.memory import MemoryColumns
from selfdict.columns.protocol import Columns
from selfdict.compute.device import Device, runs_triton
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.model.certificate import objective_value
from selfdict.model.dual import dot_error
from selfdict.model.memory_rows import MemoryRows
from selfdict.model.omega import clip_to_gates
from selfdict.model.penalties import Penalty
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, Status
from selfdict.solvers.gates import Gates


@dataclass(frozen=True, eq=False)
class SearchData:
    """A problem with the squared loss, restricted to columns and atoms that are not zero."""

    columns: Columns  # all of them, with the atoms
    penalty_at: Callable[[float], Penalty]  # returns the penalty of these atoms at a given μ
    # which columns and which atoms of the problem these are; the others are zero in X
    column_indices: Array
    row_indices: Array
    # Σ_j s_j ‖m_j‖² of the whole problem, and half of the part of it in columns with w = 0, which
    # no X can explain
    square: float
    constant: float

    @classmethod
    def of(cls, problem: Problem, device: Device = None) -> "SearchData":
        """Take what counts out of a problem with a quadratic loss."""
        form = problem.squared_form
        column_indices = np.flatnonzero(problem.w > 0)
        row_indices = np.flatnonzero(problem.v > 0)
        M = form.M
        if column_indices.size < problem.n_points:
            M = M[:, column_indices]
        atoms = M
        if form.D is not None:
            atoms = form.D[:, row_indices]
        w = problem.w[column_indices].astype(np.float64)
        s = form.s[column_indices].astype(np.float64)
        v = problem.v[row_indices].astype(np.float64)
        squares = form.s.astype(np.float64) * squared_norms(form.M)
        return cls(
            columns=_columns(M, w, s, atoms, v, form.D is None, device),
            penalty_at=lambda mu: problem.penalty_at(mu).take(row_indices),
            column_indices=column_indices,
            row_indices=row_indices,
            square=float(squares.sum()),
            # a sum of its own: the difference of two large sums would leave rounding errors; from
            # below, since it is part of the bound
            constant=0.5 * math.fsum(squares[problem.w == 0]) * (1 - dot_error(form.M.shape[0])),
        )

    def open_rows(self, gates: Gates) -> tuple[Array, Array, Array]:
        """Return the rows of X with open gates: their indices, increasing, gates and entries.

        The entries are those of the columns that count, (k, n).
        """
        is_open = gates.open_positions()
        rows = self.row_indices[gates.atoms[is_open]]
        return rows, gates.t[is_open], gates.fitted.rows(is_open)

    def solution(
        self, problem: Problem, support: Array, t: Array, X: Array
    ) -> tuple[Solution, float]:
        """Return rows X of the columns that count as a Solution in M's dtype, without its bound.

        The second result is by how much rounding may have lowered its objective.
        """
        dtype = problem.M.dtype
        if len(self.column_indices) == problem.n_points:
            coef = np.ascontiguousarray(X, dtype=dtype)
        else:
            coef = np.zeros((len(support), problem.n_points), dtype=dtype)
            coef[:, self.column_indices] = X
        # gates are rounded up and the entries within them down: rounded to nearest, X would violate
        # X_ij ≤ (w_j/v_i) t_i in the last digit, and its objective could lie below the optimum
        gates = t.astype(dtype)
        is_below = gates < t
        gates[is_below] = np.nextafter(gates[is_below], dtype.type(np.inf))
        gates = np.minimum(gates, dtype.type(1))
        diagonal = np.zeros(problem.n_atoms, dtype=dtype)
        diagonal[support] = gates
        clip_to_gates(problem, support, gates, coef)
        point = Solution(support=support, coef=coef, diagonal=diagonal, problem=problem)
        # of the entries as they are returned: float32 may have rounded them
        objective = objective_value(point)
        return replace(point, objective=objective.value), objective.rounding


def _columns(
    M: Array, w: Array, s: Array, atoms: Array, v: Array, is_tied: bool, device: Device
) -> Columns:
    """Return the columns where they are computed with; a GPU without Triton takes scores alone."""
    if runs_triton(device):
        from selfdict.columns.device import DeviceColumns

        return DeviceColumns.of(M, w, s, atoms, v, is_tied, device)
    return MemoryColumns(M, w, s, MemoryRows(atoms, v, device), is_tied=is_tied)


def fit_within_gates(problem: Problem, support: Array, t: Array) -> Solution:
    """Return the X with the least objective whose open rows have the gates t (k,) in [0, 1].

    The loss must be quadratic. :func:`certify` adds a bound.
    """
    if not problem.loss.quadratic:
        raise UnsupportedError(
            f"columns are fitted within gates for quadratic losses, got {problem.loss!r}"
        )
    data = SearchData.of(problem)
    # atoms of weight zero are not in the search's data, and stay closed
    position = np.full(problem.n_atoms, -1)
    position[data.row_indices] = np.arange(len(data.row_indices))
    is_atom = position[support] >= 0
    t = np.clip(t[is_atom].astype(np.float64), 0.0, 1.0)
    with single_threaded_blas():  # products are taken inside slices
        gates = Gates(data.columns, position[support][is_atom], t)
        point, _ = data.solution(problem, *data.open_rows(gates))
    return replace(point, status=Status.GIVEN)
