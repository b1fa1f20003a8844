"""From X to indices: the columns of M, or of a dictionary, that a solution of model (6) selects."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array, as_rank
from selfdict.compute.deadline import Deadline
from selfdict.compute.linear_algebra import in_leading_directions, second_moments
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import column_norms, dense_columns
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, problem_of
from selfdict.peers.h2nmf import Clusters
from selfdict.peers.successive import spa
from selfdict.readout.exchange import EXTRA_DIRECTIONS, by_exchange, complete
from selfdict.reductions.steps import Candidates, ColumnSubset, weighted_columns


@dataclass(frozen=True, eq=False)
class Evidence:
    """A solution with all the data it was found for."""

    solution: Solution  # of all points, or of some of them
    M: Any  # (m, n) all points, times the roots of their sample weights
    A: Any  # (m, d) the columns to choose from: M, or the atoms of a dictionary
    tied: bool  # whether A is M
    points: Array  # the columns of A that the rows of the solution belong to
    clusters: Clusters | None  # that the solution's points represent

    @classmethod
    def of(cls, solution: Solution) -> "Evidence":
        """Take the data from the solution's problem, or from the one that was reduced to it."""
        problem = problem_of(solution)
        whole = problem
        points = np.arange(problem.n_atoms)
        clusters = None
        # back to all points, with their noise
        while whole.reduced_from is not None:
            link = whole.reduced_from
            if not isinstance(link.step, ColumnSubset):
                raise InputError(f"lift the solution first: its problem was reduced by {link.step}")
            whole = link.problem
            columns = link.step.columns_of(link)
            if problem.D is None:
                points = columns[points]
            if isinstance(link.step, Candidates):
                clusters = _in_units_of_representatives(link.memory, whole)
            elif columns.size < whole.n_points:
                clusters = None  # of some of the points
        # a point that counts s times is one that is √s times as long, in every squared error
        M = weighted_columns(whole)
        A = M
        if whole.D is not None:
            A = whole.D.astype(M.dtype, copy=False)
        return cls(solution, M, A, whole.D is None, points, clusters)


def _in_units_of_representatives(clusters: Clusters, whole: Problem) -> Clusters:
    """Return clusters with sizes for columns that have the roots of their own weights already."""
    if whole.sample_weight is None:
        return clusters
    own = whole.sample_weight[clusters.indices].astype(np.float64)
    return replace(clusters, sizes=clusters.sizes / np.where(own > 0, own, 1.0))


def by_diagonal(evidence: Evidence, r: int) -> Array:
    """Return the rows of the r largest diagonal entries of X, or of the r widest gates."""
    diagonal = evidence.solution.diagonal
    order = np.argsort(-diagonal, kind="stable")[:r]
    return order[diagonal[order] > 0]


def by_spa(evidence: Evidence, r: int) -> Array:
    """Run SPA on the rows of X, in units where all columns have ℓ1 norm one (section 4.2)."""
    solution = evidence.solution
    w = solution.problem.w
    v = w
    if not evidence.tied:
        v = column_norms(evidence.A)
    inverse = np.zeros_like(w)
    np.divide(1.0, w, out=inverse, where=w > 0)
    unit = v[solution.support]
    # only lengths and angles of the rows matter
    power, vectors = np.linalg.eigh(second_moments(solution.coef, inverse) * np.outer(unit, unit))
    is_positive = power > len(power) * np.finfo(float).eps * power.max(initial=0.0)
    rank = min(r, int(is_positive.sum()))
    if rank == 0:
        return solution.support
    root = np.sqrt(power[is_positive])
    return solution.support[spa(root[:, None] * vectors[:, is_positive].T, rank)]


def by_clusters(evidence: Evidence, r: int) -> Array:
    """Merge near columns of the support until r groups have 1/(r+1) of the weight each."""
    solution = evidence.solution
    support = solution.support
    weight = solution.diagonal[support].astype(np.float64)
    if support.size <= r:
        return support[np.argsort(-weight, kind="stable")]
    columns = evidence.A[:, evidence.points[support]].astype(np.float64)
    columns /= np.abs(columns).sum(axis=0)
    # Imported on use: scipy.spatial takes a tenth of a second.
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import pdist

    tree = hierarchy.average(pdist(columns.T, "cityblock"))
    # by height: asked for a number of clusters, scipy before 1.15 may return fewer
    heights = [0.0, *tree[: support.size - r, 2]]
    for height in heights:
        labels = hierarchy.fcluster(tree, height, criterion="distance")
        total = np.bincount(labels, weights=weight)
        heaviest = np.argsort(-total, kind="stable")[:r]
        if total[heaviest].min() >= total.sum() / (r + 1):
            break
    chosen = []
    for label in heaviest:
        members = np.flatnonzero(labels == label)
        if members.size:
            chosen.append(members[np.argmax(weight[members])])
    return support[chosen]


READERS: dict[str, Callable[[Evidence, int], Array]] = {
    "diagonal": by_diagonal,
    "spa": by_spa,
    "clusters": by_clusters,
}


