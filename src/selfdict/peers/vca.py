"""Vertex component analysis."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_matrix, as_rank
from selfdict.compute.linear_algebra import onto_span, second_moments
from selfdict.kernels.columns import squared_norms
from selfdict.peers.successive import enough, first_largest, negligible


def vca(M: ArrayLike, r: int, random_state: Any = None) -> Array:
    """Select r columns of M by vertex component analysis (Nascimento and Bioucas-Dias, 2005).

    The columns are reduced to r dimensions: by a projective projection onto the leading singular
    subspace where the estimated signal-to-noise ratio is at least 15 + 10 log₁₀ r decibels, else by
    principal components and a constant coordinate. Then each step draws a random direction, makes
    it orthogonal to what is selected, and selects the column with the largest component along it,
    positive or negative. Ties are resolved as in :func:`spa`; zero columns are never selected.

    Parameters
    ----------
    M : (m, n) array_like
        One data point per column.
    r : int
        How many columns to select, at most m.
    random_state : int, numpy.random.Generator or None
        Seed of the random directions.

    Returns
    -------
    (r,) ndarray of int
        Indices of the selected columns in order of selection.

    Raises
    ------
    ValueError
        If the reduced columns span fewer than r dimensions.

    Examples
    --------
    >>> import selfdict
    >>> sorted(selfdict.vca([[2.0, 0.0, 1.0], [0.0, 1.0, 0.5]], 2, random_state=0).tolist())
    [0, 1]
    """
    M = as_matrix(M)
    m, n = M.shape
    r = as_rank(r, n)
    if r > m:
        raise InputError(f"r must be at most {m} for vca (the number of rows of M), got {r}")
    rng = as_generator(random_state)
    norms = squared_norms(M)
    Y = _reduce(M, r)
    lengths = np.einsum("ij,ij->j", Y, Y)
    selected: list[int] = []
    # The first direction is orthogonal to the last axis.
    Q = np.eye(r)[:, r - 1 :]
    if r == 1:
        Q = np.empty((1, 0))
    while len(selected) < r:
        # A distribution without preferred axes, since the signs of the components are arbitrary.
        direction = rng.standard_normal(r)
        for _ in range(2):  # twice, for full accuracy
            direction -= Q @ (Q.T @ direction)
        squares = (direction / np.linalg.norm(direction) @ Y) ** 2
        squares[(squares <= negligible(M) * lengths) | (norms == 0)] = 0.0
        if not squares.any():
            break
        selected.append(first_largest(squares, norms))
        Q = np.linalg.qr(Y[:, selected])[0]
    return enough(selected, r, f"the reduced points span {len(selected)} dimensions")


def _reduce(M: Array, r: int) -> Array:
    """Return the columns in r dimensions, (r, n) in float64."""
    m, n = M.shape
    if m > n:  # only lengths and angles matter, which a rotation keeps
        M = onto_span(M.astype(np.float64, copy=False))
    G = second_moments(M) / n
    mean = M.mean(axis=1, dtype=np.float64)
    variances, components = _leading(G - np.outer(mean, mean), r)
    ratio = _signal_to_noise(np.trace(G), variances.sum() + mean @ mean, r / m)
    if ratio < 15 + 10 * np.log10(r):
        U = components[:, : r - 1]
        Y = np.empty((r, n))
        Y[:-1] = _multiply(U, M) - (U.T @ mean)[:, None]
        # The constant coordinate is as large as the largest column, or 1 if all columns are equal.
        largest = np.einsum("ij,ij->j", Y[:-1], Y[:-1]).max(initial=0.0)
        Y[-1] = 1.0
        if largest > 0:
            Y[-1] = np.sqrt(largest)
        return Y
    Y = _multiply(_leading(G, r)[1], M)
    # The projective projection: every column is scaled to the plane through the mean.
    along = Y.mean(axis=1) @ Y
    np.divide(Y, along, out=Y, where=along != 0)
    return Y


def _leading(G: Array, r: int) -> tuple[Array, Array]:
    """Return the r largest eigenvalues, descending and not below zero, and their eigenvectors."""
    values, vectors = np.linalg.eigh(G)
    return np.maximum(values[::-1][:r], 0.0), vectors[:, ::-1][:, :r]


def _multiply(U: Array, M: Array) -> Array:
    """Return UᵀM in float64, multiplied in the dtype of M so that M is not copied."""
    return np.asarray((U.astype(M.dtype).T @ M), dtype=np.float64)


def _signal_to_noise(total: float, captured: float, share: float) -> float:
    """Return decibels from the power of the data and that of its mean and r leading components."""
    # ``share`` = r / m is the part of white noise that these components capture.
    noise = total - captured
    if noise <= 1e-14 * total:
        return np.inf
    signal = captured - share * total
    if signal <= 0:
        return -np.inf
    return 10 * float(np.log10(signal / noise))
