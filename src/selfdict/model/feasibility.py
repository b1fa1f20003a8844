"""Whether an X from outside is feasible: only then is its objective one that can be attained."""

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.objective import problem_of, squared_residuals
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution

# relative: room for solvers of all kinds, and for their rounding
TOLERANCE = 1e-6


def check_feasible(solution: Solution) -> None:
    """Raise :class:`selfdict.InputError` if the X of a solution is not in the set Ω of its problem.

    Without a dictionary that is 0 ≤ X, X_ii ≤ 1 and w_i X_ij ≤ w_j X_ii. With one, the gates t_i
    take the place of X_ii, and the weights v_i of the atoms that of w_i.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Problem, Solution
    >>> from selfdict.model.feasibility import check_feasible
    >>> problem = Problem([[1.0, 0.0], [0.0, 1.0]], mu=0.1)
    >>> X = np.array([[0.5, 0.7], [0.0, 0.0]])
    >>> check_feasible(Solution.from_matrix(X, problem))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    selfdict._errors.InputError: X is not feasible: X[0, 1] is 0.7, at most 0.5 is allowed; ...
    """
    problem = problem_of(solution)
    gates = solution.diagonal[solution.support].astype(np.float64)
    too_large = gates > 1 + TOLERANCE
    if too_large.any():
        k = int(np.argmax(too_large))
        i = int(solution.support[k])
        raise _refusal(i, i, gates[k], 1.0)
    allowed_per_weight = _allowed_per_weight(problem, solution.support, gates)
    for k, i in enumerate(solution.support):
        row = solution.coef[k].astype(np.float64)
        allowed = allowed_per_weight[k] * problem.w
        room = TOLERANCE * (allowed + allowed_per_weight[k] * problem.w.max())
        is_wrong = (row > allowed + room) | (row < -room)
        if is_wrong.any():
            j = int(np.argmax(is_wrong))
            raise _refusal(int(i), j, row[j], float(allowed[j]))


def check_residual(solution: Solution) -> None:
    """Raise :class:`selfdict.InputError` if the residual is larger than model (4) allows."""
    problem = problem_of(solution)
    epsilon = problem.epsilon
    if epsilon is None:
        return
    s = problem.s
    norm = np.sqrt(s @ squared_residuals(problem, solution))
    room = TOLERANCE * (epsilon + np.sqrt(s @ squared_norms(problem.M)))
    if norm > epsilon + room:
        raise InputError(
            f"X is not feasible: the norm of the residual is {norm:.6g}, at most {epsilon:.6g} is "
            "allowed"
        )


def _allowed_per_weight(problem: Problem, rows: Array, gates: Array) -> Array:
    """Return t_i/v_i, which times w_j is the most that X_ij may be; 0 for atoms without weight."""
    v = problem.v[rows]
    quotient = np.zeros(len(rows))
    np.divide(np.minimum(gates, 1.0), v, out=quotient, where=v > 0)
    return quotient


def _refusal(i: int, j: int, value: float, allowed: float) -> InputError:
    limit = f"at most {allowed:.6g}"
    if value < 0:
        limit = "at least 0"
    return InputError(
        f"X is not feasible: X[{i}, {j}] is {value:.6g}, {limit} is allowed; "
        "project_omega returns the nearest feasible one"
    )
