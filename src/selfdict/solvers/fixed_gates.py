"""The best X for given gates: every column fitted exactly within them."""

from dataclasses import replace

import numpy as np

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.model.feasibility import clip_to_gates
from selfdict.model.features import UnsupportedError
from selfdict.model.objective import objective_value
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, Status
from selfdict.solvers.gates import Gates
from selfdict.solvers.search_data import SearchData


def open_rows(data: SearchData, gates: Gates) -> tuple[Array, Array, Array]:
    """Return the rows of X with open gates: their indices, increasing, gates and entries.

    The entries are those of the columns of ``data``, (k, n).
    """
    is_open = np.flatnonzero(gates.t > 0)
    is_open = is_open[np.argsort(gates.atoms[is_open])]
    atoms = gates.atoms[is_open]
    return data.rows[atoms], gates.t[is_open], gates.rows(is_open)


def point_from_rows(
    problem: Problem, data: SearchData, support: Array, t: Array, X: Array
) -> tuple[Solution, float]:
    """Return rows X of the columns that count as a Solution in M's dtype, without its bound.

    The second result is by how much rounding may have lowered its objective.
    """
    dtype = problem.M.dtype
    if len(data.columns) == problem.n_points:
        coef = np.ascontiguousarray(X, dtype=dtype)
    else:
        coef = np.zeros((len(support), problem.n_points), dtype=dtype)
        coef[:, data.columns] = X
    diagonal = np.zeros(problem.n_atoms, dtype=coef.dtype)
    diagonal[support] = t
    # gates are rounded up and the entries within them down: rounded to nearest, X would violate
    # X_ij ≤ (w_j/v_i) t_i in the last digit, and its objective could lie below the optimum
    gates = t.astype(dtype)
    is_below = gates < t
    gates[is_below] = np.nextafter(gates[is_below], dtype.type(np.inf))
    gates = np.minimum(gates, dtype.type(1))
    diagonal[support] = gates
    clip_to_gates(problem, support, gates, coef)
    point = Solution(support=support, coef=coef, diagonal=diagonal, problem=problem)
    # of the entries as they are returned: float32 may have rounded them
    objective = objective_value(point)
    return replace(point, objective=objective.value), objective.rounding


def fit_within_gates(problem: Problem, support: Array, t: Array) -> Solution:
    """Return the X with the least objective whose diagonal, or gates, are given.

    Parameters
    ----------
    problem : Problem
        With a quadratic loss.
    support : (k,) ndarray of int
        The rows that are open; all others are zero.
    t : (k,) ndarray
        Their diagonal entries, between 0 and 1.

    Returns
    -------
    Solution
        With its objective; :func:`certify` adds a bound.
    """
    if not problem.loss.quadratic:
        raise UnsupportedError(
            f"columns are fitted within gates for quadratic losses, got {problem.loss!r}"
        )
    data = SearchData.of(problem, None)
    # atoms of weight zero are not in the search's data, and stay closed
    position = np.full(problem.n_atoms, -1)
    position[data.rows] = np.arange(len(data.rows))
    is_atom = position[support] >= 0
    gates = data.gates(use_gram=False)
    with single_threaded_blas():  # products are taken inside slices
        gates.open(position[support][is_atom], np.clip(t[is_atom].astype(np.float64), 0.0, 1.0))
        rows, gate_values, X = open_rows(data, gates)
        point, _ = point_from_rows(problem, data, rows, gate_values, X)
    return replace(point, status=Status.GIVEN)
