"""The residual of a solution and its objective, in float64 whatever the dtype of the data."""

from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns
from selfdict.model.losses import Squared
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution
from selfdict.model.sparse import SparseResidual


def problem_of(solution: Solution) -> Problem:
    """Return the problem of a solution; anything else is no solution."""
    if not isinstance(solution, Solution):
        raise TypeError(f"expected a Solution, got {type(solution).__name__}")
    return solution.problem


def objective_value(solution: Solution) -> float:
    """Return the objective of a solution of model (6), in float64, without its bound."""
    problem = problem_of(solution)
    s = problem.s
    with single_threaded_blas():
        if problem.is_sparse or isinstance(problem.loss, Squared):
            fit = 0.5 * float(s @ squared_residuals(problem, solution))
        else:
            fit = problem.loss.total(residual(problem.M, solution, problem.D), s)
        return fit + problem.require_mu() * weighted_trace(problem, solution)


def weighted_trace(problem: Problem, solution: Solution) -> float:
    """Return pᵀdiag(X) over the open rows: the price of a closed one may be infinite."""
    support = solution.support
    return float(problem.p[support] @ solution.diagonal[support].astype(np.float64))


def squared_residuals(problem: Problem, solution: Solution) -> Array:
    """Return the squared norms of the columns of the residual."""
    if problem.is_sparse:
        return sparse_residual(problem.M, solution).square
    return squared_norms(residual(problem.M, solution, problem.D))


def residual(M: Array, solution: Solution, D: Array | None = None, device: Any = None) -> Array:
    """Return R = M − D X in float64, from the non-zero rows of X.

    ``D`` is by default M; ``device`` (None for the CPU) is where the product is taken.
    """
    R = M.astype(np.float64)
    if solution.support.size == 0:
        return R
    atoms = M
    if D is not None:
        atoms = D
    atoms = atoms[:, solution.support].astype(np.float64)
    if device is None:
        coef = solution.coef
        columns_per_slice = 4096

        def task(start: int, stop: int) -> None:
            R[:, start:stop] -= atoms @ coef[:, start:stop].astype(np.float64, copy=False)

        # slices of columns, so that the bits do not depend on the number of threads
        with single_threaded_blas():
            for_slices(task, R.shape[1], columns_per_slice)
    else:
        from selfdict.gpu.matrix import multiply

        R -= multiply(atoms, solution.coef, device)
    return R


def sparse_residual(M: Any, solution: Solution) -> SparseResidual:
    """Return the residual of sparse M, which is not formed."""
    D = dense_columns(M, solution.support).astype(np.float64)
    return SparseResidual.of(M, D, solution.coef.T.astype(np.float64))
