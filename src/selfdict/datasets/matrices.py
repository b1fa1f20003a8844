"""Generated matrices with known pure columns: the middle points of the paper, and mixtures."""

from itertools import combinations
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_scalar


def make_midpoints(
    m: int = 50,
    r: int = 10,
    noise: float = 0.0,
    alpha: float | None = None,
    random_state: Any = None,
) -> tuple[Array, Array, Array]:
    """Generate the middle point data of section 4.1 of the paper.

    The entries of W are uniform, scaled so that its r columns sum to one. The other r(r−1)/2
    columns of M are the middle points of all pairs of columns of W, moved away from the mean of W
    such that ‖N‖_F = ``noise``. The columns of M are permuted.

    Parameters
    ----------
    m, r : int
        Number of features and of columns of W. M has n = r + r(r−1)/2 columns (50, 10 and 55 in
        the paper).
    noise : float
        The noise level ε = ‖N‖_F.
    alpha : float, optional
        If given, at least 1: each middle point is scaled by a uniform draw from
        [1/alpha, alpha] (4 in the paper). The direction of the noise is that of the unscaled
        middle point.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    M : (m, n) ndarray
    W : (m, r) ndarray
    indices : (r,) ndarray of int
        ``M[:, indices]`` is ``W``.

    Examples
    --------
    >>> from selfdict.datasets import make_midpoints
    >>> M, W, indices = make_midpoints(noise=0.1, random_state=0)
    >>> M.shape, bool((M[:, indices] == W).all())
    ((50, 55), True)
    """
    if m < 1 or r < 2:
        raise InputError(f"middle points need m ≥ 1 and r ≥ 2, got m={m} and r={r}")
    noise = as_scalar(noise, "noise")
    rng = as_generator(random_state)
    W = rng.random((m, r))
    W /= W.sum(axis=0)
    pairs = np.array(list(combinations(range(r), 2)))
    middle = (W[:, pairs[:, 0]] + W[:, pairs[:, 1]]) / 2
    # Adversarial noise: it moves the middle points towards the boundary of the hull of W, where
    # they become hard to tell from the columns of W. The columns of W themselves get no noise.
    N = middle - W.mean(axis=1, keepdims=True)
    norm = np.linalg.norm(N)
    # With r = 2 the only middle point is the mean of W: there is no direction to move it in.
    if noise > 0 and norm > 0:
        N *= noise / norm
    else:
        N[...] = 0.0
    if alpha is not None:
        alpha = as_scalar(alpha, "alpha", minimum=1.0)
        middle = middle * rng.uniform(1 / alpha, alpha, size=len(pairs))
    M = np.hstack([W, middle + N])
    # Permuted, so that a method that prefers the first columns in a tie gains nothing by it.
    order = rng.permutation(M.shape[1])
    # argsort inverts the permutation: entry k is the new position of column k of W.
    return M[:, order], W, np.argsort(order)[:r]


def make_mixtures(
    m: int,
    n: int,
    r: int,
    *,
    noise: float = 0.0,
    concentration: float = 0.5,
    random_state: Any = None,
) -> tuple[Array, Array, Array]:
    """Generate n mixtures of r smooth positive spectra, among them the r spectra themselves.

    Parameters
    ----------
    m, n, r : int
        Number of features, of points and of pure points, r ≤ n.
    noise : float
        Frobenius norm of the Gaussian noise, divided by that of the clean data.
    concentration : float
        Parameter of the Dirichlet distribution of the abundances. Small values give purer points.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    M : (m, n) ndarray
        The data. With noise, negative entries are set to zero.
    H : (r, n) ndarray
        The abundances; columns sum to one.
    indices : (r,) ndarray of int
        Columns of the pure points.

    Examples
    --------
    >>> from selfdict.datasets import make_mixtures
    >>> M, H, indices = make_mixtures(30, 100, 4, noise=0.01, random_state=0)
    >>> M.shape, indices.shape
    ((30, 100), (4,))
    """
    if not 1 <= r <= n or m < 1:
        raise InputError(f"mixtures need m ≥ 1 and 1 ≤ r ≤ n, got m={m}, n={n} and r={r}")
    noise = as_scalar(noise, "noise")
    rng = as_generator(random_state)
    bands = np.linspace(0, 1, m)[:, None]
    # Five Gaussian peaks per spectrum; the offset keeps every entry positive.
    centres, widths, heights = rng.random((3, 5, r))
    W = 0.1 + sum(
        height * np.exp(-(((bands - centre) / (0.05 + 0.3 * width)) ** 2))
        for centre, width, height in zip(centres, widths, heights, strict=True)
    )
    H = rng.dirichlet(np.full(r, concentration), size=n).T
    indices = rng.choice(n, size=r, replace=False)
    H[:, indices] = np.eye(r)
    M = W @ H
    if noise > 0:
        E = rng.standard_normal(M.shape)
        # Reflectances and counts are not negative, and some of the methods require that.
        M = np.maximum(M + E * (noise * np.linalg.norm(M) / np.linalg.norm(E)), 0.0)
    return M, H, indices
