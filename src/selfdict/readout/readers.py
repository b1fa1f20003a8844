"""Three ways to read columns out of X alone: its diagonal, SPA on its rows, groups of rows."""

from collections.abc import Callable

import numpy as np
import scipy.cluster.hierarchy
import scipy.spatial.distance

from selfdict._validation import Array
from selfdict.model.omega import column_norms
from selfdict.peers.spa import spa
from selfdict.readout.evidence import Evidence


def by_diagonal(evidence: Evidence, r: int) -> Array:
    """Return the rows of the r largest diagonal entries of X, or of the r widest gates."""
    diagonal = evidence.solution.diagonal
    order = np.argsort(-diagonal, kind="stable")[:r]
    return order[diagonal[order] > 0]


def by_spa(evidence: Evidence, r: int) -> Array:
    """Run SPA on the rows of X, in units where all columns have ℓ1 norm one (section 4.2)."""
    solution = evidence.solution
    w = evidence.w
    v = w
    if not evidence.tied:
        v = column_norms(evidence.A)
    inverse = np.zeros_like(w)
    np.divide(1.0, w, out=inverse, where=w > 0)
    Z = solution.coef * v[solution.support, None] * inverse
    if len(Z) == 0:
        return solution.support
    rank = min(r, len(Z), int(np.linalg.matrix_rank(Z)))
    if rank == 0:
        return solution.support
    return solution.support[spa(Z.T, rank)]


def by_clusters(evidence: Evidence, r: int) -> Array:
    """Merge near columns of the support until r groups have 1/(r+1) of the weight each.

    Each of these groups is represented by its row with the largest diagonal entry.
    """
    solution = evidence.solution
    support = solution.support
    weight = solution.diagonal[support].astype(np.float64)
    if support.size <= r:
        return support[np.argsort(-weight, kind="stable")]
    columns = evidence.A[:, evidence.points[support]].astype(np.float64)
    columns /= np.abs(columns).sum(axis=0)
    distances = scipy.spatial.distance.pdist(columns.T, "cityblock")
    tree = scipy.cluster.hierarchy.average(distances)
    # by height: asked for a number of clusters, scipy before 1.15 may return fewer
    heights = [0.0, *tree[: support.size - r, 2]]
    for height in heights:
        labels = scipy.cluster.hierarchy.fcluster(tree, height, criterion="distance")
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
