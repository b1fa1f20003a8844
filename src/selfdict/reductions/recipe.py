"""From a problem to its solution: reductions, the penalty, the solver, in this order."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.abundances.least_squares import MANY_ENDMEMBERS, affords_fits
from selfdict.compute.deadline import Deadline
from selfdict.model.losses import Loss
from selfdict.model.problem import Problem, jitter
from selfdict.model.solution import Callback, Solution
from selfdict.peers.h2nmf import Clusters
from selfdict.reductions.columns import Candidates, weighted_columns
from selfdict.reductions.denoising import Denoising, denoised_data
from selfdict.solvers.base import Feature, Solver
from selfdict.solvers.heuristic import mu_heuristic


@dataclass(frozen=True)
class Recipe:
    """How a problem is reduced and solved; the reductions are applied in this order."""

    solver: Solver
    denoising: Denoising | None = None
    candidates: Candidates | None = None  # clusters are those of the data before denoising
    mu: float | None = None  # the penalty; None: a heuristic, see ``penalty``
    mu_factor: float = 1.0  # multiplies the heuristic
    smooth: float = 0.0  # the weight of the squares of the gates, in units of the penalty

    def check(self, problem: Problem) -> None:
        """Raise :class:`selfdict.UnsupportedError` if a step does not support the problem."""
        asked = self.solver.asked(problem)
        if self.smooth > 0:
            asked |= {Feature.SMOOTH}
        for step in (self.denoising, self.candidates):
            if step is not None:
                step.check(problem)
        # a reduced problem asks for other things than the problem itself
        if self.candidates is not None:
            asked |= {Feature.SAMPLE_WEIGHT}
        n_points = problem.n_points
        n_atoms = problem.n_atoms
        if self.candidates is not None:
            n_points = min(n_points, self.candidates.n_clusters)
            if problem.D is None:
                n_atoms = n_points
        self.solver.check_features(asked, max(n_points, n_atoms))

    def solve(
        self,
        problem: Problem,
        n_components: int,
        *,
        random_state: Any = None,
        clusters: Clusters | None = None,
        callback: Callback | None = None,
        deadline: Deadline | None = None,
    ) -> Solution:
        """Return the solution of the reduced problem; the seed is that of its weights p."""
        self.check(problem)
        reduced = self.reduce_columns(problem, clusters)
        if random_state is not None:
            # one weight for each row of the reduced problem
            reduced = reduced.changed(p=jitter(reduced.n_atoms, random_state))
        mu = self.penalty(reduced, n_components, deadline)
        reduced = reduced.changed(mu=mu, smooth=self.smooth * mu)
        return _within(self.solver, deadline).solve(reduced, callback=callback)

    def reduce_columns(self, problem: Problem, clusters: Clusters | None = None) -> Problem:
        """Denoise the data and take the representatives of clusters."""
        if self.candidates is not None and clusters is None:
            clusters = self.candidates.cluster(problem)
        if self.denoising is not None:
            problem = self.denoising.reduce(problem)
        if self.candidates is not None and clusters is not None:
            problem = self.candidates.reduce_to(problem, clusters)
        return problem

    def penalty(
        self, reduced: Problem, n_components: int, deadline: Deadline | None = None
    ) -> float:
        """Return μ for the reduced problem; for a sample of its points if the time is short."""
        if self.mu is not None:
            return self.mu
        denoised = denoised_data(reduced)
        if denoised is not None and reduced.D is not None:
            return self.mu_factor * denoised.mu
        rank = min(n_components, reduced.n_atoms)
        by_residual = self.candidates is not None and self.candidates.weighting == "residual"
        if reduced.D is None and reduced.loss.quadratic and not by_residual:
            # a point that counts s times is one that is √s times as long, for SPA as well
            data = weighted_columns(reduced)
            if deadline is not None and not _affords_penalty(deadline, data, rank):
                deadline.skip("the penalty was chosen by a sample of the points")
                return self.mu_factor * _penalty_of_a_sample(data, rank, reduced.loss)
            return self.mu_factor * mu_heuristic(data, rank, reduced.p, loss=reduced.loss)
        heuristic = mu_heuristic(
            reduced.M,
            rank,
            reduced.p,
            sample_weight=reduced.sample_weight,
            loss=reduced.loss,
            D=reduced.D,
        )
        return self.mu_factor * heuristic


def _affords_penalty(deadline: Deadline, data: Any, rank: int) -> bool:
    """Whether there is time for the heuristic, which chooses columns and fits all of them."""
    # sparse data and data on a device take their own, quicker ways
    if deadline.left is None or not isinstance(data, np.ndarray) or rank < MANY_ENDMEMBERS:
        return True
    some = data[:, :: data.shape[1] // rank][:, :rank]
    return affords_fits(deadline, 1, some, data)


def _penalty_of_a_sample(data: Array, rank: int, loss: Loss) -> float:
    """Return the heuristic from evenly spread columns; the weights p are one, up to a jitter."""
    n = data.shape[1]
    every = max(1, n // max(rank, 1000))
    sample = data[:, ::every]
    # the residual is a sum over all points
    return float(mu_heuristic(sample, rank, loss=loss) * n / sample.shape[1])


def _within(solver: Solver, deadline: Deadline | None) -> Solver:
    """Return the solver with the time that is left, if it has a limit."""
    if deadline is None or deadline.left is None or not hasattr(solver, "max_seconds"):
        return solver
    seconds = deadline.left
    if solver.max_seconds is not None:
        seconds = min(seconds, solver.max_seconds)
    limited: Solver = replace(solver, max_seconds=seconds)  # type: ignore[type-var]  # all are dataclasses
    return limited
