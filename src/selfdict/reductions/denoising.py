"""Noise taken out of the data before atoms of a dictionary are looked for in them.

Of the noise in M (m, n), with variance σ² in each entry, the best approximation of rank r keeps
what lies along the r singular directions: about r m σ² of n m σ². Exact mixtures of r atoms have
rank r, so they lose nothing, and atoms that look alike can be told apart by a difference √(n/r)
times smaller.
"""

from typing import NamedTuple

from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix, as_rank
from selfdict.kernels.column_norms import squared_norms
from selfdict.reductions.compression import compress
from selfdict.solvers.penalty import RELATIVE_OFFSET


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
    data = leading.basis @ leading.data
    # of m n degrees of freedom, a matrix of rank r takes r(m + n − r)
    variance = float(squared_norms(M - data).sum()) / max(1, (m - r) * (n - r))
    offset = RELATIVE_OFFSET * float(squared_norms(M).sum()) / m
    return Denoised(data, variance, r * variance + offset)
