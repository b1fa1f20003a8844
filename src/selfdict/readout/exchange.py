"""The search for r columns with a small error: exchanges among representatives, then among all."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._errors import warn_caller
from selfdict._validation import Array
from selfdict.abundances import nnls
from selfdict.compute.deadline import Deadline, in_words
from selfdict.compute.linear_algebra import onto_common_span, second_moments
from selfdict.metrics import relative_error
from selfdict.peers.greedy import Budget, Fit, grow
from selfdict.peers.h2nmf import h2nmf
from selfdict.peers.successive import enough, spa

if TYPE_CHECKING:
    from selfdict.readout.selection import Evidence

# clusters that stand for the data where there are none yet; atoms up to twice as many are all tried
N_REPRESENTATIVES = 500
TRIALS = 8  # candidates tried for each place, from each of two rankings
ERROR_TIE = 1.002  # times the least relative error: choices that the error cannot tell apart
EXTRA_DIRECTIONS = 16  # more directions than r in which candidates are compared
MAX_JUDGED = 20_000  # columns that are fitted while choices are compared
SEARCH_SHARE = 0.6  # part of a time limit that the search among the representatives may take
ANNOUNCED = 60.0  # predicted seconds from which a search without a limit is announced

IMPROVEMENT = 1e-6  # relative; smaller ones are not worth a sweep
GOOD_ENOUGH = 1.05  # times the square no choice can fall below: no need to look further


def by_exchange(evidence: "Evidence", starts: list[Array], r: int, deadline: Deadline) -> Array:
    """Search among the representatives, then among all columns; return the best choice.

    ``starts`` are first choices, of r columns or fewer; the second one is SPA on the rows of X.
    """
    # the representatives are few enough to try thousands of choices on them
    stage = _Stage.of(evidence, starts, r)
    first_part = deadline.part(SEARCH_SHARE)
    rivals = _search_among_representatives(stage, first_part)
    if not rivals and first_part.passed:
        deadline.skip("columns were chosen without a fit")
        # beginning with SPA on the rows of X, the choice of the paper
        return _filled(np.concatenate([stage.starts[1], *stage.starts]), r, evidence)
    if not rivals:
        return complete(stage.starts[0], r, evidence, deadline)
    choices = _polish_among_all(stage, rivals, deadline)
    # a start may have been better all along: the representatives are not the data
    choices.append(rivals[0])
    choices.extend(stage.complete_starts)
    if not deadline.affords(len(choices) * stage.seconds_per_column * evidence.M.shape[1]):
        deadline.skip("the choices found were compared on representatives only")
        return choices[0]
    return settle(choices, evidence.M, evidence.A)


def complete(K: Array, r: int, evidence: "Evidence", deadline: Deadline) -> Array:
    """Fill K up to r columns with those that lower the error most."""
    if K.size < r:
        M = evidence.M
        fit = Fit.of(M, np.ones(M.shape[1]), evidence.A, M.shape[0])
        K = grow(fit, r, K, TRIALS, Budget(deadline=deadline))
    if K.size < r and deadline.passed:
        deadline.skip("columns were added without a fit")
        return _filled(K, r, evidence)
    return enough(K.tolist(), r, f"all points lie in the cone of {K.size} of them")


def _filled(K: Array, r: int, evidence: "Evidence") -> Array:
    """Return the first r columns of K without repetitions; if they are fewer, add the heaviest."""
    heaviest = np.argsort(-evidence.solution.diagonal, kind="stable")
    every = np.flatnonzero(evidence.A.any(axis=0))
    queue = np.concatenate([K, evidence.points[heaviest], every])
    queue = queue[np.isin(queue, every)]
    first_places = np.sort(np.unique(queue, return_index=True)[1])
    chosen = queue[first_places][:r]
    return enough(chosen.tolist(), r, f"all points but {chosen.size} are zero")


@dataclass(frozen=True)
class _Stage:
    """What both searches share."""

    r: int
    directions: int  # in which candidates are compared
    data: "Evidence"  # data and atoms, rotated if they differ
    representatives: Array  # columns of M that stand for all of them
    sizes: Array  # for how many each
    labels: Array | None  # for each column of M, its representative; None: none are needed
    pool: Array  # candidates of the first search
    every: Array  # candidates of the second: all columns that are not zero
    starts: list[Array]  # first choices, of r columns or fewer

    @classmethod
    def of(cls, evidence: "Evidence", starts: list[Array], r: int) -> "_Stage":
        """Gather representatives, candidates and further first choices."""
        directions = r + EXTRA_DIRECTIONS
        data = evidence
        if not evidence.tied:
            # atoms of a dictionary need not lie in the subspace of the data
            directions += 64
            data = _rotated(evidence, directions)
        n = evidence.M.shape[1]
        clusters = evidence.clusters
        if clusters is None and n > 2 * N_REPRESENTATIVES:
            clusters = h2nmf(evidence.M, N_REPRESENTATIVES)
        representatives = np.arange(n)
        sizes = np.ones(n)
        labels = None
        if clusters is not None:
            representatives = clusters.indices
            sizes = clusters.sizes
            if evidence.tied:
                labels = clusters.labels
        every = np.flatnonzero(evidence.A.any(axis=0))
        pool = evidence.points[evidence.solution.support]
        if evidence.tied:
            rank = min(r, representatives.size)
            first = spa(evidence.M[:, representatives], rank, allow_fewer=True)
            starts = [*starts, representatives[first]]
            pool = np.union1d(pool, representatives)
        elif every.size <= 2 * N_REPRESENTATIVES:
            pool = every
        starts = [*starts, np.empty(0, dtype=np.int64)]
        return cls(r, directions, data, representatives, sizes, labels, pool, every, starts)

    @cached_property
    def fit(self) -> Fit:
        """The fit of the representatives by columns of the pool."""
        M = self.data.M[:, self.representatives]
        return Fit.of(M, self.sizes, self.data.A[:, self.pool], self.directions)

    def in_pool(self, K: Array) -> Array:
        """Return the positions of columns in the pool."""
        return np.searchsorted(self.pool, K)

    @cached_property
    def complete_starts(self) -> list[Array]:
        """The starts of r columns."""
        return [start for start in self.starts if start.size == self.r]

    @cached_property
    def seconds_per_column(self) -> float:
        """How long the fit of one column by r others takes, measured on the representatives."""
        fit = self.fit
        K = np.flatnonzero(fit.candidates.any(axis=0))[: self.r]
        if self.complete_starts:
            K = self.in_pool(self.complete_starts[0])
        return _seconds(lambda: replace(fit, _recent={}).square(K)) / self.representatives.size

    @cached_property
    def seconds_per_trial(self) -> float:
        """How long it takes to try one column in place of another, with the representatives."""
        fit = self.fit
        rest = self.in_pool(self.complete_starts[0])[1:]
        choices = fit.promising(rest, TRIALS)
        if choices.size == 0:
            return 0.0

        def work() -> None:
            replace(fit, _squares={}).squares_with(rest, choices, Deadline())

        return _seconds(work) / choices.size


def _seconds(work: Callable[[], Any]) -> float:
    """Return how long some work takes once its kernels are compiled."""
    seconds = np.inf
    for _ in range(2):
        started = time.perf_counter()
        work()
        seconds = min(seconds, time.perf_counter() - started)
    return seconds


def _search_among_representatives(stage: _Stage, deadline: Deadline) -> list[Array]:
    """Exchange among the pool, fitted to the representatives; return the best choices in order."""
    max_rivals = 3
    rival = 1.05  # times the least square: optima that may be as good on all columns
    r = stage.r
    fit = stage.fit
    # choices that may be fitted; fewer where each takes longer
    budget = Budget(6_000 * (r + EXTRA_DIRECTIONS) / stage.directions, deadline)
    good_enough = GOOD_ENOUGH * fit.limit(r)
    starts = stage.starts
    if deadline.left is None:
        _announce(stage, budget, good_enough)
    else:
        starts = _most_promising_first(stage)
    optima: dict[tuple[int, ...], float] = {}  # sorted columns, and their error
    for start in starts:
        grown = grow(fit, r, stage.in_pool(start), TRIALS, budget)
        is_worth_it = min(optima.values(), default=np.inf) > good_enough
        if grown.size == r and is_worth_it and not deadline.passed:
            K, square = exchange(fit, fit, grown, TRIALS, budget)
            optima[tuple(sorted(K.tolist()))] = square
    if deadline.passed:
        deadline.skip("not all exchanges of columns were tried")
    if not optima:
        return []
    first = min(optima, key=lambda K: optima[K])
    K, square = kick(fit, np.array(first), optima[first], TRIALS, budget)
    optima[tuple(sorted(K.tolist()))] = square
    by_error = sorted(optima, key=lambda K: optima[K])
    rivals = [np.array(K) for K in by_error if optima[K] <= rival * square]
    return [stage.pool[K] for K in rivals[:max_rivals]]


def _announce(stage: _Stage, budget: Budget, good_enough: float) -> None:
    """Warn that the search takes long, if it does."""
    if not stage.complete_starts:
        return
    seconds = budget.left * stage.seconds_per_trial
    if seconds < ANNOUNCED:
        return
    for start in stage.complete_starts:
        if stage.fit.square(stage.in_pool(start)) <= good_enough:
            return  # nothing is left to exchange
    warn_caller(
        f"selecting {stage.r} columns by exchange takes about {in_words(seconds)} here: "
        "max_seconds limits the time, and the method 'spa' selects without exchange",
    )


def _most_promising_first(stage: _Stage) -> list[Array]:
    """Return the starts with the least error first, since there may be no time for all of them."""
    fit = stage.fit
    by_error = sorted(stage.complete_starts, key=lambda start: fit.square(stage.in_pool(start)))
    return by_error + [start for start in stage.starts if start.size < stage.r]


def _polish_among_all(stage: _Stage, rivals: list[Array], deadline: Deadline) -> list[Array]:
    """Exchange among all columns, fitted to all, or to evenly spaced ones if they are many."""
    least_fits = 10  # with fewer of them an exchange could hardly find anything
    M = stage.data.M
    A = stage.data.A
    judged = np.flatnonzero(M.any(axis=0))
    judged = judged[:: -(-judged.size // MAX_JUDGED)]
    if not deadline.affords(least_fits * stage.seconds_per_column * judged.size):
        deadline.skip("columns were exchanged among representatives only")
        return []
    if stage.every.size < A.shape[1]:
        A = A[:, stage.every]
    judge = Fit.of(M[:, judged], np.ones(judged.size), A, stage.directions)
    guide = Fit.of(M[:, stage.representatives], stage.sizes, A, stage.directions)
    if stage.labels is not None:
        anchors = np.searchsorted(stage.every, stage.representatives)
        guide = replace(guide, anchors=(anchors, stage.labels[stage.every]))
    budget = Budget(4_000_000 / judged.size, deadline)  # columns fitted in all
    choices = []
    for K in rivals:
        start = np.searchsorted(stage.every, K)
        polished, _ = exchange(judge, guide, start, 4, budget)
        choices.append(stage.every[polished])
    if deadline.passed:
        deadline.skip("not all exchanges of columns were tried")
    return choices


def settle(choices: list[Array], M: Array, A: Array) -> Array:
    """Return the choice with the least error; among ties, with abundances that sum to about one."""
    distinct: dict[tuple[int, ...], Array] = {}
    for K in choices:
        distinct.setdefault(tuple(sorted(K.tolist())), K)
    choices = list(distinct.values())
    if M.shape[1] > 2 * MAX_JUDGED:
        # some columns tell which choices cannot be the best on all
        choices = _nearly_best(choices, M[:, :: M.shape[1] // MAX_JUDGED], A, 1.05)
    ties = _nearly_best(choices, M, A, ERROR_TIE)
    if len(ties) == 1:
        return ties[0]

    def distance_from_shares(K: Array) -> float:
        return float(np.abs(nnls(A[:, K], M).sum(axis=0) - 1).mean())

    return min(ties, key=distance_from_shares)


def _nearly_best(choices: list[Array], M: Array, A: Array, factor: float) -> list[Array]:
    """Return the choices with an error of at most ``factor`` times the least one."""
    if len(choices) == 1:
        return choices
    errors = [relative_error(M, A[:, K]) for K in choices]
    return [K for K, error in zip(choices, errors, strict=True) if error <= factor * min(errors)]


def _rotated(evidence: "Evidence", q: int) -> "Evidence":
    """Rotate data and atoms onto q directions in which both have most of their energy."""
    M, A = onto_common_span(evidence.M, evidence.A)
    total: Any = 0.0
    for columns in (M, A):
        moments = second_moments(columns)
        total = total + moments / (np.trace(moments) or 1.0)
    basis = np.linalg.eigh(total)[1][:, -q:].astype(M.dtype)
    return replace(evidence, M=basis.T @ M, A=basis.T @ A)


def exchange(judge: Fit, guide: Fit, K: Array, trials: int, budget: Budget) -> tuple[Array, float]:
    """Exchange columns while that lowers the error of ``judge``; return them and the error."""
    # ``guide`` ranks the candidates, which both share; K and the result are positions among them.
    K = np.array(K)
    square = judge.square(K)
    place = 0
    unchanged = 0  # places tried since the last exchange
    while unchanged < K.size and not budget.spent:
        rest = np.delete(K, place)
        choices = guide.promising(rest, trials)
        squares = budget.squares(judge, rest, choices)
        unchanged += 1
        if squares and min(squares) < square * (1 - IMPROVEMENT):
            best = int(np.argmin(squares))
            K[place] = choices[best]
            square = squares[best]
            judge.fitted(K)  # the next fits start from it
            unchanged = 1
        place = (place + 1) % K.size
    return K, square


def kick(fit: Fit, K: Array, square: float, trials: int, budget: Budget) -> tuple[Array, float]:
    """Leave a local minimum: drop each pair in turn, grow, exchange; go on from what is better."""
    pairs = list(combinations(range(K.size), 2))
    good_enough = GOOD_ENOUGH * fit.limit(K.size)
    since = 0  # pairs tried since the last improvement
    while since < len(pairs) and not budget.spent and square > good_enough:
        rest = np.delete(K, pairs[since])
        grown = grow(fit, K.size, rest, trials, budget)
        since += 1
        if grown.size == K.size:
            other, lower = exchange(fit, fit, grown, trials, budget)
            if lower < square * (1 - IMPROVEMENT):
                K = other
                square = lower
                since = 0
    return K, square
