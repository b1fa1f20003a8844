"""Two limits of model (6): rows that are zero at every optimum, and the error of any r spectra."""

from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.compute.span import smaller_moments
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.certificate import dense_terms, lengths, sparse_terms
from selfdict.model.dual import DualTerms, best_scaling, dot_error
from selfdict.model.objective import problem_of, residual
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution


def closed_rows(solution: Solution) -> Array:
    """Return which rows are zero at every optimum, (d,) of bool."""
    problem = problem_of(solution)
    terms = _terms(problem, solution)
    mu = problem.require_mu()
    penalty = mu * problem.p
    c, bound = best_scaling(terms.linear, terms.quadratic, terms.scores, penalty)
    support = solution.support
    trace = float(problem.p[support] @ solution.diagonal[support].astype(np.float64))
    objective = 0.5 * terms.quadratic + mu * trace
    gap = max(0.0, objective - bound) + 8 * np.finfo(float).eps * objective
    s = problem.loss.weigh(problem.s)
    reach = np.sqrt(2 * gap * float(s @ problem.w**2)) * (1 + dot_error(len(s)))
    form = problem.squared_form
    atoms = form.M
    if form.D is not None:
        atoms = form.D
    distance = lengths(np.sqrt(squared_norms(atoms)), problem.v) * reach
    closed: Array = (c * terms.scores + distance < penalty) | (problem.v == 0)
    return closed


def _terms(problem: Problem, solution: Solution) -> DualTerms:
    """Return the terms of the dual bound at the residual of a solution."""
    if problem.is_sparse:
        return sparse_terms(problem, solution)
    return dense_terms(problem, residual(problem.M, solution, problem.D))


def rank_limit(M: Any, r: int) -> float:
    """Return ‖M − M_r‖_F/‖M‖_F for the best approximation M_r of rank r, from below."""
    moments = smaller_moments(M)
    power = np.linalg.eigvalsh(moments)[::-1]
    total = float(np.trace(moments))
    if not total > 0:
        return 0.0
    # eigenvalues are off by no more than a multiple of the largest one's last digit
    rounding = dot_error(sum(M.shape)) * len(power) * float(power[0])
    rest = max(0.0, float(power[r:].sum()) - rounding)
    return float(np.sqrt(rest / total))
