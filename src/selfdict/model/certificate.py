"""The certificate of a feasible X: its objective, a dual bound, and the gap between them."""

from dataclasses import replace

from selfdict._errors import InputError
from selfdict.compute.device import Device, choose_device
from selfdict.compute.threads import single_threaded_blas
from selfdict.model.omega import TOLERANCE, into_omega
from selfdict.model.residual import DenseResidual, Objective, Residual
from selfdict.model.solution import Solution, consistent_bound, problem_of
from selfdict.model.sparse import SparseResidual


def certify(solution: Solution, /, *, device: Device = None) -> Solution:
    """Return ``solution`` with its objective and a dual bound, both computed in float64.

    The cost is one product MᵀR, computed in blocks; no n×n array is stored. The bound is a proof:
    the optimum of the solution's problem is never below ``dual_bound``.

    Parameters
    ----------
    solution : Solution
        Any feasible X with its problem: from a solver of this package, or from
        :meth:`Solution.from_matrix`. One that violates a constraint by more than 1e-6 of its limit
        is refused: its objective says nothing about the optimum. Smaller violations of Ω are
        clipped.
    device : {None, "cpu", "cuda"}, optional
        The device of the products; see :doc:`/large-data`.

    Returns
    -------
    Solution
        A copy with ``objective`` and ``dual_bound``, and therefore ``gap`` = (objective −
        dual_bound)/objective. Its X is in Ω.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Problem, Solution, certify
    >>> problem = Problem([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], mu=0.25)
    >>> X = np.array([[0.8, 0.0, 0.4], [0.0, 0.8, 0.4], [0.0, 0.0, 0.0]])
    >>> solution = certify(Solution.from_matrix(X, problem))
    >>> round(solution.objective, 3), round(solution.gap, 3)
    (0.45, 0.151)
    """
    epsilon = problem_of(solution).epsilon
    solution = into_omega(solution)
    if epsilon is not None:
        norm, error = residual_of(solution).norm()
        if not norm - error <= (1 + TOLERANCE) * epsilon:
            raise InputError(
                f"X is not feasible: the norm of the residual is {norm:.6g}, at most {epsilon:.6g} "
                "is allowed"
            )
    return with_certificate(solution, device)


def with_certificate(solution: Solution, device: Device = None) -> Solution:
    """Return a solution with its objective and bound, as :func:`certify`, without any check."""
    problem = solution.problem
    where = choose_device(device, problem.M)
    if device is None:
        where = problem.data_device
    # BLAS on several threads rounds in another order
    with single_threaded_blas():
        residual = residual_of(solution, where)
        terms = residual.dual_terms()
        objective = residual.objective()
        if problem.epsilon is None:
            bound = terms.bound(problem.penalty)
        else:
            # A residual may exceed ε within the tolerance. X is feasible for an ε as large as that,
            # and the optimum for a larger ε is not above that for ε: its bound is one for both.
            epsilon = max(problem.epsilon, sum(residual.norm()))
            bound = terms.constrained_bound(epsilon, problem.p)
    bound = consistent_bound(bound, objective.value, objective.rounding)
    return replace(solution, objective=objective.value, dual_bound=bound)


def residual_of(solution: Solution, device: Device = None) -> Residual:
    """Return the residual of a solution; ``device`` (None for the CPU) is where it is computed."""
    if solution.problem.is_sparse:
        return SparseResidual(solution)
    return DenseResidual(solution, device)


def objective_value(solution: Solution) -> Objective:
    """Return the objective of a solution, in float64, without its bound."""
    with single_threaded_blas():
        return residual_of(solution).objective()
