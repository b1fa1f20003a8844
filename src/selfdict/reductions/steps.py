"""The reductions: cluster representatives (FGNSR-100 and FGNSR-500 of the paper), and denoising.

After either of them the gates are kept, and every column is fitted anew. Denoising is for the
search for atoms of a dictionary: see :doc:`/mathematics`.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import diags_array

from selfdict._errors import InputError, UnsupportedError
from selfdict._validation import Array, as_count
from selfdict.compute.linear_algebra import in_leading_directions, transposed_product
from selfdict.kernels.columns import column_norms, squared_norms
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.model.solution import Reduction, Solution
from selfdict.peers.h2nmf import Clusters, h2nmf
from selfdict.solvers.heuristic import RELATIVE_OFFSET
from selfdict.solvers.search import fit_within_gates


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


def _refuse_sparse(problem: Problem, what: str) -> None:
    if problem.is_sparse:
        raise UnsupportedError(f"{what} needs dense data; pass M.toarray() if it fits into memory")


class ColumnSubset(Reduction):
    """A reduction to some of the columns, or to all of them with other data."""

    @abstractmethod
    def columns_of(self, link: ReducedFrom) -> Array:
        """Return, for each column of the reduced problem, its index in the larger one."""

    def lift(self, solution: Solution) -> Solution:
        """Return the X of the larger problem with the same gates; all columns are fitted anew."""
        link = self._reduced_from(solution)
        origin = link.problem
        rows = np.arange(origin.n_atoms)
        if origin.D is None:
            rows = self.columns_of(link)
        small = solution.problem
        # the solution's own weights p where it has rows; others are closed, whatever they cost
        p = origin.p.copy()
        p[rows] = small.p
        origin = origin.changed(mu=small.mu, smooth=small.smooth, target=None, p=p)
        return fit_within_gates(origin, rows[solution.support], solution.diagonal[solution.support])

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
            changes["v"] = w
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
        How the cluster sizes n_k enter Ω; in the residual they are weights in both cases.
        ``"scaled"``: w_k = 1/√n_k, as in the authors' program, which scales each representative by
        √n_k and sets all weights of Ω to one. ``"residual"``: w_k = ‖m_k‖₁, as in the text of the
        paper; this is always used with a dictionary.

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
        _refuse_sparse(problem, "clustering")

    def reduce(self, problem: Problem) -> Problem:
        """Cluster the points and return the problem for the representatives."""
        self.check(problem)
        return self.reduce_to(problem, self.cluster(problem))

    def cluster(self, problem: Problem) -> Clusters:
        """Return the clusters of the points, each scaled by its weight; weights add up to sizes."""
        n_clusters = min(int(self.n_clusters), problem.n_points)
        clusters = h2nmf(weighted_columns(problem), n_clusters)
        if problem.sample_weight is None:
            return clusters
        sizes = np.bincount(clusters.labels, problem.sample_weight, minlength=clusters.sizes.size)
        return replace(clusters, sizes=sizes)

    def reduce_to(self, problem: Problem, clusters: Clusters) -> Problem:
        """Return the problem for the representatives of given clusters."""
        sizes = clusters.sizes.astype(np.float64)
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


class Denoised(NamedTuple):
    """Data of rank r, and what was dropped."""

    data: Array  # (m, n)
    variance: float  # of the noise in one entry of M, if all that was dropped is noise
    mu: float  # a penalty for the gates of a dictionary: r variances, what fitting noise explains


@dataclass(frozen=True)
class Denoising(ColumnSubset):
    """Solve for the best approximation of the data of a given rank.

    Parameters
    ----------
    rank : int
        The rank, reduced to min(m, n) if larger.

    Examples
    --------
    >>> import numpy as np
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M = make_mixtures(30, 200, 4, noise=0.05, random_state=0)[0]
    >>> clean = selfdict.Denoising(4).reduce(selfdict.Problem(M, mu=0.1))
    >>> int(np.linalg.matrix_rank(clean.M))
    4
    """

    rank: int

    def __post_init__(self) -> None:
        as_count(self.rank, "rank")

    def reduce(self, problem: Problem) -> Problem:
        """Return the problem for the denoised data; its ``reduced_from.memory`` has the noise.

        ``memory.variance`` is that of the noise in one entry of M, ``memory.mu`` a penalty for the
        gates of a dictionary: r variances, about what an atom explains that fits noise alone.
        """
        _refuse_sparse(problem, "denoising")
        found = denoise(weighted_columns(problem), min(int(self.rank), *problem.M.shape))
        data = found.data
        if problem.sample_weight is not None:
            # back to the unit of M; a column without weight is not seen, and stays as it is
            root = np.sqrt(problem.sample_weight).astype(data.dtype)
            data = np.divide(data, root, out=problem.M.copy(), where=root > 0)
        # a column that is absent (w = 0) stays so
        w = np.where(problem.w > 0, column_norms(data, np.float64), 0.0)
        v = w
        if problem.D is not None:
            v = problem.v
        link = ReducedFrom(problem, self, found)
        return problem.changed(M=data, w=w, v=v, reduced_from=link)

    def columns_of(self, link: ReducedFrom) -> Array:
        """Return all columns."""
        return np.arange(link.problem.n_points)


def denoise(M: Array, r: int) -> Denoised:
    """Return the best approximation of M of rank r, and the noise estimated from the rest."""
    m, n = M.shape
    coordinates, basis = in_leading_directions(M, r)
    data = transposed_product(basis.T, coordinates)
    # of m n degrees of freedom, a matrix of rank r takes r(m + n − r)
    variance = float(squared_norms(M - data).sum()) / max(1, (m - r) * (n - r))
    # a millionth of the mean energy in one direction keeps μ positive on data without noise
    offset = RELATIVE_OFFSET * float(squared_norms(M).sum()) / m
    return Denoised(data, variance, r * variance + offset)
