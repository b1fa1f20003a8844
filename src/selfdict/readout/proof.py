"""Proofs about groups of rows: how close they come to the optimum, and what leaving one out costs.

What is proven, and from which solves, says :doc:`/answer`; which rows are closed,
:func:`selfdict.model.dual.closed_rows`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._display import at_least, at_most, table
from selfdict._errors import InputError, UnsupportedError
from selfdict._validation import Array, as_indices, as_scalar
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.model.certificate import with_certificate
from selfdict.model.omega import into_omega
from selfdict.model.solution import Solution, problem_of
from selfdict.readout.bounds import DualPoint, LimitedSolver, Trials, rank_limit
from selfdict.readout.selection import Evidence

# Groups that may double the objective are not said to suffice.
MOST_TO_SUFFICE = 1.0


@dataclass(frozen=True)
class Proof:
    """Rigorous bounds on what groups of rows can achieve.

    Attributes
    ----------
    enough : float
        An upper bound on how much worse using only these groups is than the best use of all rows,
        relative to the latter. Infinite if nothing is proven.
    needed : (r,) ndarray of float
        A lower bound on the cost of leaving out group k, relative to the objective that was
        reached; 0 if nothing is proven.
    limit : float
        A lower bound on the relative error ‖M − WH‖_F/‖M‖_F of any r spectra W. M are the original
        points, before any reduction to candidates, and each counts once, whatever the sample
        weights and the loss: a weighted error may be smaller.
    closed : (d,) ndarray of bool
        Rows that are zero at every optimum of the problem.
    solution : Solution
        The refined solution, with its gap.
    groups : tuple of r ndarrays of int
        The rows of each group.
    complete : bool
        Whether everything was tried within the time limit; if not, bounds may be weak.
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
        """Which groups are proven necessary, (r,) of bool: leaving one out costs over 0.01 %."""
        return np.asarray(self.needed >= 1e-4)

    def __repr__(self) -> str:
        return f"Proof: {self.sentence}"

    def _repr_html_(self) -> str:
        return table("Proof", {"": self.sentence})

    @property
    def sentence(self) -> str:
        """What is proven, in words."""
        sentences = [self.enough_in_words, self.needed_in_words]
        if self.closed.any():
            # rounded down to a tenth of a percent
            share = 1000 * int(self.closed.sum()) // self.closed.size / 10
            sentences.append(f"{share:.4g} % of the candidates are proven to have no weight.")
        if not self.complete:
            sentences.append("The proof is incomplete: more time may improve the bounds.")
        return " ".join(sentences)

    @property
    def suffices(self) -> bool:
        """Whether the groups are said to suffice: they at most double the objective."""
        return self.enough <= MOST_TO_SUFFICE

    @property
    def enough_in_words(self) -> str:
        """How close the groups alone come to the optimum."""
        suffice = f"These {len(self.groups)} groups suffice"
        if len(self.groups) == 1:
            suffice = "This group suffices"
        pool = f"all {self.closed.size:,} candidates"
        if self.closed.size == 1:
            pool = "the only candidate"
        if not self.suffices:
            suffice = f"It is not proven whether {suffice[0].lower()}{suffice[1:]}"
        if not np.isfinite(self.enough):
            return f"{suffice}."
        worse = at_most(self.enough)
        return (
            f"{suffice}: using nothing else is at most {worse} worse than the best use of {pool}."
        )

    @property
    def needed_in_words(self) -> str:
        """What leaving out a group costs."""
        needed = self.needed[self.is_needed]
        if len(needed) == 0:
            return "None is proven necessary."
        cost = at_least(needed.min())
        if len(self.groups) == 1:
            return f"Leaving it out costs at least {cost}."
        if len(needed) == len(self.groups):
            return f"Leaving any of them out costs at least {cost}."
        if len(needed) == 1:
            return f"One is proven necessary: leaving it out costs at least {cost}."
        return (
            f"{len(needed)} are proven necessary: leaving any of these out costs at least {cost}."
        )


def groups_of_rows(solution: Solution, groups: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return groups of points as groups of rows of a solution, maybe one of representatives."""
    # A group without a representative is represented by the one that points in the direction of its
    # first point most nearly.
    problem = problem_of(solution)
    if problem.n_atoms == problem.root.n_atoms:
        return groups
    points = Evidence.of(solution).points
    position = np.full(problem.root.n_atoms, -1)
    position[points] = np.arange(points.size)
    atoms = problem.root.atoms
    directions = dense_columns(atoms, points).astype(np.float64)
    directions /= np.maximum(np.sqrt(squared_norms(directions)), np.finfo(float).tiny)
    found = []
    for group in groups:
        rows = position[group]
        found.append(rows[rows >= 0])
    taken = np.concatenate(found)
    for k, group in enumerate(groups):
        if found[k].size == 0:
            nearness = directions.T @ dense_columns(atoms, group[:1]).astype(np.float64)[:, 0]
            nearness[taken] = -np.inf  # groups must not overlap
            found[k] = np.array([int(np.argmax(nearness))])
            taken = np.append(taken, found[k])
    return tuple(found)


def prove_groups(
    solution: Solution,
    groups: Any,
    *,
    tol: float = 1e-6,
    max_seconds: float | None = None,
) -> Proof:
    """Prove how close some groups of rows come to the optimum, and what leaving one out costs.

    Parameters
    ----------
    solution : Solution
        Of model (6) with a quadratic loss, with its problem.
    groups : sequence of r array_likes of int
        Disjoint groups of rows of X, none of them empty.
    tol : float
        The gap to which the problem is solved; a smaller gap closes more rows.
    max_seconds : float, optional
        Time limit; Ctrl-C also ends the proof. If the time is too short for r + 2 solves that take
        as long as the given one, quick bounds are computed first, which are weaker. ``complete`` is
        False if a solve was left out.

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
    solver = LimitedSolver(max_seconds)
    # All solves are at this penalty, whatever it was steered to.
    problem = problem.with_mu(mu)
    solution = replace(into_omega(solution), problem=problem)
    if np.isnan(solution.objective):
        solution = with_certificate(solution)
    seconds = float(np.max(solution.history.get("seconds", ()), initial=0.0))  # 0: not known
    is_quick = solver.has_time() and not solver.deadline.affords((len(checked) + 2) * seconds)
    enough = np.inf
    needed = np.zeros(len(checked))
    closed = np.zeros(problem.n_atoms, dtype=bool)
    if solution.gap > tol and not is_quick and solver.has_time():
        # the last steps of the solver are what closes rows
        refined = solver.solve(problem, tol, solution)
        if refined.gap <= solution.gap:
            solution = refined
    if is_quick:
        point = DualPoint(solution)
        closed = point.closed_rows()
        if point.is_quick:
            enough = point.enough(checked, solver)
            needed = point.needed(checked, solver)
    trials = Trials(solution, solver, seconds)
    enough = min(enough, trials.enough(checked))
    needed = np.maximum(needed, [trials.needed(group) for group in checked])
    if not is_quick and solver.has_time():
        closed = DualPoint(solution).closed_rows()
    return Proof(
        enough=enough,
        needed=needed,
        limit=rank_limit(problem.root.M, len(checked)),
        closed=closed,
        solution=solution,
        groups=checked,
        complete=solver.complete,
    )


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
