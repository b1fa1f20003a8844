"""From X to indices: which columns of M, or of a dictionary, a solution of model (6) points to."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.cluster.hierarchy
import scipy.spatial.distance
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix, as_rank
from selfdict.abundances import nnls
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.sums import second_moments
from selfdict.metrics import relative_error
from selfdict.model.omega import column_norms, dictionary
from selfdict.model.solution import Solution
from selfdict.peers._columns import enough
from selfdict.peers.greedy import Budget, Fit, grow
from selfdict.peers.h2nmf import Clusters, h2nmf
from selfdict.peers.spa import spa
from selfdict.readout.exchange import GOOD_ENOUGH, exchange, kick

N_POINTS = 500  # clusters that stand for the data where nobody handed in others
MAX_JUDGED = 20_000  # columns on which an exchange is judged
SEARCH_TRIALS = 6_000  # choices fitted to the representatives; fewer where each takes longer
POLISH_COLUMNS = 4_000_000  # columns fitted in all while polishing
TRIALS = 8  # candidates tried a place, from each of two rankings
POLISH_TRIALS = 4
RIVAL = 1.05  # times the least square among the representatives: optima that may be as good on all columns
MAX_RIVALS = 3
TIE = 1.002  # times the least relative error: choices that the error cannot tell apart
DIRECTIONS = 16  # more directions than r in which candidates are compared
ATOM_DIRECTIONS = (
    64  # the same for atoms of a dictionary, which need not lie in the subspace of the data
)


def select_indices(
    solution: Solution,
    r: int,
    M: ArrayLike,
    method: str = "auto",
    *,
    clusters: Clusters | None = None,
    D: ArrayLike | None = None,
) -> Array:
    """Read r column indices of M, or r atoms of D, out of a solution of model (6).

    Parameters
    ----------
    solution : Solution
        Of M, or of the representatives of ``clusters``.
    r : int
        How many columns.
    M : (m, n) array_like
        The data, all of it.
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
          outliers dominate.
    clusters : Clusters, optional
        From :func:`h2nmf`, if at hand; ``"exchange"`` makes 500 of its own otherwise.
    D : (m, d) array_like, optional
        The dictionary of the solution; by default M itself.

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
    >>> sorted(select_indices(fast_gradient(M, 0.1), 2, M).tolist())
    [0, 1]
    """
    M = as_matrix(M)
    A = M if D is None else dictionary(D, M)[0]
    name, of = ("M", "points") if D is None else ("D", "atoms")
    r = as_rank(r, A.shape[1], of=of)
    points = np.arange(A.shape[1])
    if D is None and clusters is not None and solution.diagonal.size != points.size:
        points = clusters.indices
    if solution.diagonal.size != points.size:
        raise InputError(
            f"the solution belongs to {solution.diagonal.size} {of}, {name} has {A.shape[1]}"
        )
    if method not in ("auto", "exchange", *_READERS):
        raise InputError(
            f"method must be one of 'auto', 'exchange', {', '.join(map(repr, _READERS))}, got {method!r}"
        )
    if solution.weights is None:
        solution = replace(solution, weights=column_norms(M if D is not None else M[:, points]))
    loss = solution.loss
    if method == "exchange" or (method == "auto" and loss.quadratic):
        with single_threaded_blas():  # products are small, or taken inside slices
            return _exchange(
                solution, r, loss.whiten(M), D is None, loss.whiten(A), points, clusters
            )
    method = "spa" if method == "auto" else method
    return _complete(points[_READERS[method](solution, r, A[:, points], D is None)], r, M, A)


def _diagonal(solution: Solution, r: int, A: Array, tied: bool) -> Array:
    order = np.argsort(-solution.diagonal, kind="stable")[:r]
    return order[solution.diagonal[order] > 0]


def _spa(solution: Solution, r: int, A: Array, tied: bool) -> Array:
    w = np.asarray(solution.weights)
    v = w if tied else column_norms(A)
    scale = np.divide(1.0, w, out=np.zeros_like(w), where=w > 0)
    Z = solution.coef * v[solution.support, None] * scale
    rank = min(r, len(Z), int(np.linalg.matrix_rank(Z))) if len(Z) else 0
    return solution.support[spa(Z.T, rank)] if rank else solution.support


def _clusters(solution: Solution, r: int, A: Array, tied: bool) -> Array:
    """Merge near columns of the support until each of the r heaviest groups has 1/(r+1) of all weight."""
    support = solution.support
    if support.size <= r:
        return support[np.argsort(-solution.diagonal[support], kind="stable")]
    columns = A[:, support].astype(np.float64)
    columns /= np.abs(columns).sum(axis=0)
    tree = scipy.cluster.hierarchy.average(scipy.spatial.distance.pdist(columns.T, "cityblock"))
    weight = solution.diagonal[support].astype(np.float64)
    for height in (
        0.0,
        *tree[: support.size - r, 2],
    ):  # asked for a number, scipy < 1.15 may give fewer clusters
        labels = scipy.cluster.hierarchy.fcluster(tree, height, criterion="distance")
        total = np.bincount(labels, weights=weight)
        heaviest = np.argsort(-total, kind="stable")[:r]
        if total[heaviest].min() >= total.sum() / (r + 1):
            break
    members = [np.flatnonzero(labels == label) for label in heaviest]
    return support[[m[np.argmax(weight[m])] for m in members if m.size]]


_READERS: dict[str, Callable[[Solution, int, Array, bool], Array]] = {
    "diagonal": _diagonal,
    "spa": _spa,
    "clusters": _clusters,
}


def _complete(K: Array, r: int, M: Array, A: Array) -> Array:
    """Fill K up to r columns of A with those that lower the error most."""
    if K.size < r:
        K = grow(Fit.of(M, np.ones(M.shape[1]), A, M.shape[0]), r, K, TRIALS, Budget())
    return enough(K.tolist(), r, "the cone of so many columns contains all the others")


def _exchange(
    solution: Solution,
    r: int,
    M: Array,
    tied: bool,
    A: Array,
    points: Array,
    clusters: Clusters | None,
) -> Array:
    """Exchange among the columns of A, which are those of M if ``tied``; the solution's rows are ``points`` of them."""
    n = M.shape[1]
    if clusters is None and n > 2 * N_POINTS:
        clusters = h2nmf(M, N_POINTS)
    chosen, sizes = (
        (np.arange(n), np.ones(n)) if clusters is None else (clusters.indices, clusters.sizes)
    )
    starts = [points[reader(solution, r, A[:, points], tied)] for reader in _READERS.values()]
    every = np.flatnonzero(np.abs(A).any(axis=0))
    pool, directions, given = points[solution.support], r + DIRECTIONS, (M, A)
    if tied:
        starts.append(chosen[spa(M[:, chosen], min(r, chosen.size), allow_fewer=True)])
        pool = np.union1d(pool, chosen)
    else:
        pool = every if every.size <= 2 * N_POINTS else pool
        directions += ATOM_DIRECTIONS
        M, A = _leading(M, A, directions)
    starts.append(np.empty(0, dtype=np.int64))

    # among the support and the representatives, fitted to the representatives
    small = Fit.of(M[:, chosen], sizes, A[:, pool], directions)
    budget = Budget(SEARCH_TRIALS * (r + DIRECTIONS) / directions)
    optima: dict[tuple[int, ...], float] = {}  # sorted columns, and their error
    for start in starts:
        grown = grow(small, r, np.searchsorted(pool, start), TRIALS, budget)
        if grown.size == r and min(optima.values(), default=np.inf) > GOOD_ENOUGH * small.limit(r):
            K, square = exchange(small, small, grown, TRIALS, budget)
            optima[tuple(sorted(K.tolist()))] = square
    if not optima:
        return _complete(starts[0], r, *given)
    first = min(optima, key=lambda K: optima[K])
    K, square = kick(small, np.array(first), optima[first], TRIALS, budget)
    optima[tuple(sorted(K.tolist()))] = square
    rivals = [
        np.array(K) for K in sorted(optima, key=lambda K: optima[K]) if optima[K] <= RIVAL * square
    ][:MAX_RIVALS]

    # among all columns, fitted to all (or to evenly spaced ones, if they are many)
    judged = np.flatnonzero(np.abs(M).any(axis=0))
    judged = judged[:: -(-judged.size // MAX_JUDGED)]
    judge = Fit.of(M[:, judged], np.ones(judged.size), A[:, every], directions)
    guide = Fit.of(M[:, chosen], sizes, A[:, every], directions)
    budget = Budget(POLISH_COLUMNS / judged.size)
    choices = [
        every[exchange(judge, guide, np.searchsorted(every, pool[K]), POLISH_TRIALS, budget)[0]]
        for K in rivals
    ]
    # a start may have been better all along: the representatives are not the data
    choices += [pool[rivals[0]], *(start for start in starts if start.size == r)]
    return _settle(choices, *given)


def _settle(choices: list[Array], M: Array, A: Array) -> Array:
    """Return the choice with the least error; where that cannot tell, the one whose abundances are most like shares."""
    errors = [relative_error(M, A[:, K]) for K in choices]
    ties = [K for K, error in zip(choices, errors, strict=True) if error <= TIE * min(errors)]
    if len(ties) == 1:
        return ties[0]
    return min(ties, key=lambda K: float(np.abs(nnls(A[:, K], M).sum(axis=0) - 1).mean()))


def _leading(M: Array, A: Array, q: int) -> tuple[Array, Array]:
    """Rotate data and atoms onto q directions in which both have most of their energy."""
    moments = [second_moments(B) for B in (M, A)]
    basis = np.linalg.eigh(sum(S / (np.trace(S) or 1.0) for S in moments))[1][:, -q:].astype(
        M.dtype
    )
    return basis.T @ M, basis.T @ A
