"""Bounds for proofs: solves with some rows closed, quick bounds without them, the rank limit.

*Quick bounds.* Let θ = cR be the multiplier of a solution, D(θ) its dual bound, and
ρ_i = max(0, π_i'(0) − cσ_i) the room that row i has below its penalty. A gate is at most one, so
that a row takes at most max(0, σ_i(δ) − ρ_i) more off the bound at θ + δ than at θ. Therefore the
optimum without the rows of a group is at least

    D(θ) + max_δ Σ_j (δ_jᵀ(m_j − c r_j) − ½‖δ_j‖²/s_j) − Σ_{i outside} max(0, σ_i(δ) − ρ_i),

where the maximum is the optimum of a model of the same kind: its columns are m_j − c r_j, about
what the solution explains, and its prices ρ. Every δ gives a bound. With δ_j = s_j u_j ϑ for all
columns j of a cluster, each cluster becomes one column, and the model is small.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from selfdict._validation import Array, as_scalar
from selfdict.compute.deadline import Deadline
from selfdict.compute.linear_algebra import smaller_moments
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.model.certificate import certify, objective_value, residual_of
from selfdict.model.dual import closed_rows, dot_error
from selfdict.model.losses import Squared
from selfdict.model.memory_rows import RowClusters
from selfdict.model.problem import Problem
from selfdict.model.residual import DenseResidual, lengths
from selfdict.model.scores import positive_norms
from selfdict.model.solution import Solution, Status, consistent_bound
from selfdict.solvers.search_data import fit_within_gates
from selfdict.solvers.working_set import WorkingSet

# relative gaps: bounds are percentages, and the last digits of a solve would prove nothing more
FINE_TOLERANCE = 2e-4
COARSE_TOLERANCE = 5e-3
# Of more points the solver tries samples first, unless it has a start. That finds the rows that
# take the place of others in half the time.
FEW_POINTS = 2000
# quick bounds: columns of the small model, and columns and rows that gates are found with
N_CLUSTERS = 100
SAMPLE_COLUMNS = 4000
SAMPLE_ROWS = 2000
QUICK_TOLERANCE = 2e-2


class DualPoint:
    """The multiplier θ = cR of a solution of model (6), R its residual, and what it proves."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.problem = solution.problem
        with single_threaded_blas():
            self.residual = residual_of(solution)
            self.terms = self.residual.dual_terms()
            self.reached = self.residual.objective().from_above
        self.scaling, self.bound = self.terms.best_scaling(self.problem.penalty)

    def closed_rows(self) -> Array:
        """Return which rows are zero at every optimum, (d,) of bool."""
        problem = self.problem
        form = problem.squared_form
        closed = closed_rows(
            self.reached,
            consistent_bound(self.bound, self.reached, 0.0),
            self.scaling,
            self.terms.scores,
            lengths(np.sqrt(squared_norms(form.atoms)), problem.v),
            float(form.s @ problem.w**2),
            problem.n_points,
            problem.penalty.slope,
        )
        return np.asarray(closed | (problem.v == 0))

    @property
    def R(self) -> Array:
        """The residual, (m, n)."""
        assert isinstance(self.residual, DenseResidual)  # quick bounds are for dense data
        return self.residual.R

    @property
    def is_quick(self) -> bool:
        """Whether quick bounds are known for this kind of problem."""
        problem = self.problem
        is_plain = isinstance(problem.loss, Squared) and not problem.is_sparse
        return is_plain and problem.require_mu() > 0

    def enough(self, groups: tuple[Array, ...], solver: "LimitedSolver") -> float:
        """Return how much worse the groups alone are at most, from gates found with a sample."""
        problem = self.problem
        rows = np.concatenate(groups)
        used = self.solution.diagonal[rows] > 0
        nearness = np.where(used, np.inf, self.terms.scores[rows] / problem.penalty.slope[rows])
        rows = np.sort(rows[np.argsort(-nearness, kind="stable")[:SAMPLE_ROWS]])
        n = problem.n_points
        columns = np.arange(n)
        if n > SAMPLE_COLUMNS:
            columns = np.sort(np.random.default_rng(0).choice(n, SAMPLE_COLUMNS, replace=False))
        sample = Problem(
            problem.M[:, columns],
            problem.mu,
            D=problem.atoms[:, rows],
            sample_weight=problem.s[columns] * (n / len(columns)),
            smooth=problem.smooth,
        ).changed(w=problem.w[columns], v=problem.v[rows], p=problem.p[rows])
        gates = solver.solve(sample, COARSE_TOLERANCE, None)
        found = fit_within_gates(problem, rows[gates.support], gates.diagonal[gates.support])
        attained = objective_value(found).from_above
        bound = max(self.bound, self.solution.dual_bound)
        # with fewer rows open the optimum is not lower
        return attained / consistent_bound(bound, attained, 0.0) - 1

    def all_needed(self, groups: tuple[Array, ...], solver: "LimitedSolver") -> Array:
        """Return by how much the objective rises at least if each group may not be used."""
        # Where there is no room, a price of nothing would do. A small one raises the optimum by no
        # more than itself.
        prices = np.maximum(self.room, 1e-9 * float(self.problem.penalty.slope.mean()))
        raised = float((prices - self.room).sum())
        # Sums over columns are off by γ_n of the sums of absolute values. Those of the products
        # with δ are within the squares of the columns, and a few times that is room enough.
        rounding = 16 * dot_error(sum(self.problem.M.shape)) * self.square
        needed = np.zeros(len(groups))
        for k, group in enumerate(groups):
            # without a weight in the group, the solution does without it already
            if not self.solution.diagonal[group].any() or not solver.has_time():
                continue
            p = prices.copy()
            p[group] = np.inf
            small = self.clustered.changed(p=p)
            gates = self.solution.diagonal > 0  # these are paid for already
            gates[group] = False
            start = _with_gates(small, gates.astype(np.float64))
            gain = solver.solve(small, QUICK_TOLERANCE, start).dual_bound
            bound = self.bound + gain - raised - rounding
            needed[k] = max(0.0, bound / self.reached - 1)
        return needed

    @cached_property
    def room(self) -> Array:
        """By how much the scores are below the penalties, (d,), from below."""
        slope = self.problem.penalty.slope
        room = slope * (1 - 1e-12) - self.scaling * self.terms.scores
        return np.maximum(room, 0.0)

    @cached_property
    def square(self) -> float:
        """Σ_j s_j (‖m_j‖² + ‖r_j‖²)."""
        problem = self.problem
        return float(problem.s @ (squared_norms(problem.M) + squared_norms(self.R)))

    @cached_property
    def clustered(self) -> Problem:
        """The model of the clusters of what the solution explains, without its prices."""
        problem = self.problem
        explained = problem.M - self.scaling * self.R
        # as many clusters as bounds on the scores of this many rows would be taken with
        clusters = RowClusters.of(explained, positive_norms(explained), N_CLUSTERS**2 // 16)
        labels = clusters.labels
        u = np.abs(explained).sum(axis=0)
        u /= u.max()
        square = np.bincount(labels, problem.s * u * u)
        filled = np.flatnonzero(square)
        square = square[filled]
        sums = [np.bincount(labels, problem.s * u * band)[filled] for band in explained]
        # from above, as the scores of the rows are
        more = 1 + 2 * dot_error(problem.n_points)
        w = more * np.bincount(labels, problem.s * u * problem.w)[filled]
        small = Problem(np.stack(sums) / square, 1.0, D=problem.atoms, sample_weight=square)
        return small.changed(w=w / square, v=problem.v)


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

    def has_time(self, seconds: float = 0.0) -> bool:
        """Whether another solve may begin, which is expected to take this long."""
        has_time = self.deadline.left is None or self.deadline.left > seconds
        if not has_time:
            self.complete = False
        return has_time

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
    seconds: float = 0.0  # that a solve is expected to take
    few_points: int = FEW_POINTS

    def enough(self, groups: tuple[Array, ...]) -> float:
        """Return how much worse the groups alone are at most."""
        bound = self.solution.dual_bound
        others = np.setdiff1d(np.arange(self.solution.diagonal.size), np.concatenate(groups))
        if not bound > 0 or not self.solver.has_time(self.seconds):
            return np.inf
        found = self.solution
        # rows that are not used need not be closed
        if found.diagonal[others].any():
            found = self._without(others, COARSE_TOLERANCE)
        loss = found.objective / bound - 1
        room = (found.objective - found.dual_bound) / bound
        # Two digits of a loss are enough; a small one needs a finer solve.
        if room > max(FINE_TOLERANCE, 0.05 * loss) and self.solver.has_time(self.seconds):
            found = self._without(others, FINE_TOLERANCE, found)
        attained = objective_value(found).from_above
        # with fewer rows open the optimum is not lower
        return attained / consistent_bound(bound, attained, 0.0) - 1

    def needed(self, group: Array) -> float:
        """Return by how much the objective rises at least if a group may not be used."""
        # without a weight in the group, the solution does without it already
        is_idle = not self.solution.diagonal[group].any()
        if is_idle or not self.solver.has_time(self.seconds):
            return 0.0
        reached = objective_value(self.solution).from_above
        if not reached > 0:
            return 0.0
        found = self._without(group, COARSE_TOLERANCE)
        rise = found.objective / reached - 1
        known = found.dual_bound / reached - 1
        # Two digits of a rise are enough; a small one needs a finer solve.
        if rise - known > max(FINE_TOLERANCE, 0.05 * rise) and self.solver.has_time(self.seconds):
            found = self._without(group, FINE_TOLERANCE, found)
            known = max(known, found.dual_bound / reached - 1)
        return max(0.0, known)

    def _without(self, rows: Array, tol: float, start: Solution | None = None) -> Solution:
        """Solve the problem with some rows closed, from a start if there is a good one."""
        problem = self.solution.problem
        p = problem.p.copy()
        p[rows] = np.inf  # an infinite price: never opened, and no part of the bound
        restricted = problem.changed(p=p)
        gates = self.solution.diagonal.copy()
        gates[rows] = 0.0
        if rows.size == problem.n_atoms:
            # X = 0 is all that is left
            return certify(_with_gates(restricted, gates))
        if start is None and problem.n_points <= self.few_points:
            start = _with_gates(restricted, gates)
        return self.solver.solve(restricted, tol, start)


def _with_gates(problem: Problem, gates: Array) -> Solution:
    """Return a start with these gates (d,), and without entries."""
    support = np.flatnonzero(gates)
    coef = np.zeros((support.size, problem.n_points), dtype=problem.M.dtype)
    return Solution(support=support, coef=coef, diagonal=gates, problem=problem)
