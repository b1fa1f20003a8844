"""Two limits of model (6): rows that are zero at every optimum, and the error of any r spectra."""

from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.compute.span import smaller_moments
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.certificate import dense_terms, lengths, sparse_terms
from selfdict.model.dual import DualTerms, dot_error
from selfdict.model.objective import objective_value, problem_of, residual, sparse_residual
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, consistent_bound


def closed_rows(solution: Solution) -> Array:
    """Return which rows are zero at every optimum, (d,) of bool."""
    problem = problem_of(solution)
    terms = _terms(problem, solution)
    penalty = problem.penalty
    c, bound = terms.best_scaling(penalty)
    attained = objective_value(solution).from_above
    gap = attained - consistent_bound(bound, attained, 0.0)
    gap += 8 * np.finfo(float).eps * attained
    s = problem.loss.weigh(problem.s)
    # two roots: the product might leave the range
    reach = np.sqrt(2 * gap) * np.sqrt(float(s @ problem.w**2)) * (1 + dot_error(len(s)))
    form = problem.squared_form
    atoms = form.M
    if form.D is not None:
        atoms = form.D
    distance = lengths(np.sqrt(squared_norms(atoms)), problem.v) * reach
    closed: Array = (c * terms.scores + distance < penalty.slope) | (problem.v == 0)
    return closed


def _terms(problem: Problem, solution: Solution) -> DualTerms:
    """Return the terms of the dual bound at the residual of a solution."""
    if problem.is_sparse:
        return sparse_terms(problem, sparse_residual(problem.M, solution))
    return dense_terms(problem, residual(problem.M, solution, problem.D))


def rank_limit(M: Any, r: int) -> float:
    """Return ‖M − M_r‖_F/‖M‖_F for the best approximation M_r of rank r, from below."""
    moments = smaller_moments(M)
    power = np.linalg.eigvalsh(moments)[::-1]
    total = float(np.trace(moments))
    if not total > 0:
        return 0.0
    # Products are off by γ_k ‖m_i‖‖m_j‖, and eigenvalues by as many of their last digits as there
    # are: a sum of them by no more than that part of the trace.
    rounding = dot_error(sum(M.shape)) * len(power) * total
    rest = max(0.0, float(power[r:].sum()) - rounding)
    return float(np.sqrt(rest / total) * (1 - dot_error(len(power))))
