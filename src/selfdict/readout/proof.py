"""What is proven about groups of rows: that they suffice, that each is needed, and what is closed.

The certificate of a solution is about weights. Let G_1, …, G_r be groups of rows of X.

- *Enough*: the optimum with only the rows of the groups open is at most x % above the bound for all
  rows. So nothing but these groups is at most x % worse than the best use of everything.
- *Needed*: the dual bound with all rows but those of G_k is y % above the objective reached with
  all of them. So without rows like these no weights whatsoever come within y %.
- *Closed*: the dual is strongly concave. With the gap g = objective − D(θ), its maximiser θ* has
  Σ_j ‖θ*_j − θ_j‖²/s_j ≤ 2g, and the score of row i differs by at most
  (‖d_i‖₂/v_i) √(Σ_j s_j w_j²) √(2g) between the two. A row whose score stays below its penalty by
  more than that is zero at every optimum.
- *Limit*: no r spectra whatsoever have a smaller relative error than the truncated SVD of rank r.
  It is that of the points as they were given, each of which counts once.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._display import table
from selfdict._errors import InputError
from selfdict._validation import Array, as_indices, as_scalar
from selfdict.compute.deadline import Deadline
from selfdict.model.certificate import certify, with_certificate
from selfdict.model.feasibility import into_omega
from selfdict.model.features import UnsupportedError
from selfdict.model.objective import objective_value, problem_of
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, Status, consistent_bound
from selfdict.readout.limits import closed_rows, rank_limit
from selfdict.readout.wording import at_least, at_most, share_of
from selfdict.solvers.working_set import WorkingSet

# relative gaps: bounds are percentages, and the last digits of a solve would prove nothing more
FINE_TOLERANCE = 2e-4
COARSE_TOLERANCE = 5e-3
# Groups that may double the objective are not said to suffice.
MOST_TO_SUFFICE = 1.0
# Of more points the solver tries samples first, unless it has a start. That finds the rows that
# take the place of others in half the time.
FEW_POINTS = 2000


@dataclass(frozen=True)
class Proof:
    """Bounds on what groups of rows can do, each of them rigorous.

    Attributes
    ----------
    enough : float
        Using only these groups is at most this much worse, relative to the best use of all rows.
        Infinite if nothing is proven.
    needed : (r,) ndarray of float
        Without group k no weights come within this much of the objective that was reached, relative
        to it; 0 if nothing is proven.
    limit : float
        No r spectra whatsoever have a smaller relative error ‖M − WH‖_F/‖M‖_F. M are the points as
        they were given, before any reduction to candidates, and each counts once, whatever the
        sample weights and the loss: a weighted error may be smaller.
    closed : (d,) ndarray of bool
        Rows that are zero at every optimum of the problem.
    solution : Solution
        The solution that was refined for this, with its gap.
    groups : tuple of r ndarrays of int
        The rows of each group.
    complete : bool
        Whether everything was tried; False if the time was up before.
    """

    enough: float
    needed: Array
    limit: float
    closed: Array
    solution: Solution
    groups: tuple[Array, ...]
    complete: bool = True

    @property
    def is_needed(self) -> Array:
        """Which groups are proven to be needed, (r,) of bool: at all, that is by 0.01 %."""
        return np.asarray(self.needed >= 1e-4)

    def __repr__(self) -> str:
        return f"Proof: {self.sentence}"

    def _repr_html_(self) -> str:
        return table("Proof", {"": self.sentence})

    @property
    def sentence(self) -> str:
        """What is proven, for a person."""
        sentences = [self._enough_in_words(), self._needed_in_words()]
        if self.closed.any():
            closed = share_of(int(self.closed.sum()), self.closed.size)
            sentences.append(f"{closed} of the candidates are proven to play no part.")
        if not self.complete:
            sentences.append("The time was up before everything was tried.")
        return " ".join(sentences)

    def _enough_in_words(self) -> str:
        suffice = f"These {len(self.groups)} groups suffice"
        if len(self.groups) == 1:
            suffice = "This group suffices"
        pool = f"all {self.closed.size:,} candidates"
        if self.closed.size == 1:
            pool = "the only candidate"
        if not np.isfinite(self.enough):
            return f"It is not proven whether {suffice[0].lower()}{suffice[1:]}."
        if self.enough > MOST_TO_SUFFICE:
            return (
                f"It is not proven whether {suffice[0].lower()}{suffice[1:]}: using nothing else "
                f"is at most {at_most(self.enough)} worse than the best use of {pool}."
            )
        return (
            f"{suffice}: using nothing else is at most {at_most(self.enough)} worse than the best "
            f"use of {pool}."
        )

    def _needed_in_words(self) -> str:
        needed = self.needed[self.is_needed]
        if len(needed) == 0:
            return "None of them is proven to be needed."
        rise = f"{at_least(needed.min())} to {at_least(needed.max())}"
        if len(needed) == 1:
            rise = at_least(needed[0])
        if len(self.groups) == 1:
            return f"Without it, it is at least {rise} worse."
        if len(needed) == len(self.groups):
            return f"Without one of them it is at least {rise} worse."
        return (
            f"Proven to be needed: {len(needed)} of them. Without such a one it is at least {rise} "
            "worse."
        )


def prove_groups(
    solution: Solution,
    groups: Any,
    *,
    tol: float = 1e-6,
    max_seconds: float | None = None,
    budget: float | None = None,
) -> Proof:
    """Prove how far some groups of rows suffice, and how far each of them is needed.

    Parameters
    ----------
    solution : Solution
        Of model (6) with a quadratic loss, with its problem.
    groups : sequence of r array_likes of int
        Disjoint groups of rows of X, none of them empty.
    tol : float
        The gap to which the problem is solved for this; a smaller one closes more rows.
    max_seconds : float, optional
        Time limit of each of the r + 2 solves; what they prove by then is used.
    budget : float, optional
        Seconds after which nothing further is tried. What is not proven then is left open, and
        ``complete`` is False. Ctrl-C has the same effect.

    Returns
    -------
    Proof

    Examples
    --------
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M, _, pure = make_mixtures(20, 100, 3, noise=0.01, random_state=0)
    >>> solution = selfdict.working_set(M, selfdict.mu_heuristic(M, 3))
    >>> proof = selfdict.prove_groups(solution, [[k] for k in pure])
    >>> bool(proof.enough < 0.5), bool((proof.needed > 0).all())
    (True, True)
    """
    problem = problem_of(solution)
    if not problem.loss.quadratic:
        raise UnsupportedError(f"a proof needs a quadratic loss, got {problem.loss!r}")
    mu = problem.require_mu()
    tol = as_scalar(tol, "tol")
    checked = _checked_groups(groups, problem.n_atoms)
    if budget is not None:
        budget = as_scalar(budget, "budget")
    if max_seconds is not None:
        max_seconds = as_scalar(max_seconds, "max_seconds")
    solver = _Solver(Deadline(budget), max_seconds)
    # All solves are at this penalty, whatever it was steered to.
    problem = problem.with_mu(mu)
    solution = replace(into_omega(solution), problem=problem)
    if np.isnan(solution.objective):
        solution = with_certificate(solution)
    if solution.gap > tol and solver.has_time():
        # the last steps of the solver are what closes rows
        refined = solver.solve(problem, tol, solution)
        if refined.gap <= solution.gap:
            solution = refined
    trials = _Trials(solution, solver)
    enough = trials.enough(checked)
    needed = np.array([trials.needed(group) for group in checked])
    closed = np.zeros(problem.n_atoms, dtype=bool)
    if solver.has_time():
        closed = closed_rows(solution)
    return Proof(
        enough=enough,
        needed=needed,
        limit=rank_limit(problem.root.M, len(checked)),
        closed=closed,
        solution=solution,
        groups=checked,
        complete=not solver.deadline.given_up,
    )


@dataclass(frozen=True)
class _Solver:
    """Solves within a time limit of all of them, and one of each."""

    deadline: Deadline
    max_seconds: float | None

    def has_time(self) -> bool:
        """Whether another solve may begin; it is given up if not."""
        if self.deadline.passed:
            self.deadline.give_up("a solve")
            return False
        return True

    def solve(self, problem: Problem, tol: float, start: Solution | None) -> Solution:
        """Return a solution; after one that was interrupted there is no time for others."""
        limits = [limit for limit in (self.deadline.left, self.max_seconds) if limit is not None]
        found = WorkingSet(tol=tol, max_seconds=min(limits, default=None)).solve(problem, start)
        if found.status in (Status.MAX_SECONDS, Status.INTERRUPTED):
            self.deadline.give_up("a solve")
        if found.status is Status.INTERRUPTED:
            self.deadline.end()
        return found


def _checked_groups(groups: Any, n_atoms: int) -> tuple[Array, ...]:
    """Return the groups as arrays; refuse empty and overlapping ones."""
    checked = []
    for k, group in enumerate(groups):
        if np.size(group) == 0:
            raise InputError(f"group {k} is empty")
        checked.append(as_indices(np.asarray(group), n_atoms, f"group {k}"))
    if not checked:
        raise InputError("there must be at least one group")
    together = np.concatenate(checked)
    if np.unique(together).size < together.size:
        raise InputError("groups must not overlap")
    return tuple(checked)


@dataclass(frozen=True)
class _Trials:
    """The problem of a solution, solved again with some rows closed."""

    solution: Solution
    solver: _Solver

    def enough(self, groups: tuple[Array, ...]) -> float:
        """Return how much worse the groups alone are at most."""
        bound = self.solution.dual_bound
        others = np.setdiff1d(np.arange(self.solution.diagonal.size), np.concatenate(groups))
        if not bound > 0 or not self.solver.has_time():
            return np.inf
        found = self._without(others, FINE_TOLERANCE)
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
        problem = problem_of(solution)
        p = problem.p.copy()
        p[rows] = np.inf  # an infinite price: never opened, and no part of the bound
        if rows.size == problem.n_atoms:
            # X = 0 is all that is left
            return certify(_closed_at(solution, rows).for_problem(problem.changed(p=p)))
        if start is None and problem.n_points <= FEW_POINTS:
            start = _closed_at(solution, rows)
        return self.solver.solve(problem.changed(p=p), tol, start)


def _closed_at(solution: Solution, rows: Array) -> Solution:
    """Return the diagonal of a solution without some rows, as a start."""
    diagonal = solution.diagonal.copy()
    diagonal[rows] = 0.0
    support = np.flatnonzero(diagonal)
    n_points = problem_of(solution).n_points
    coef = np.zeros((support.size, n_points), dtype=solution.coef.dtype)
    return replace(solution, support=support, coef=coef, diagonal=diagonal)
