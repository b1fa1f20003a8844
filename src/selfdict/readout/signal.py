"""How many directions of the data are more than noise, and how clearly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix
from selfdict.compute.linear_algebra import in_order, smaller_moments
from selfdict.metrics import relative_error
from selfdict.peers.spa import spa, with_squared_norms

# A point with a larger share of the data's energy in some direction is alone in that direction.
_ALONE = 0.5
# By how much the last direction must lower the error to stand out from noise. On generated linear
# mixtures it does by 1.2 and more, unless the noise hides the last material; on real scenes the
# last of many directions does by 1.05 at most.
_CLEAR_STEP = 1.15
# How much larger than the noise the error with pure points may be: they have noise of their own,
# which makes it up to the root of two.
_NOISE_OF_POINTS = 1.6
# Noise of an exact direction, relative to the mean power of a row: what rounding may leave.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class Signal:
    """What the singular values and the noise of a matrix say about its number of materials."""

    dimension: int | None  # by HySime; None for too few points to estimate the noise
    noise: float | None  # ‖noise‖_F / ‖M‖_F
    limits: Array  # limits[r - 1] is the relative error that no r vectors are below
    # The dimension if only noise is left after it, and if that many points explain all others up to
    # noise, as for mixtures of a few constant spectra. If spectra vary, this is None.
    clear_dimension: int | None
    alone: Array  # (n,) bool: points left out of all this, each alone in some direction


def measure_signal(M: ArrayLike, sample_weight: ArrayLike | None = None) -> Signal:
    """Measure signal and noise of the columns of M (m, n), which may stand for several points."""
    points, _ = with_squared_norms(as_matrix(M, finite=False))  # what is measured has no unit
    weighted = points
    if sample_weight is not None:
        root = np.sqrt(np.asarray(sample_weight)).astype(points.dtype)
        if (root != 1).any():
            weighted = points * root
    m = points.shape[0]
    R = smaller_moments(weighted)
    alone = _alone(weighted, R)
    if alone.any():
        points = points[:, ~alone]
        weighted = weighted[:, ~alone]
        R = smaller_moments(weighted)
    powers = np.zeros(m)
    powers[: len(R)] = np.maximum(np.linalg.eigvalsh(R)[::-1], 0.0)
    tails = np.cumsum(powers[::-1])[::-1]
    limits = np.sqrt(np.append(tails[1:], 0.0) / max(tails[0], np.finfo(float).tiny))
    dimension = None
    noise = None
    clear = None
    # A regression on nearly as many rows as there are points explains any noise.
    if points.shape[1] >= 2 * m:
        dimension, variances = signal_dimension(R, points.shape[1])
        noise = float(np.sqrt(variances.sum() / max(np.trace(R), np.finfo(float).tiny)))
        if _stands_out(limits, dimension) and _points_suffice(points, weighted, dimension, limits):
            clear = dimension
    return Signal(dimension, noise, limits, clear, alone)


def _stands_out(limits: Array, dimension: int) -> bool:
    """Whether the last direction lowers the error much more than noise would."""
    if not 1 <= dimension < limits.size:
        return False
    before = 1.0
    if dimension > 1:
        before = limits[dimension - 2]
    return bool(before >= _CLEAR_STEP * limits[dimension - 1])


def _points_suffice(points: Array, weighted: Array, dimension: int, limits: Array) -> bool:
    """Whether nonnegative combinations of some points explain all others up to noise."""
    selected = spa(points, dimension, allow_fewer=True)
    error = relative_error(weighted, points[:, selected])
    # Exact data leave rounding errors.
    negligible = 64 * float(np.finfo(points.dtype).eps)
    return bool(error <= max(_NOISE_OF_POINTS * limits[dimension - 1], negligible))


def signal_dimension(R: Array, n_points: int | None = None) -> tuple[int, Array]:
    """Return the signal dimension by HySime, and the noise variance of each row, from R = M Mᵀ."""
    # With the number of points, more than m, the noise is corrected for the number of rows that
    # each regression fits, and is not counted as signal where it is largest by chance.
    m = len(R)
    rows_per_point = 0.0
    if n_points is not None:
        rows_per_point = m / n_points
    power = np.trace(R) / m
    if power == 0:
        return 0, np.zeros(m)
    # Regressing row i on the others leaves (P M)_i / P_ii with P = (M Mᵀ)⁻¹: all moments follow
    # from R.
    P = np.linalg.inv(R + 1e-12 * power * np.eye(m))
    B = P / np.diag(P)[:, None]
    # Of exact data rounding can leave less than nothing.
    noise: Array = np.maximum(np.diag(B @ R @ B.T), 0.0) / (1 - rows_per_point)
    signal = (np.eye(m) - B) @ R @ (np.eye(m) - B).T
    E = np.linalg.eigh(signal)[1]
    kept = np.einsum("ij,ij->j", E, R @ E)
    added = noise @ E**2 + NEGLIGIBLE * power
    # The largest eigenvalue of a sample of white noise (Marchenko and Pastur), and a tenth more.
    largest = 1.1 * (1 + np.sqrt(rows_per_point)) ** 2
    return int(np.sum(kept > max(2.0, largest) * added)), noise


def _alone(M: Array, R: Array) -> Array:
    """Return which columns hold most of the energy in some direction, as booleans."""
    # The largest share of one column m over all directions u, (uᵀm)² / uᵀRu, is mᵀ R⁻¹ m.
    m, n = M.shape
    # With few points per row all shares are large: those of Gaussian data have the mean m / n and a
    # standard deviation of about √(2m) / n.
    threshold = max(_ALONE, (m + 10 * np.sqrt(2 * m)) / n)
    if threshold >= 1:
        return np.zeros(n, dtype=bool)
    power = max(np.trace(R) / m, np.finfo(float).tiny)
    P = np.linalg.inv(R + 1e-12 * power * np.eye(m))

    def shares(start: int, stop: int) -> Array:
        block = np.asarray(M[:, start:stop], dtype=np.float64)
        return np.asarray(np.einsum("ij,ij->j", block, P @ block))

    columns_per_block = 2048
    return np.asarray(np.concatenate(list(in_order(shares, n, columns_per_block))) > threshold)
