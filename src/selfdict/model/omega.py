"""The feasible set Ω of models (4) and (6): the projection onto it, and whether an X is in it."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_coefficients, as_scalar, as_vector
from selfdict.compute.threads import for_slices
from selfdict.kernels.projection import project_rows
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution

# relative to the limit of an entry: room for solvers of all kinds, and for their rounding
TOLERANCE = 1e-6
ROWS_PER_SLICE = 8


def project_omega(
    X: ArrayLike,
    w: ArrayLike,
    rows: ArrayLike | None = None,
    upper: float = 1.0,
    out: Array | None = None,
) -> Array:
    """Project rows onto Ω = { X ≥ 0 : X_ii ≤ upper, w_i X_ij ≤ w_j X_ii } (appendix B).

    A row with w_i = 0 belongs to an all-zero column of M and becomes zero; so do the entries X_ij
    with w_j = 0, i ≠ j. Rows are projected independently and in parallel, with O(n) operations per
    pass and usually fewer than ten passes.

    Parameters
    ----------
    X : (k, n) array_like
        The rows to project.
    w : (n,) array_like
        Nonnegative weights, in the model the ℓ1 norms of the columns of M.
    rows : (k,) array_like of int, optional
        ``X[a]`` is row ``rows[a]`` of the n×n matrix; by default all n rows in order.
    upper : float
        Upper bound of the diagonal entries.
    out : (k, n) ndarray, optional
        Where to write the result; ``out=X`` projects in place.

    Returns
    -------
    (k, n) ndarray
        The projected rows, float32 for float32 input, else float64.

    Examples
    --------
    >>> from selfdict import project_omega
    >>> project_omega([[0.2, 0.9, 0.3]], [1.0, 1.0, 1.0], rows=[0])
    array([[0.55, 0.55, 0.3 ]])
    """
    X = as_coefficients(X, "X")
    k, n = X.shape
    w = as_vector(w, n, "w", X.dtype)
    upper = as_scalar(upper, "upper")
    index = np.arange(n)
    if rows is not None:
        index = np.asarray(rows)
    if index.shape != (k,):
        if rows is None:
            raise InputError(f"X must be square when rows is not given, got shape {X.shape}")
        raise InputError(
            f"rows must have one entry for each of the {k} rows of X, got shape {index.shape}"
        )
    if index.dtype.kind not in "iu":
        raise TypeError(f"rows must hold integers, got dtype {index.dtype}")
    if k and (index.min() < 0 or index.max() >= n):
        raise InputError(f"rows must be between 0 and {n - 1}; got {index.min()} to {index.max()}")
    if out is None:
        out = np.array(X, order="C")
    else:
        if not isinstance(out, np.ndarray) or out.shape != X.shape or out.dtype != X.dtype:
            raise InputError(f"out must be an array of shape {X.shape} and dtype {X.dtype}")
        if out is not X:
            out[...] = X
    index = index.astype(np.int64, copy=False)
    rows_per_slice = 64
    for_slices(lambda a, b: project_rows(out, w, index, upper, a, b), k, rows_per_slice)
    return out


def into_omega(solution: Solution) -> Solution:
    """Return a solution with X in the set Ω of its problem exactly, without rounding errors.

    Entries that exceed their limits by at most 1e-6 of these limits are clipped, so that the
    objective is one that is attained. One further outside is an InputError.
    """
    problem = solution.problem
    _check_gates(solution)
    diagonal = np.clip(solution.diagonal, 0, 1)
    gates = diagonal[solution.support]
    is_inside = np.array_equal(diagonal, solution.diagonal)
    for k, i in enumerate(solution.support):
        row = solution.coef[k]
        limit = row_limits(problem, int(i), float(gates[k]))
        # written so that NaN is outside
        is_right = (row <= (1 + TOLERANCE) * limit) & (row >= -TOLERANCE * limit)
        is_within = (row >= 0) & (row <= limit)
        if problem.D is None:  # the gate itself
            is_right[i] = True
            is_within[i] = row[i] == gates[k]
        if not is_right.all():
            j = int(np.argmin(is_right))
            raise _refusal(int(i), j, float(row[j]), float(limit[j]))
        is_inside = is_inside and bool(is_within.all())
    if is_inside:
        return solution
    coef = solution.coef.copy()
    clip_to_gates(problem, solution.support, gates, coef)
    # objective, bound and scores belonged to another X
    point = replace(solution, coef=coef, diagonal=diagonal, scores=None)
    return replace(point, objective=np.nan, dual_bound=-np.inf)


def clip_to_gates(problem: Problem, support: Array, gates: Array, coef: Array) -> None:
    """Clip rows of X (k, n) to the limits that their gates set, in place and in their dtype."""

    def task(start: int, stop: int) -> None:
        for k in range(start, stop):
            clip_row(problem, int(support[k]), float(gates[k]), coef[k])

    for_slices(task, len(support), ROWS_PER_SLICE)


def clip_row(problem: Problem, row: int, gate: float, entries: Array) -> None:
    """Clip a row of X (n,) to the limits that its gate sets, in place and in its dtype."""
    limit = row_limits(problem, row, gate)
    rounded = limit.astype(entries.dtype)
    np.nextafter(rounded, entries.dtype.type(0), out=rounded, where=rounded > limit)
    np.clip(entries, 0, rounded, out=entries)
    if problem.D is None:
        entries[row] = gate


def row_limits(problem: Problem, row: int, gate: float) -> Array:
    """Return the most that the entries of a row may be, (n,): w_j t_i/v_i, rounded down."""
    if problem.v[row] == 0:
        return np.zeros(problem.n_points)
    # by more than the last digits of double precision
    rounded_down = 1 - 2.0**-50
    return np.asarray(rounded_down * (gate / problem.v[row]) * problem.w)


def _check_gates(solution: Solution) -> None:
    """Raise an error for gates outside [0, 1], and for a diagonal that is not that of X."""
    problem = solution.problem
    diagonal = solution.diagonal
    is_right = (diagonal >= -TOLERANCE) & (diagonal <= 1 + TOLERANCE)
    if not is_right.all():
        i = int(np.argmin(is_right))
        raise _refusal(i, i, float(diagonal[i]), 1.0)
    is_closed = np.ones(diagonal.size, dtype=bool)
    is_closed[solution.support] = False
    if diagonal[is_closed].any():
        i = int(np.argmax(is_closed & (diagonal != 0)))
        raise InputError(f"gate {i} is {diagonal[i]:.6g}, but row {i} is not in the support")
    if problem.D is None:
        own = solution.coef[np.arange(len(solution.support)), solution.support]
        is_wrong = ~(np.abs(own - diagonal[solution.support]) <= TOLERANCE)
        if is_wrong.any():
            k = int(np.argmax(is_wrong))
            i = int(solution.support[k])
            raise InputError(
                f"X[{i}, {i}] is {own[k]:.6g}, but its diagonal entry is {diagonal[i]:.6g}"
            )


def _refusal(i: int, j: int, value: float, allowed: float) -> InputError:
    limit = f"at most {allowed:.6g}"
    if value < 0:
        limit = "at least 0"
    if math.isnan(value):
        limit = "no NaN"
    return InputError(
        f"X is not feasible: X[{i}, {j}] is {value:.6g}, {limit} is allowed; "
        "project_omega returns the nearest feasible one"
    )
