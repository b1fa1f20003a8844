"""Vertex component analysis."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_matrix, as_rank
from selfdict.compute.sums import second_moments
from selfdict.peers._columns import enough, finite_squared_norms, first_largest, negligible


def vca(M: ArrayLike, r: int, random_state: Any = None) -> Array:
    """Select r columns of M by vertex component analysis (Nascimento and Bioucas-Dias, 2005).

    The columns are reduced to r dimensions: by a projective projection onto the leading singular
    subspace where the estimated signal-to-noise ratio is at least 15 + 10 log₁₀ r decibels, else by
    principal components and a constant coordinate. Then each step draws a random direction, makes
    it orthogonal to what is selected, and selects the column that reaches furthest along it, either
    way. Ties are resolved as in :func:`spa`; zero columns are never selected.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns; any memory order, also a ``np.memmap``.
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
    M = as_matrix(M, finite=False)
    m, n = M.shape
    r = as_rank(r, n)
    if r > m:
        raise InputError(f"r must be at most the number of rows of M, {m}, for vca, got {r}")
    rng = as_generator(random_state)
    norms = finite_squared_norms(M)
    Y = _reduce(np.asarray(M), r)
    lengths = np.einsum("ij,ij->j", Y, Y)
    selected: list[int] = []
    Q = (
        np.eye(r)[:, r - 1 :] if r > 1 else np.empty((1, 0))
    )  # the first direction leaves out the last axis
    while len(selected) < r:
        direction = rng.standard_normal(
            r
        )  # a law without preferred axes: the signs of U are arbitrary
        for _ in range(2):  # twice, for full accuracy
            direction -= Q @ (Q.T @ direction)
        reach = (direction / np.linalg.norm(direction) @ Y) ** 2
        reach[(reach <= negligible(M) * lengths) | (norms == 0)] = 0.0
        if not reach.any():
            break
        selected.append(first_largest(reach, norms))
        Q = np.linalg.qr(Y[:, selected])[0]
    return enough(selected, r, "the reduced columns span so many dimensions")


def _reduce(M: Array, r: int) -> Array:
    """Return the columns in r dimensions, (r, n) in float64."""
    m, n = M.shape
    G = second_moments(M) / n
    mean = M.mean(axis=1, dtype=np.float64)
    variances, components = _leading(G - np.outer(mean, mean), r)
    if _signal_to_noise(np.trace(G), variances.sum() + mean @ mean, r / m) < 15 + 10 * np.log10(r):
        U = components[:, : r - 1]
        Y = np.empty((r, n))
        Y[:-1] = _multiply(U, M) - (U.T @ mean)[:, None]
        largest = np.einsum("ij,ij->j", Y[:-1], Y[:-1]).max(initial=0.0)
        Y[-1] = np.sqrt(largest) if largest > 0 else 1.0
        return Y
    Y = _multiply(_leading(G, r)[1], M)
    along = Y.mean(axis=1) @ Y
    np.divide(Y, along, out=Y, where=along != 0)
    return Y


def _leading(G: Array, r: int) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(G)
    return np.maximum(values[::-1][:r], 0.0), vectors[:, ::-1][:, :r]


def _multiply(U: Array, M: Array) -> Array:
    return np.asarray((U.astype(M.dtype).T @ M), dtype=np.float64)


def _signal_to_noise(total: float, captured: float, share: float) -> float:
    """Return the ratio in decibels, from the power of the data and of its leading components plus mean."""
    noise = total - captured
    if noise <= 1e-14 * total:
        return np.inf
    signal = captured - share * total
    return 10 * float(np.log10(signal / noise)) if signal > 0 else -np.inf
