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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.compute.deadline import Deadline
from selfdict.compute.linear_algebra import smaller_moments
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.columns import column_norms, squared_norms
from selfdict.model.certificate import (
    DenseResidual,
    certify,
    lengths,
    objective_value,
    residual_of,
    with_certificate,
)
from selfdict.model.dual import closed_rows, dot_error
from selfdict.model.losses import Squared
from selfdict.model.problem import Problem
from selfdict.model.scores import RowClusters, positive_norms
from selfdict.model.solution import Solution, Status, consistent_bound
from selfdict.solvers.search import objective_within_gates
from selfdict.solvers.working_set import WorkingSet

# relative gaps: bounds are percentages, and the last digits of a solve would prove nothing more
FINE_TOLERANCE = 2e-4
COARSE_TOLERANCE = 5e-3
# rows, and columns, of the small models that quick bounds are found with
MOST_IN_MODELS = 8000


class DualPoint:
    """The multiplier θ = cR of a solution of model (6), R its residual, and what it proves."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.problem = solution.problem
        with single_threaded_blas():
            self.residual = residual_of(solution)
            self.terms = self.residual.dual_terms(solution.scores)
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
    def is_quick(self) -> bool:
        """Whether quick bounds are known for this kind of problem."""
        problem = self.problem
        is_plain = isinstance(problem.loss, Squared) and not problem.is_sparse
        return is_plain and problem.require_mu() > 0

    def enough(self, groups: tuple[Array, ...], solver: "LimitedSolver") -> float:
        """Return how much worse the groups alone are at most, from gates found with a sample."""
        problem = self.problem
        bound = max(self.bound, self.solution.dual_bound)
        if not bound > 0:
            return np.inf
        rows = np.concatenate(groups)
        used = self.solution.diagonal[rows] > 0
        nearness = np.where(used, np.inf, self.terms.scores[rows] / problem.penalty.slope[rows])
        rows = np.sort(rows[np.argsort(-nearness, kind="stable")[:MOST_IN_MODELS]])
        columns = np.arange(problem.n_points)
        if len(columns) > MOST_IN_MODELS:
            columns = np.random.default_rng(0).choice(len(columns), MOST_IN_MODELS, replace=False)
        gates = solver.solve(_part(problem, rows, np.sort(columns)), COARSE_TOLERANCE, None)
        support = gates.support
        attained = objective_within_gates(problem, rows[support], gates.diagonal[support])
        return _excess(attained, bound)

    def needed(self, groups: tuple[Array, ...], solver: "LimitedSolver") -> Array:
        """Return by how much the objective rises at least if each group may not be used."""
        problem = self.problem
        assert isinstance(self.residual, DenseResidual)  # see is_quick
        R = self.residual.R
        slope = problem.penalty.slope
        room = np.maximum(slope * (1 - 1e-12) - self.scaling * self.terms.scores, 0.0)
        # Where there is no room, a price of nothing would do. A small one raises the optimum by no
        # more than itself.
        prices = np.maximum(room, 1e-9 * float(slope.mean()))
        raised = float((prices - room).sum())
        # Sums over columns are off by γ_n of the sums of absolute values. Those of the products
        # with δ are within the squares of the columns, and a few times that is room enough.
        square = float(problem.s @ (squared_norms(problem.M) + squared_norms(R)))
        rounding = 16 * dot_error(sum(problem.M.shape)) * square
        explained = np.empty_like(R)

        def explain(start: int, stop: int) -> None:
            part = slice(start, stop)
            np.subtract(problem.M[:, part], self.scaling * R[:, part], out=explained[:, part])

        for_slices(explain, problem.n_points, 4096)
        if not problem.s @ squared_norms(explained) > 0:
            return np.zeros(len(groups))
        clustered, unit = _clustered(problem, explained)
        # rows with more room than these are unlikely to be opened
        near = np.sort(np.argsort(prices / slope, kind="stable")[:MOST_IN_MODELS])
        few = _part(clustered, near, np.arange(clustered.n_points))

        def needed(start: int, stop: int) -> float:
            group = groups[start]
            # without a weight in the group, the solution does without it already
            if not self.solution.diagonal[group].any() or not solver.has_time():
                return 0.0
            p = prices.copy()
            p[group] = np.inf
            gates = (self.solution.diagonal > 0).astype(np.float64)  # these are paid for already
            gates[group] = 0.0
            small = few.changed(p=p[near])
            found = solver.solve(small, 2e-2, _with_gates(small, gates[near]))
            gates = np.zeros(problem.n_atoms)
            gates[near] = found.diagonal
            lifted = replace(
                found, problem=clustered.changed(p=p), support=near[found.support], diagonal=gates
            )
            gain = unit * with_certificate(lifted).dual_bound
            bound = self.bound + gain - raised - rounding
            return max(0.0, bound / self.reached - 1)

        # the columns are too few to be shared by several threads
        return np.array(for_slices(needed, len(groups), 1))


def _part(problem: Problem, rows: Array, columns: Array) -> Problem:
    """Return the problem with some of its atoms, and columns that stand for all."""
    part = Problem(
        problem.M[:, columns],
        problem.mu,
        D=problem.atoms[:, rows],
        sample_weight=problem.s[columns] * (problem.n_points / len(columns)),
        smooth=problem.smooth,
    )
    return part.changed(w=problem.w[columns], v=problem.v[rows], p=problem.p[rows])


def _clustered(problem: Problem, explained: Array) -> tuple[Problem, float]:
    """Return a model of 100 clusters of what a solution explains, without prices, and its unit."""
    # The unit is what an objective of one stands for: numbers stay in range, whatever is explained.
    # RowClusters takes as many as bounds on the scores of this many rows would be taken with
    labels = RowClusters.of(explained, positive_norms(explained), 100**2 // 16).labels
    u = column_norms(explained)
    largest = _power_of_two(u.max())
    u /= largest
    square = np.bincount(labels, problem.s * u * u)
    energy = _power_of_two(square.max())
    # for columns of which hardly anything is explained, δ = 0
    filled = np.flatnonzero(square > 1e-25 * energy)
    square = square[filled]
    sums = [np.bincount(labels, problem.s * u * band)[filled] for band in explained]
    # from above, as the scores of the rows are
    more = 1 + 2 * dot_error(problem.n_points)
    w = more * np.bincount(labels, problem.s * u * problem.w)[filled]
    unit = energy * largest**2
    M = np.stack(sums) / square / largest
    small = Problem(M, 1 / unit, D=problem.atoms, sample_weight=square / energy)
    return small.changed(w=w / square / largest, v=problem.v), unit


def _power_of_two(size: float) -> float:
    """Return a power of two near a size: units that are one change no digit."""
    return float(2.0 ** np.round(np.log2(size)))


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
    """Solves within a time limit for all solves."""

    def __init__(self, max_seconds: float | None = None) -> None:
        self.deadline = Deadline(max_seconds)
        self.complete = True  # whether no solve was left out or ended early

    def has_time(self, seconds: float = 0.0) -> bool:
        """Whether another solve may begin, which is expected to take this long."""
        has_time = self.deadline.left is None or self.deadline.left > seconds
        if not has_time:
            self.complete = False
        return has_time

    def solve(self, problem: Problem, tol: float, start: Solution | None) -> Solution:
        """Solve a problem in the time that is left."""
        solver = WorkingSet(tol=tol, max_seconds=self.deadline.left)
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
    # Of more points the solver tries samples first, unless it has a start. That finds the rows that
    # take the place of others in half the time.
    few_points: int = 2000

    @cached_property
    def reached(self) -> float:
        """What the solution attains is not above this."""
        return objective_value(self.solution).from_above

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
        found = self._refined(found, others, bound)
        return _excess(objective_value(found).from_above, bound)

    def needed(self, group: Array) -> float:
        """Return by how much the objective rises at least if a group may not be used."""
        # without a weight in the group, the solution does without it already
        is_idle = not self.solution.diagonal[group].any()
        if is_idle or not self.solver.has_time(self.seconds) or not self.reached > 0:
            return 0.0
        coarse = self._without(group, COARSE_TOLERANCE)
        fine = self._refined(coarse, group, self.reached)
        return max(0.0, max(coarse.dual_bound, fine.dual_bound) / self.reached - 1)

    def _refined(self, found: Solution, rows: Array, reference: float) -> Solution:
        """Solve again if the gap leaves less than two digits of the change from a reference."""
        change = found.objective / reference - 1
        room = (found.objective - found.dual_bound) / reference
        # a small change needs a finer solve
        if room > max(FINE_TOLERANCE, 0.05 * change) and self.solver.has_time(self.seconds):
            return self._without(rows, FINE_TOLERANCE, found)
        return found

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


def _excess(attained: float, bound: float) -> float:
    """Return how far an objective is above a bound, relative to the bound."""
    # with fewer rows open the optimum is not lower
    return attained / consistent_bound(bound, attained, 0.0) - 1


def _with_gates(problem: Problem, gates: Array) -> Solution:
    """Return a start with these gates (d,), and without entries."""
    support = np.flatnonzero(gates)
    coef = np.zeros((support.size, problem.n_points), dtype=problem.M.dtype)
    return Solution(support=support, coef=coef, diagonal=gates, problem=problem)
