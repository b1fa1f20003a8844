"""What ``"auto"`` means: which points are candidates, and the penalty of a reduced problem.

All points are the candidates if that takes little time. The solver spends its time on fits of all n
columns by the k open rows: it takes as long as a number of such fits, which differs little between
data sets. How many rows open, and how long the fit of a column takes, differs a lot. Both are
measured on samples of the columns; k grows like a power of n.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfdict.abundances.least_squares import MANY_ENDMEMBERS, affords_fits
from selfdict.compute.deadline import Deadline, in_words
from selfdict.compute.threads import n_threads
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution
from selfdict.reductions.steps import Candidates, Denoising, weighted_columns
from selfdict.solvers.heuristic import mu_heuristic
from selfdict.solvers.search import fit_within_gates
from selfdict.solvers.working_set import WorkingSet

# clusters of the paper's FGNSR-500
N_CLUSTERS = 500
# columns that are solved to predict how long all take
SAMPLE_SIZE = 2000


@dataclass(frozen=True)
class CandidateChoice:
    """What ``candidates="auto"`` means for some data."""

    n_clusters: int | None  # None: all points are candidates
    reason: str  # a sentence for a person


def choose_candidates(
    n_points: int, n_features: int, n_components: int, max_seconds: float | None = None
) -> CandidateChoice:
    """Take all points if that typically takes at most a minute, else representatives."""
    seconds = typical_seconds(n_points, n_features, n_components)
    return _choice(n_points, seconds, max_seconds, "they are few enough.", "would take too long.")


def choose_by_samples(
    problem: Problem, n_components: int, max_seconds: float | None = None
) -> CandidateChoice:
    """Do the same for given data; samples are solved where the size does not tell enough."""
    n_features, n_points = problem.M.shape
    if not needs_samples(n_points, n_features, n_components, max_seconds):
        return choose_candidates(n_points, n_features, n_components, max_seconds)
    seconds = measured_seconds(problem, n_components)
    end = f"about {in_words(seconds)}, as predicted by samples."
    return _choice(n_points, seconds, max_seconds, f"solving takes {end}", f"would take {end}")


def _choice(
    n_points: int, seconds: float, max_seconds: float | None, few: str, many: str
) -> CandidateChoice:
    """Return the candidates by the time that all points take; ``few`` and ``many`` say why."""
    if seconds <= _moderate_seconds(max_seconds):
        return CandidateChoice(None, f"All {n_points:,} points are candidates: {few}")
    return CandidateChoice(
        N_CLUSTERS,
        f"{N_CLUSTERS} cluster representatives are the candidates: all {n_points:,} points {many}",
    )


def needs_samples(
    n_points: int, n_features: int, n_components: int, max_seconds: float | None = None
) -> bool:
    """Whether the number of points leaves it open if they take too long."""
    seconds = typical_seconds(n_points, n_features, n_components)
    moderate = _moderate_seconds(max_seconds)
    # no data that was seen takes so much more or less time than is typical
    is_open = moderate / 15 < seconds < moderate * 15
    return is_open and n_points >= 5 * SAMPLE_SIZE


def typical_seconds(n_points: int, n_features: int, n_components: int) -> float:
    """Return the order of the time that all points as candidates take, by their number."""
    # on two cores: fitted to `python -m benchmarks working_set --growth`
    seconds = 10.0 * (n_points / 94_249) ** 1.4 * n_features / 162
    # more components mean a smaller penalty, which opens more rows: from runs with 6, 12, 20 and 40
    # components on 21,025 points of 200 features
    return float(seconds * max(1.0, n_components / 6) ** 0.75)


def measured_seconds(problem: Problem, n_components: int) -> float:
    """Return about how long the solver takes with all points as candidates, by two samples."""
    mu = problem.mu
    if mu is None:
        mu = mu_heuristic(weighted_columns(problem), n_components)
    open_rows = []
    for size in (SAMPLE_SIZE // 2, SAMPLE_SIZE):
        solution = WorkingSet(tol=1e-2).solve(_sample(problem, mu, size))
        open_rows.append(max(1, solution.support.size))
    # Compared with samples of 2000 columns, the rows of scenes and mixtures grew with exponents
    # between 0.07 and 0.39, whatever the exponent of two samples, unless that was above 0.5. The
    # growth slows down then, too.
    growth = max(0.22, float(np.log2(open_rows[1] / open_rows[0])) - 0.3)
    # The solver took as long as 5 to 10 fits from zero of all columns by the rows that it opened,
    # for 10,000 to a million points. Threads were busy for 0.85 of the time.
    ratio = problem.n_points / SAMPLE_SIZE
    of_all_threads = 8.0 * _fit_seconds(solution) * ratio ** (1 + growth)
    return float(of_all_threads / (0.85 * n_threads()))


def _sample(problem: Problem, mu: float, size: int) -> Problem:
    """Return the problem with some of its columns only, at the same penalty per point."""
    n = problem.n_points
    columns = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
    return Problem(
        problem.M[:, columns],
        mu * size / n,
        w=problem.w[columns],
        sample_weight=problem.s[columns],
        random_state=0,
    )


def _fit_seconds(solution: Solution) -> float:
    """Return the time of all threads for the fit of all columns by the open rows of a solution."""
    # not the time that passes: what else a machine does must not decide about results
    gates = solution.diagonal[solution.support]
    seconds = np.inf
    for _ in range(3):
        started = time.process_time()
        fit_within_gates(solution.problem, solution.support, gates)
        seconds = min(seconds, time.process_time() - started)
    return seconds


def _moderate_seconds(max_seconds: float | None) -> float:
    """Return what a user waits for without being asked, or a part of a time limit."""
    if max_seconds is None:
        return 60.0
    return min(60.0, 0.4 * max_seconds)  # the rest is to choose and prove


def choose_penalty(problem: Problem, n_components: int, deadline: Deadline | None = None) -> float:
    """Return μ by :func:`mu_heuristic`; from a sample of the points if there is little time."""
    rank = min(n_components, problem.n_atoms)
    by_residual = False
    link = problem.reduced_from
    while link is not None:
        if isinstance(link.step, Denoising) and problem.D is not None:
            return float(link.memory.mu)
        if isinstance(link.step, Candidates):
            by_residual = link.step.weighting == "residual"
        link = link.problem.reduced_from
    if problem.D is not None or not problem.loss.quadratic or by_residual:
        return mu_heuristic(
            problem.M,
            rank,
            problem.p,
            sample_weight=problem.sample_weight,
            loss=problem.loss,
            D=problem.D,
        )
    # a point that counts s times is one that is √s times as long, for SPA as well
    data = weighted_columns(problem)
    if deadline is None or _affords_penalty(deadline, data, rank):
        return mu_heuristic(data, rank, problem.p, loss=problem.loss)
    deadline.skip("the penalty was chosen by a sample of the points")
    n = data.shape[1]
    sample = data[:, :: max(1, n // max(rank, 1000))]
    # the residual is a sum over all points; the weights p are one, up to a jitter
    return float(mu_heuristic(sample, rank, loss=problem.loss) * n / sample.shape[1])


def _affords_penalty(deadline: Deadline, data: Any, rank: int) -> bool:
    """Whether there is time for the heuristic, which chooses columns and fits all of them."""
    # sparse data take their own, quicker way
    if deadline.left is None or not isinstance(data, np.ndarray) or rank < MANY_ENDMEMBERS:
        return True
    some = data[:, :: data.shape[1] // rank][:, :rank]
    return affords_fits(deadline, 1, some, data)
