"""Fewer columns: cluster representatives (FGNSR-100 and FGNSR-500 of the paper).

After such a reduction the gates are kept, and every column is fitted anew.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import diags_array

from selfdict._errors import InputError, UnsupportedError
from selfdict._validation import Array, as_count
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.model.reduction import Reduction
from selfdict.model.solution import Solution
from selfdict.peers.h2nmf import Clusters, h2nmf
from selfdict.peers.spa import spa
from selfdict.solvers.search_data import fit_within_gates


def weighted_columns(problem: Problem) -> Array:
    """Return M with each column times the root of its sample weight."""
    if problem.sample_weight is None:
        return problem.M
    roots = np.sqrt(problem.sample_weight).astype(problem.M.dtype)
    if problem.is_sparse:
        scaled: Array = (problem.M @ diags_array(roots)).tocsc().astype(problem.M.dtype)
        return scaled
    weighted: Array = problem.M * roots
    return weighted


class GateReduction(Reduction):
    """A reduction after which each open row of X belongs to one row of the larger X."""

    @abstractmethod
    def _rows(self, link: ReducedFrom) -> Array:
        """Return, for each row of the reduced X, its index in the larger one."""

    def lift(self, solution: Solution) -> Solution:
        """Return the X of the larger problem with the same gates; all columns are fitted anew."""
        link = self._reduced_from(solution)
        rows = self._rows(link)
        origin = link.problem
        # the solution's own weights p where it has rows; others are closed, whatever they cost
        p = origin.p.copy()
        p[rows] = solution.problem.p
        origin = origin.with_penalty_of(solution.problem).changed(p=p)
        return fit_within_gates(origin, rows[solution.support], solution.diagonal[solution.support])


class ColumnSubset(GateReduction):
    """A reduction to some of the columns, each of which stands for others."""

    def _rows(self, link: ReducedFrom) -> Array:
        if link.problem.D is not None:
            return np.arange(link.problem.n_atoms)
        return self.columns_of(link)

    @abstractmethod
    def columns_of(self, link: ReducedFrom) -> Array:
        """Return the indices of the columns that were kept."""

    def _restricted(
        self, problem: Problem, columns: Array, weight: Array, memory: Any, w: Array | None = None
    ) -> Problem:
        """Return the problem for some columns with weights in the residual; w are those of Ω."""
        if w is None:
            w = problem.w[columns]
        changes: dict[str, Any] = {
            "M": problem.M[:, columns],
            "w": w,
            "sample_weight": weight,
            "loss": problem.loss.take(columns),
            "reduced_from": ReducedFrom(problem, self, memory),
        }
        if problem.D is None:  # the columns are the atoms as well
            changes["v"] = changes["w"]
            changes["p"] = problem.p[columns]
        return problem.changed(**changes)


@dataclass(frozen=True)
class Candidates(ColumnSubset):
    """Solve for the representatives of H2NMF clusters, each with the weight of its cluster.

    Parameters
    ----------
    n_clusters : int
        The number of clusters; with fewer points, each point is a cluster.
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
        """Return the clusters of the points, each scaled by its weight."""
        n_clusters = min(int(self.n_clusters), problem.n_points)
        return h2nmf(weighted_columns(problem), n_clusters)

    def reduce_to(self, problem: Problem, clusters: Clusters) -> Problem:
        """Return the problem for the representatives of given clusters."""
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


def sample_columns(
    M: Array, n_points: int, n_extreme: int, generator: np.random.Generator
) -> Array:
    """Return the indices of random columns of M (m, n) and of its extreme ones, increasing."""
    n = M.shape[1]
    drawn = generator.choice(n, n_points, replace=False)
    if n_extreme == 0:
        return np.sort(drawn)
    # float64: where only noise is left, SPA must compare many residuals of nearly one size
    extreme = spa(M.astype(np.float64), min(n_extreme, n), allow_fewer=True)
    return np.union1d(extreme, drawn)