def select_indices(
    solution: Solution,
    r: int,
    method: str = "auto",
    *,
    max_seconds: float | None = None,
) -> Array:
    """Select r columns of M, or r atoms of D, from a solution of model (6).

    Parameters
    ----------
    solution : Solution
        With its problem. For a problem reduced to representatives (:class:`Candidates`) the indices
        are those of all points.
    r : int
        The number of columns.
    method : {"auto", "diagonal", "spa", "clusters", "exchange"}
        - ``"diagonal"``: the r largest diagonal entries of X, as in Algorithm 1, or the r widest
          gates. Near-duplicates share weight in the optimum, so these can all show the same
          material.
        - ``"spa"``: SPA on the rows of X, in units where all columns of M and D have ℓ1 norm one
          (section 4.2).
        - ``"clusters"``: merge near-duplicates and add up their weights, after Gillis
          and Luce (JMLR 15, 2014).
        - ``"exchange"``: start from the three above and from a greedy choice, then exchange single
          columns as long as the relative error falls: first among the support and the
          representatives (with D: the support, or all of up to 1000 atoms), fitted to weighted
          representatives, then among all columns of M, or all atoms, fitted to all. Of selections
          whose errors agree to 0.2 %, the one whose abundances sum most nearly to one is taken.
          Deterministic and bounded in work. If it is predicted to take long, as for large r, a
          warning says so before it starts.
        - ``"auto"``: ``"exchange"``, which has the lowest error, up to that 0.2 %. It is ``"spa"``
          for a loss such as :class:`Huber`, because an exchange lowers squares, which outliers
          dominate, and ``"diagonal"`` for sparse data, which the other methods compare in its
          leading directions only.
    max_seconds : float, optional
        Time limit: the best selection so far is returned, and a warning says what was left out.
        Without a limit the selection does not depend on the speed of the machine.

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
    deadline = Deadline(max_seconds)
    K = select_from(Evidence.of(solution), r, method, deadline)
    if deadline.skipped:
        warn_caller(f"Because of the time limit, {'; '.join(deadline.skipped)}.")
    return K


def select_from(evidence: Evidence, r: int, method: str, deadline: Deadline) -> Array:
    """Do what :func:`select_indices` does; what is skipped is recorded in the deadline."""
    of = "points"
    if not evidence.tied:
        of = "atoms"
    r = as_rank(r, evidence.A.shape[1], of=of)
    if method not in ("auto", "exchange", *READERS):
        names = ", ".join(map(repr, READERS))
        raise InputError(f"method must be one of 'auto', 'exchange', {names}, got {method!r}")
    loss = evidence.solution.problem.loss
    is_sparse = issparse(evidence.A)
    if method == "auto":
        method = "exchange"
        if is_sparse:
            method = "diagonal"
        elif not loss.quadratic:
            method = "spa"
    if is_sparse:
        q = min(r + 2 * EXTRA_DIRECTIONS, evidence.M.shape[0])
        small = in_leading_directions(evidence.M, q)[0]
        evidence = replace(evidence, M=small, A=small)
    if method != "exchange":
        chosen = evidence.points[READERS[method](evidence, r)]
        return complete(chosen, r, evidence, deadline)
    # in units of the noise, for a loss that knows it
    M = loss.whiten(evidence.M)
    A = M
    if not evidence.tied:
        A = loss.whiten(evidence.A)
    with single_threaded_blas():  # products are small, or taken inside slices
        evidence = replace(evidence, M=M, A=A)
        starts = [evidence.points[reader(evidence, r)] for reader in READERS.values()]
        return by_exchange(evidence, starts, r, deadline)


def atoms_alike(solution: Solution, K: Array) -> tuple[Array, ...]:
    """Return the atoms of the support that look like each selected one, which comes first."""
    # Imported on use: scipy.spatial takes a tenth of a second.
    from scipy.spatial.distance import cdist

    # An atom joins the nearest selected one if it is nearer than half of the distance from there
    # to the next selected one; distances are in ℓ1, between columns of ℓ1 norm one.
    atoms = problem_of(solution).root.atoms
    diagonal = solution.diagonal
    centres = _rows_of_norm_one(dense_columns(atoms, K))
    between = cdist(centres, centres, "cityblock")
    np.fill_diagonal(between, np.finfo(between.dtype).max)
    others = np.setdiff1d(solution.support, K)
    others = others[np.argsort(-diagonal[others], kind="stable")]
    candidates = _rows_of_norm_one(dense_columns(atoms, others))
    distance = cdist(candidates, centres, "cityblock")
    nearest = distance.argmin(axis=1)
    joins = distance.min(axis=1) < 0.5 * between.min(axis=1)[nearest]
    groups = []
    for k, selected in enumerate(K):
        groups.append(np.append(selected, others[joins & (nearest == k)]))
    return tuple(groups)


def _rows_of_norm_one(columns: Array) -> Array:
    norms = column_norms(columns)
    return np.ascontiguousarray((columns / np.where(norms > 0, norms, 1.0)).T, dtype=np.float64)
