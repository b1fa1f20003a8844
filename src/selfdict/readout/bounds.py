"""Bounds for proofs: solves with some rows closed, rows that no optimum opens, the rank limit."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._validation import Array, as_scalar
from selfdict.compute.deadline import Deadline
from selfdict.compute.linear_algebra import smaller_moments
from selfdict.kernels.columns import squared_norms
from selfdict.model.certificate import certify, dense_terms, lengths, sparse_terms
from selfdict.model.dual import DualTerms, dot_error
from selfdict.model.objective import objective_value, residual, sparse_residual
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, Status, consistent_bound
from selfdict.solvers.working_set import WorkingSet

# relative gaps: bounds are percentages, and the last digits of a solve would prove nothing more
FINE_TOLERANCE = 2e-4
COARSE_TOLERANCE = 5e-3
# Of more points the solver tries samples first, unless it has a start. That finds the rows that
# take the place of others in half the time.
FEW_POINTS = 2000


def closed_rows(solution: Solution) -> Array:
    """Return which rows are zero at every optimum, (d,) of bool."""
    problem = solution.problem
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


class LimitedSolver:
    """Solves within a time limit for each solve, and another one for all of them."""

    def __init__(self, budget: float | None, max_seconds: float | None) -> None:
        if max_seconds is not None:
            max_seconds = as_scalar(max_seconds, "max_seconds")
        self.max_seconds = max_seconds
        self.deadline = Deadline(budget, "budget")
        self.complete = True  # whether no solve was left out or ended early

    def has_time(self) -> bool:
        """Whether another solve may begin."""
        has_passed = self.deadline.passed
        if has_passed:
            self.complete = False
        return not has_passed

    def solve(self, problem: Problem, tol: float, start: Solution | None) -> Solution:
        """Solve a problem in the time that is left."""
        limits = [limit for limit in (self.deadline.left, self.max_seconds) if limit is not None]
        solver = WorkingSet(tol=tol, max_seconds=min(limits, default=None))
        solution = solver.solve(problem, start=start)
        if solution.status in (Status.MAX_SECONDS, Status.INTERRUPTED):
            self.complete = False
        if solution.status is Status.INTERRUPTED:
            self.deadline = Deadline(0.0)  # no further solve
        return solution


@dataclass(frozen=True)
class Trials:
    """The problem of a solution, solved again with some rows closed."""

    solution: Solution
    solver: LimitedSolver
    few_points: int = FEW_POINTS

    def enough(self, groups: tuple[Array, ...]) -> float:
        """Return how much worse the groups alone are at most."""
        bound = self.solution.dual_bound
        others = np.setdiff1d(np.arange(self.solution.diagonal.size), np.concatenate(groups))
        if not bound > 0 or not self.solver.has_time():
            return np.inf
        found = self.solution
        # rows that are not used need not be closed
        if found.diagonal[others].any():
            found = self._without(others, COARSE_TOLERANCE)
        loss = found.objective / bound - 1
        room = (found.objective - found.dual_bound) / bound
        # Two digits of a loss are enough; a small one needs a finer solve.
        if room > max(FINE_TOLERANCE, 0.05 * loss) and self.solver.has_time():
            found = self._without(others, FINE_TOLERANCE, found)
        attained = objective_value(found).from_above
        # with fewer rows open the optimum is not lower
        return attained / consistent_bound(bound, attained, 0.0) - 1

    def needed(self, group: Array) -> float:
        """Return by how much the objective rises at least if a group may not be used."""
        reached = objective_value(self.solution).from_above
        # without a weight in the group, the solution does without it already
        is_idle = not self.solution.diagonal[group].any()
        if not reached > 0 or is_idle or not self.solver.has_time():
            return 0.0
        found = self._without(group, COARSE_TOLERANCE)
        rise = found.objective / reached - 1
        known = found.dual_bound / reached - 1
        # Two digits of a rise are enough; a small one needs a finer solve.
        if rise - known > max(FINE_TOLERANCE, 0.05 * rise) and self.solver.has_time():
            found = self._without(group, FINE_TOLERANCE, found)
            known = max(known, found.dual_bound / reached - 1)
        return max(0.0, known)

    def _without(self, rows: Array, tol: float, start: Solution | None = None) -> Solution:
        """Solve the problem with some rows closed, from a start if there is a good one."""
        solution = self.solution
        problem = solution.problem
        p = problem.p.copy()
        p[rows] = np.inf  # an infinite price: never opened, and no part of the bound
        if rows.size == problem.n_atoms:
            # X = 0 is all that is left
            return certify(_closed_at(solution, rows).for_problem(problem.changed(p=p)))
        if start is None and problem.n_points <= self.few_points:
            start = _closed_at(solution, rows)
        return self.solver.solve(problem.changed(p=p), tol, start)


def _closed_at(solution: Solution, rows: Array) -> Solution:
    """Return the diagonal of a solution without some rows, as a start."""
    diagonal = solution.diagonal.copy()
    diagonal[rows] = 0.0
    support = np.flatnonzero(diagonal)
    n_points = solution.problem.n_points
    coef = np.zeros((support.size, n_points), dtype=solution.coef.dtype)
    return replace(solution, support=support, coef=coef, diagonal=diagonal)
