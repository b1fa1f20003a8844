"""Mixtures of a few smooth spectra, the simplest data with known pure columns."""

from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_scalar


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
