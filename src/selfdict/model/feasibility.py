"""Whether an X is in Ω, and the X in Ω next to it: only such an objective can be attained."""

import math
from dataclasses import replace

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.threads import for_slices
from selfdict.model.objective import problem_of, residual_norm
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution

# relative to the limit of an entry: room for solvers of all kinds, and for their rounding
TOLERANCE = 1e-6
# limits are rounded down by more than the last digits of double precision
ROUNDED_DOWN = 1 - 2.0**-50
ROWS_PER_SLICE = 8


def into_omega(solution: Solution) -> Solution:
    """Return a solution whose X is in the set Ω of its problem, up to no rounding error at all.

    Without a dictionary that is 0 ≤ X, X_ii ≤ 1 and w_i X_ij ≤ w_j X_ii. With one, the gates t_i
    take the place of X_ii, and the weights v_i of the atoms that of w_i. Entries that leave Ω by at
    most 1e-6 of their own limit are clipped to it, so that the objective is one that is attained.

    Raises
    ------
    InputError
        If an entry is further outside than that.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Problem, Solution
    >>> from selfdict.model.feasibility import into_omega
    >>> problem = Problem([[1.0, 0.0], [0.0, 1.0]], mu=0.1)
    >>> X = np.array([[0.5, 0.7], [0.0, 0.0]])
    >>> into_omega(Solution.from_matrix(X, problem))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    selfdict._errors.InputError: X is not feasible: X[0, 1] is 0.7, at most 0.5 is allowed; ...
    """
    problem = problem_of(solution)
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
    # objective and bound belonged to another X
    return replace(solution, coef=coef, diagonal=diagonal, objective=np.nan, dual_bound=-np.inf)


def clip_to_gates(problem: Problem, support: Array, gates: Array, coef: Array) -> None:
    """Clip rows of X (k, n) to the limits that their gates set, in place and in their dtype."""

    def task(start: int, stop: int) -> None:
        for k in range(start, stop):
            row = int(support[k])
            limit = row_limits(problem, row, float(gates[k]))
            rounded = limit.astype(coef.dtype)
            is_above = rounded > limit
            rounded[is_above] = np.nextafter(rounded[is_above], coef.dtype.type(0))
            np.clip(coef[k], 0, rounded, out=coef[k])
            if problem.D is None:
                coef[k, row] = gates[k]

    for_slices(task, len(support), ROWS_PER_SLICE)


def row_limits(problem: Problem, row: int, gate: float) -> Array:
    """Return the most that the entries of a row may be, (n,): w_j t_i/v_i, rounded down."""
    if problem.v[row] == 0:
        return np.zeros(problem.n_points)
    return np.asarray(ROUNDED_DOWN * (gate / problem.v[row]) * problem.w)


def check_residual(solution: Solution) -> None:
    """Raise :class:`selfdict.InputError` if the residual is larger than model (4) allows.

    Apart from rounding errors of its norm, at most 1e-6 of ε is let pass. The bound is then that of
    the larger ε.
    """
    problem = problem_of(solution)
    epsilon = problem.epsilon
    if epsilon is None:
        return
    norm, error = residual_norm(solution)
    if not norm - error <= (1 + TOLERANCE) * epsilon:
        raise InputError(
            f"X is not feasible: the norm of the residual is {norm:.6g}, at most {epsilon:.6g} is "
            "allowed"
        )


def _check_gates(solution: Solution) -> None:
    """Raise an error for gates outside [0, 1], and for a diagonal that is not that of X."""
    problem = problem_of(solution)
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
