"""Noise taken out of the data before atoms of a dictionary are looked for in them.

Of the noise in M (m, n), with variance σ² in each entry, the best approximation of rank r keeps
what lies along the r singular directions: about r m σ² of n m σ². Exact mixtures of r atoms have
rank r, so they lose nothing, and atoms that look alike can be told apart by a difference √(n/r)
times smaller.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_count, as_matrix, as_rank
from selfdict.compute.linear_algebra import transposed_product
from selfdict.compute.scaling import exponent_from_squares, squared_unit, times_power_of_two
from selfdict.kernels.columns import squared_norms
from selfdict.model.features import UnsupportedError
from selfdict.model.omega import column_norms
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.reductions.columns import GateReduction, weighted_columns
from selfdict.reductions.compression import compress
from selfdict.solvers.heuristic import RELATIVE_OFFSET


class Denoised(NamedTuple):
    """What :func:`denoise` returns.

    Attributes
    ----------
    data : (m, n) ndarray
        The best approximation of M of rank r, in M's dtype.
    variance : float
        That of the noise in one entry of M, if all that was dropped is noise.
    mu : float
        The energy of the noise left in one direction of m, r·variance, about what an atom explains
        that fits noise alone: a penalty for the gates of a dictionary. A millionth of the mean
        energy in one direction is added, which keeps it positive on data without noise.
    """

    data: Array
    variance: float
    mu: float


@dataclass(frozen=True)
class Denoising(GateReduction):
    """Solve for the best approximation of the data of a given rank.

    Parameters
    ----------
    rank : int
        At most min(m, n); larger values mean that.

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
        """Return the problem for the denoised data; its ``reduced_from.memory`` is a Denoised."""
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

    def _rows(self, link: ReducedFrom) -> Array:
        return np.arange(link.problem.n_atoms)


def denoise(M: ArrayLike, r: int) -> Denoised:
    """Replace M by its best approximation of rank r, and estimate the noise from what that drops.

    Parameters
    ----------
    M : (m, n) array_like
        Points as columns.
    r : int
        How many atoms the points are mixed from, at most min(m, n).

    Returns
    -------
    Denoised
        ``data`` (m, n), ``variance`` and ``mu``.

    Raises
    ------
    InputError
        If the variance or μ, which are squares, leave the range of float64.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import denoise
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.random((50, 3)) @ rng.random((3, 400))
    >>> M = clean + 0.1 * rng.standard_normal(clean.shape)
    >>> data, variance, mu = denoise(M, 3)
    >>> round(variance, 3)
    0.01
    >>> np.linalg.norm(data - clean) < 0.3 * np.linalg.norm(M - clean)
    np.True_
    """
    M = as_matrix(M)
    m, n = M.shape
    r = as_rank(r, min(m, n), of="rows and of columns")
    leading = compress(M, r)
    data = transposed_product(leading.basis.T, leading.data)
    energy = squared_norms(M).sum()
    exponent = exponent_from_squares(M, energy)
    dropped = M - data
    if exponent != 0:
        energy = squared_norms(times_power_of_two(M, -exponent)).sum()
        dropped = times_power_of_two(dropped, -exponent)
    # of m n degrees of freedom, a matrix of rank r takes r(m + n − r)
    variance = float(squared_norms(dropped).sum()) / max(1, (m - r) * (n - r))
    offset = RELATIVE_OFFSET * float(energy) / m
    mu = squared_unit(r * variance + offset, exponent)
    return Denoised(data, squared_unit(variance, exponent), mu)
