"""From X to indices: which columns of M, or of a dictionary, a solution of model (6) points to."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_rank
from selfdict.abundances import nnls
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.sums import second_moments
from selfdict.metrics import relative_error
from selfdict.model.solution import Solution
from selfdict.peers._columns import enough
from selfdict.peers.greedy import Budget, Fit, grow
from selfdict.peers.h2nmf import Clusters, h2nmf
from selfdict.peers.spa import spa
from selfdict.readout.evidence import Evidence, warn_of_old_arguments
from selfdict.readout.exchange import GOOD_ENOUGH, exchange, kick
from selfdict.readout.readers import READERS

# clusters that stand for the data where there are none yet; atoms up to twice as many are all tried
N_REPRESENTATIVES = 500
TRIALS = 8  # candidates tried for each place, from each of two rankings
ERROR_TIE = 1.002  # times the least relative error: choices that the error cannot tell apart
EXTRA_DIRECTIONS = 16  # more directions than r in which candidates are compared


def select_indices(
    solution: Solution,
    r: int,
    M: ArrayLike | None = None,
    method: str = "auto",
    *,
    clusters: Clusters | None = None,
    D: ArrayLike | None = None,
) -> Array:
    """Read r column indices of M, or r atoms of D, out of a solution of model (6).

    Parameters
    ----------
    solution : Solution
        With its problem. For a problem reduced to representatives (:class:`Candidates`) the indices
        are those of all points.
    r : int
        The number of columns.
    M : (m, n) array_like, optional
        Deprecated: the data, all of it, where the solution has no problem.
    method : {"auto", "diagonal", "spa", "clusters", "exchange"}
        - ``"diagonal"``: the r largest diagonal entries of X, as in Algorithm 1, or the r widest
          gates. Near-duplicates share weight in the optimum, so these can all show the same
          material.
        - ``"spa"``: SPA on the rows of X, in units where all columns of M and D have ℓ1 norm one
          (section 4.2).
        - ``"clusters"``: gather near-duplicates and add their weights up, after [GL13].
        - ``"exchange"``: start from the three above and from a greedy choice, then exchange single
          columns as long as the relative error falls: first among the support and the
          representatives (with D: the support, or all of up to 1000 atoms), fitted to weighted
          representatives, then among all columns of M, or all atoms, fitted to all. Of choices
          whose errors agree to 0.2 % it takes the one whose abundances sum most nearly to one.
          Deterministic and bounded in work.
        - ``"auto"``: ``"exchange"``, which has the lowest error, up to that 0.2 %. But ``"spa"`` if
          the solution is one of a loss such as :class:`Huber`: an exchange lowers squares, which
          outliers dominate. And ``"diagonal"`` for sparse data, which the other methods compare in
          its leading directions only.
    clusters : Clusters, optional
        Deprecated: from :func:`h2nmf`, if the solution is one of its representatives.
    D : (m, d) array_like, optional
        Deprecated: the dictionary of the solution; by default M itself.

    Returns
    -------
    (r,) ndarray of int
        Distinct indices, the most important first (for ``"exchange"``: in no particular order). If
        the support has fewer than r rows, columns that lower the error most are added.

    Raises
    ------
    ValueError
        If fewer than r columns suffice to explain all of M exactly.

    Examples
    --------
    >>> from selfdict import fast_gradient, select_indices
    >>> M = [[1.0, 0.0, 0.5, 0.7], [0.0, 1.0, 0.5, 0.3]]
    >>> sorted(select_indices(fast_gradient(M, 0.1), 2).tolist())
    [0, 1]
    """
    if M is None and (D is not None or clusters is not None):
        raise TypeError("D and clusters belong to the deprecated form of select_indices, with M")
    if M is not None:
        warn_of_old_arguments("select_indices")
        evidence = Evidence.given(solution, M, clusters, D)
    else:
        evidence = Evidence.of(solution)
    return select_from(evidence, r, method)


def select_from(evidence: Evidence, r: int, method: str = "auto") -> Array:
    """Do what :func:`select_indices` does, for a solution with its data."""
    of = "points"
    if not evidence.tied:
        of = "atoms"
    r = as_rank(r, evidence.A.shape[1], of=of)
    if method not in ("auto", "exchange", *READERS):
        names = ", ".join(map(repr, READERS))
        raise InputError(f"method must be one of 'auto', 'exchange', {names}, got {method!r}")
    is_sparse = issparse(evidence.A)
    loss = evidence.solution.loss
    if method == "auto":
        method = "exchange"
        if is_sparse:
            method = "diagonal"
        elif not loss.quadratic:
            method = "spa"
    if is_sparse:
        evidence = evidence.dense(r + 2 * EXTRA_DIRECTIONS)
    if method == "exchange":
        whitened = _whitened(evidence)
        with single_threaded_blas():  # products are small, or taken inside slices
            return _by_exchange(whitened, r)
    chosen = evidence.points[READERS[method](evidence, r)]
    return _complete(chosen, r, evidence)


def _whitened(evidence: Evidence) -> Evidence:
    """Return data and atoms in units of the noise, for a loss that knows it."""
    loss = evidence.solution.loss
    M = loss.whiten(evidence.M)
    A = M
    if not evidence.tied:
        A = loss.whiten(evidence.A)
    return replace(evidence, M=M, A=A)


def _complete(K: Array, r: int, evidence: Evidence) -> Array:
    """Fill K up to r columns with those that lower the error most."""
    if K.size < r:
        M = evidence.M
        fit = Fit.of(M, np.ones(M.shape[1]), evidence.A, M.shape[0])
        K = grow(fit, r, K, TRIALS, Budget())
    return enough(K.tolist(), r, f"all columns lie in the cone of {K.size} of them")


def _by_exchange(evidence: Evidence, r: int) -> Array:
    """Search among the representatives, then among all columns; return the best choice."""
    rotated = evidence
    directions = r + EXTRA_DIRECTIONS
    if not evidence.tied:
        # atoms of a dictionary need not lie in the subspace of the data
        directions += 64
        rotated = _rotated(evidence, directions)
    # the representatives are few enough to try thousands of choices on them
    stage = _Stage.of(evidence, rotated, r, directions)
    rivals = _search_among_representatives(stage)
    if not rivals:
        return _complete(stage.starts[0], r, evidence)
    choices = _polish_among_all(stage, rivals)
    # a start may have been better all along: the representatives are not the data
    choices.append(rivals[0])
    choices.extend(start for start in stage.starts if start.size == r)
    return settle(choices, evidence.M, evidence.A)


class _Stage:
    """What both searches share: representatives with their sizes, candidates, and first choices."""

    def __init__(
        self,
        r: int,
        directions: int,
        data: Evidence,
        representatives: Array,
        sizes: Array,
        pool: Array,
        every: Array,
        starts: list[Array],
    ) -> None:
        self.r = r
        self.directions = directions
        self.data = data
        self.representatives = representatives
        self.sizes = sizes
        self.pool = pool  # candidates of the first search
        self.every = every  # candidates of the second: all columns that are not zero
        self.starts = starts

    @classmethod
    def of(cls, evidence: Evidence, rotated: Evidence, r: int, directions: int) -> "_Stage":
        """Gather representatives, candidates and first choices."""
        n = evidence.M.shape[1]
        clusters = evidence.clusters
        if clusters is None and n > 2 * N_REPRESENTATIVES:
            clusters = h2nmf(evidence.M, N_REPRESENTATIVES)
        representatives = np.arange(n)
        sizes = np.ones(n)
        if clusters is not None:
            representatives = clusters.indices
            sizes = clusters.sizes
        starts = [evidence.points[reader(evidence, r)] for reader in READERS.values()]
        every = np.flatnonzero(np.abs(evidence.A).any(axis=0))
        pool = evidence.points[evidence.solution.support]
        if evidence.tied:
            rank = min(r, representatives.size)
            first = spa(evidence.M[:, representatives], rank, allow_fewer=True)
            starts.append(representatives[first])
            pool = np.union1d(pool, representatives)
        elif every.size <= 2 * N_REPRESENTATIVES:
            pool = every
        starts.append(np.empty(0, dtype=np.int64))
        return cls(r, directions, rotated, representatives, sizes, pool, every, starts)


def _search_among_representatives(stage: _Stage) -> list[Array]:
    """Exchange among the pool, fitted to the representatives; return the best choices in order."""
    max_rivals = 3
    rival = 1.05  # times the least square: optima that may be as good on all columns
    M = stage.data.M
    r = stage.r
    fit = Fit.of(
        M[:, stage.representatives], stage.sizes, stage.data.A[:, stage.pool], stage.directions
    )
    # choices that may be fitted; fewer where each takes longer
    budget = Budget(6_000 * (r + EXTRA_DIRECTIONS) / stage.directions)
    optima: dict[tuple[int, ...], float] = {}  # sorted columns, and their error
    for start in stage.starts:
        grown = grow(fit, r, np.searchsorted(stage.pool, start), TRIALS, budget)
        is_worth_it = min(optima.values(), default=np.inf) > GOOD_ENOUGH * fit.limit(r)
        if grown.size == r and is_worth_it:
            K, square = exchange(fit, fit, grown, TRIALS, budget)
            optima[tuple(sorted(K.tolist()))] = square
    if not optima:
        return []
    first = min(optima, key=lambda K: optima[K])
    K, square = kick(fit, np.array(first), optima[first], TRIALS, budget)
    optima[tuple(sorted(K.tolist()))] = square
    by_error = sorted(optima, key=lambda K: optima[K])
    rivals = [np.array(K) for K in by_error if optima[K] <= rival * square]
    return [stage.pool[K] for K in rivals[:max_rivals]]


def _polish_among_all(stage: _Stage, rivals: list[Array]) -> list[Array]:
    """Exchange among all columns, fitted to all, or to evenly spaced ones if they are many."""
    max_judged = 20_000
    M = stage.data.M
    A = stage.data.A
    judged = np.flatnonzero(np.abs(M).any(axis=0))
    judged = judged[:: -(-judged.size // max_judged)]
    judge = Fit.of(M[:, judged], np.ones(judged.size), A[:, stage.every], stage.directions)
    guide = Fit.of(M[:, stage.representatives], stage.sizes, A[:, stage.every], stage.directions)
    budget = Budget(4_000_000 / judged.size)  # columns fitted in all
    choices = []
    for K in rivals:
        start = np.searchsorted(stage.every, K)
        polished, _ = exchange(judge, guide, start, 4, budget)
        choices.append(stage.every[polished])
    return choices


def settle(choices: list[Array], M: Array, A: Array) -> Array:
    """Return the choice with the least error.

    Among errors that agree to 0.2 %, which the data cannot tell apart, it is the choice whose
    abundances sum most nearly to one.
    """
    errors = [relative_error(M, A[:, K]) for K in choices]
    ties = [K for K, error in zip(choices, errors, strict=True) if error <= ERROR_TIE * min(errors)]
    if len(ties) == 1:
        return ties[0]

    def distance_from_shares(K: Array) -> float:
        return float(np.abs(nnls(A[:, K], M).sum(axis=0) - 1).mean())

    return min(ties, key=distance_from_shares)


def _rotated(evidence: Evidence, q: int) -> Evidence:
    """Rotate data and atoms onto q directions in which both have most of their energy."""
    total: Any = 0.0
    for columns in (evidence.M, evidence.A):
        moments = second_moments(columns)
        total = total + moments / (np.trace(moments) or 1.0)
    basis = np.linalg.eigh(total)[1][:, -q:].astype(evidence.M.dtype)
    return replace(evidence, M=basis.T @ evidence.M, A=basis.T @ evidence.A)
