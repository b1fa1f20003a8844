"""Noise taken out of the data before atoms of a dictionary are looked for in them.

Of the noise in M (m, n), with variance σ² in each entry, the best approximation of rank r keeps
what lies along the r singular directions: about r m σ² of n m σ². Exact mixtures of r atoms have
rank r, so they lose nothing, and atoms that look alike can be told apart by a difference √(n/r)
times smaller.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from selfdict._errors import UnsupportedError
from selfdict._validation import Array, as_count
from selfdict.compute.linear_algebra import in_leading_directions, transposed_product
from selfdict.kernels.columns import column_norms, squared_norms
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.reductions.columns import ColumnSubset, weighted_columns
from selfdict.solvers.heuristic import RELATIVE_OFFSET


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

    def check(self, problem: Problem) -> None:
        """Raise :class:`selfdict.UnsupportedError` if the data cannot be denoised."""
        if problem.is_sparse:
            raise UnsupportedError("denoising makes data dense; pass M.toarray() if it fits")

    def reduce(self, problem: Problem) -> Problem:
        """Return the problem for the denoised data; its ``reduced_from.memory`` has the noise.

        ``memory.variance`` is that of the noise in one entry of M, ``memory.mu`` a penalty for the
        gates of a dictionary: r variances, about what an atom explains that fits noise alone.
        """
        self.check(problem)
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
