"""How many directions of the data are more than noise, and how clearly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix
from selfdict.compute.sums import in_order, second_moments
from selfdict.peers._columns import with_squared_norms

# A point with a larger share of the data's energy in some direction is alone in that direction.
_ALONE = 0.5
# By how much the last direction must lower the error to stand out from noise. On generated linear
# mixtures it does by 1.2 and more, unless the noise hides the last material; on scenes in which the
# spectra of a material vary, and on real ones, by 1.14 and less.
_CLEAR_STEP = 1.15


@dataclass(frozen=True)
class Signal:
    """What the singular values and the noise of a matrix say about its number of materials.

    Attributes
    ----------
    dimension : int or None
        The number of directions in which there is more signal than noise, by HySime; None if there
        are too few points to estimate the noise.
    noise : float or None
        ‖noise‖_F / ‖M‖_F.
    limits : (m,) ndarray
        ``limits[r - 1]`` is the relative error that no r vectors are below.
    n_alone : int
        Number of points that were left out of all this, since each is alone in some direction:
        damaged pixels, or materials of a single pixel.
    """

    dimension: int | None
    noise: float | None
    limits: Array
    n_alone: int

    @property
    def clear_dimension(self) -> int | None:
        """The dimension if only noise is left after it, and much more before the last direction.

        So it is for mixtures of a few constant spectra with noise. If spectra vary, the error falls
        little by little instead, the dimension counts their variations, and this is None.
        """
        if not self.dimension or self.dimension >= self.limits.size:
            return None
        before = 1.0
        if self.dimension > 1:
            before = self.limits[self.dimension - 2]
        if before < _CLEAR_STEP * self.limits[self.dimension - 1]:
            return None
        return self.dimension


def measure_signal(M: ArrayLike, sample_weight: ArrayLike | None = None) -> Signal:
    """Measure signal and noise of the columns of a matrix.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns.
    sample_weight : (n,) array_like, optional
        How many points each column stands for; ones by default.

    Examples
    --------
    >>> from selfdict.datasets import make_mixtures
    >>> from selfdict.readout.signal import measure_signal
    >>> signal = measure_signal(make_mixtures(30, 500, 4, noise=0.001, random_state=0)[0])
    >>> signal.dimension, signal.clear_dimension, signal.n_alone
    (4, 4, 0)
    """
    columns = as_matrix(M, finite=False)
    if sample_weight is not None:
        root = np.sqrt(np.asarray(sample_weight)).astype(columns.dtype)
        if (root != 1).any():
            columns = columns * root
    columns, _ = with_squared_norms(columns)  # what is measured has no unit
    m, n = columns.shape
    R = second_moments(columns)
    alone = _alone(columns, R)
    if alone.any():
        R = second_moments(columns[:, ~alone])
    powers = np.maximum(np.linalg.eigvalsh(R)[::-1], 0.0)
    tails = np.cumsum(powers[::-1])[::-1]
    shares = np.append(tails[1:], 0.0) / max(tails[0], np.finfo(float).tiny)
    dimension = None
    noise = None
    # A regression on nearly as many rows as there are points explains any noise.
    if n >= 2 * m:
        dimension, variances = signal_dimension(R)
        noise = float(np.sqrt(variances.sum() / max(np.trace(R), np.finfo(float).tiny)))
    return Signal(dimension, noise, np.sqrt(shares), int(alone.sum()))


def signal_dimension(R: Array) -> tuple[int, Array]:
    """Return the dimension of the signal subspace by HySime, and the noise variance of each row.

    Parameters
    ----------
    R : (m, m) ndarray
        M Mᵀ, in any unit.
    """
    m = len(R)
    power = np.trace(R) / m
    if power == 0:
        return 0, np.zeros(m)
    # Regressing row i on the others leaves (P M)_i / P_ii with P = (M Mᵀ)⁻¹: all moments follow
    # from R.
    P = np.linalg.inv(R + 1e-12 * power * np.eye(m))
    B = P / np.diag(P)[:, None]
    noise: Array = np.diag(B @ R @ B.T)
    signal = (np.eye(m) - B) @ R @ (np.eye(m) - B).T
    E = np.linalg.eigh(signal)[1]
    kept = np.einsum("ij,ij->j", E, R @ E)
    added = noise @ E**2 + 1e-10 * power
    return int(np.sum(kept > 2 * added)), noise


def _alone(M: Array, R: Array) -> Array:
    """Return which columns hold most of the energy in some direction, as booleans.

    The largest share of one column m over all directions u, (uᵀm)² / uᵀRu, is mᵀ R⁻¹ m.
    """
    m, n = M.shape
    # With few points per row all shares are large: on average they are m / n.
    threshold = max(_ALONE, 10 * m / n)
    if threshold >= 1:
        return np.zeros(n, dtype=bool)
    power = max(np.trace(R) / m, np.finfo(float).tiny)
    P = np.linalg.inv(R + 1e-12 * power * np.eye(m))

    def shares(start: int, stop: int) -> Array:
        block = np.asarray(M[:, start:stop], dtype=np.float64)
        return np.asarray(np.einsum("ij,ij->j", block, P @ block))

    columns_per_block = 2048
    return np.asarray(np.concatenate(list(in_order(shares, n, columns_per_block))) > threshold)
