"""Cluster representatives in place of all points: FGNSR-100 and FGNSR-500 of the paper."""

from dataclasses import dataclass, replace

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, as_count
from selfdict.model.features import UnsupportedError
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.peers.h2nmf import Clusters, h2nmf
from selfdict.reductions.columns import ColumnSubset
from selfdict.reductions.weighting import weighted_columns


@dataclass(frozen=True)
class Candidates(ColumnSubset):
    """Solve for the representatives of H2NMF clusters, each with the weight of its cluster.

    Parameters
    ----------
    n_clusters : int
        The number of clusters; every point is its own, if there are fewer points.
    weighting : {"scaled", "residual"}
        How the sizes n_k of the clusters enter Ω; in the residual they are weights in both cases.
        ``"scaled"``: w_k = 1/√n_k, the program of the authors: they scale each representative by
        √n_k and set all weights of Ω to one, which is the same. ``"residual"``: w_k = ‖m_k‖₁, the
        text of the paper; with a dictionary always.

    Examples
    --------
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M = make_mixtures(30, 200, 4, noise=0.01, random_state=0)[0]
    >>> small = selfdict.Candidates(50).reduce(selfdict.Problem(M, mu=0.1))
    >>> small.M.shape, int(small.sample_weight.sum())
    ((30, 50), 200)
    """

    n_clusters: int
    weighting: str = "scaled"

    def __post_init__(self) -> None:
        as_count(self.n_clusters, "n_clusters")
        if self.weighting not in ("scaled", "residual"):
            raise InputError(f'weighting must be "scaled" or "residual", got {self.weighting!r}')

    def check(self, problem: Problem) -> None:
        """Raise :class:`selfdict.UnsupportedError` if the points cannot be clustered."""
        if problem.is_sparse:
            raise UnsupportedError("candidates need dense data; pass M.toarray() if it fits")

    def reduce(self, problem: Problem) -> Problem:
        """Cluster the points and return the problem for the representatives."""
        self.check(problem)
        return self.reduce_to(problem, self.cluster(problem))

    def cluster(self, problem: Problem) -> Clusters:
        """Return the clusters of the points, each point as long as its weight says."""
        n_clusters = min(int(self.n_clusters), problem.n_points)
        return h2nmf(weighted_columns(problem), n_clusters)

    def reduce_to(self, problem: Problem, clusters: Clusters) -> Problem:
        """Return the problem for the representatives of clusters that are known already."""
        sizes: Array = clusters.sizes.astype(np.float64)
        if problem.sample_weight is not None:
            # the weights of all points of a cluster together
            weight = problem.sample_weight.astype(np.float64)
            sizes = np.bincount(clusters.labels, weight, minlength=sizes.size)
            clusters = replace(clusters, sizes=sizes)
        w = None
        if self.weighting == "scaled" and problem.D is None:
            # a zero column, or one that counts nothing, gets the weight 0
            w = np.zeros(sizes.size)
            counts = (problem.w[clusters.indices] > 0) & (sizes > 0)
            w[counts] = 1 / np.sqrt(sizes[counts])
        return self._restricted(problem, clusters.indices, sizes, clusters, w)

    def columns_of(self, link: ReducedFrom) -> Array:
        """Return the representatives."""
        clusters: Clusters = link.memory
        return clusters.indices
