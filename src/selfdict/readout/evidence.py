"""What columns are chosen by: the data behind a solution, and three ways to read X alone."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.linear_algebra import second_moments
from selfdict.kernels.columns import column_norms, dense_columns, squared_norms
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, problem_of
from selfdict.peers.h2nmf import Clusters
from selfdict.peers.successive import spa
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


def groups_of_rows(solution: Solution, groups: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return groups of points as groups of rows of a solution, maybe one of representatives."""
    # A group without a representative is represented by the one that points in the direction of its
    # first point most nearly.
    problem = problem_of(solution)
    points = Evidence.of(solution).points
    if points.size == problem.root.n_atoms:
        return groups
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
