"""How bright pixels are, and how noisy: what shares of their area are estimated with.

The most probable coefficients h of a pixel minimise ‖W(m − E h)‖² + λ (1ᵀh − 1)² over h ≥ 0, where
λ = σ²/σ_b² (:doc:`/answer`). All of this is estimated from the pixels:

W
    The residual of band b has the variance σ_bb² (1 − l_b), with the leverage l_b of the band in
    the fit. The mean over the pixels that are fitted best, in units of the typical band, counts
    beside a few pixels with equal noise in all bands, so that weights stay within limits.
σ_b
    The sum s of free coefficients has the variance σ_b² + v, where v = σ² 1ᵀ(E_PᵀE_P)⁻¹1 for the
    materials P of the pixel. σ_b² is the number for which the median of (s − 1)²/(σ_b² + v) is that
    of a χ² variable with one degree of freedom. No pixel needs to be pure.
σ
    Residuals are smooth along the bands, as spectra are: noise is larger in the directions that
    matter here than in an average one. Take the noise along the residual of *another* pixel: σ² is
    the median of ‖r_j‖² times the mean squared cosine between residuals of different pixels. For
    white noise the latter is one over the dimension, and σ² the variance in each band.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import gammaincinv

from selfdict._errors import InputError
from selfdict._validation import Array, as_floats, as_matrix
from selfdict.abundances.column_solver import Fit
from selfdict.abundances.least_squares import fit_soft_sum, nnls
from selfdict.abundances.uncertainty import (
    Variability,
    distinct_patterns,
    inverses_of_patterns,
    standard_errors,
)
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms

# share, relative to spectra of unit length, from which a pixel tells how bright a material is
_PURITY = 0.75
# pixels from which the spread is estimated
_SAMPLE = 1_500
# some hundred residuals tell enough
_RESIDUALS = 500
# pixels with equal noise in all bands that count beside those which tell of the noise of each band
_ALIKE = 10
# of many pixels, neighbours are taken together: memory is read in lines of 64 bytes
_RUN = 16


@dataclass(frozen=True)
class Illumination:
    """Spectra at their typical brightness, and how the brightness of pixels varies.

    Attributes
    ----------
    spectra : (m, r) ndarray
        The spectra.
    noise : float
        σ, in units of the longest spectrum; of weighted bands.
    spread : float
        σ_b, the standard deviation of the brightness of pixels.
    weights : (m,) ndarray, optional
        The weights of the bands: about one over their noise, in units of the typical one. By
        default all are one.
    """

    spectra: Array
    noise: float
    spread: float
    weights: Array | None = None

    @classmethod
    def of(
        cls,
        U: ArrayLike,
        M: ArrayLike,
        *,
        H: Array | None = None,
        rescale: bool = False,
        sample_weight: Array | None = None,
    ) -> Self:
        """Estimate the brightness of spectra and pixels.

        Parameters
        ----------
        U : (m, r) array_like
            Spectra, none of them zero.
        M : (m, n) array_like or sparse array
            Pixels.
        H : (r, n) ndarray, optional
            ``nnls(U, M)``, if it is known already.
        rescale : bool
            Scale each spectrum to the median length of the pixels that are nearly pure in it. By
            default the spectra are assumed to have their typical brightness.
        sample_weight : (n,) ndarray, optional
            How many pixels each column stands for.
        """
        U = as_matrix(U, "U")
        M = as_floats(M, sparse=True)
        if not U.any(axis=0).all():
            raise InputError("the spectra in U must not be zero")
        if sample_weight is None:
            sample_weight = np.ones(M.shape[1])
        if rescale:
            if H is None:
                H = nnls(U, M)
            factors = _typical_factors(U, H.astype(np.float64), sample_weight)
            U = (U * factors).astype(U.dtype)
        sample = _sample(M.shape[1])
        M = M[:, sample]
        sample_weight = sample_weight[sample]
        V = U
        weights = None
        with single_threaded_blas():
            # the features of sparse data are counts, and too many to be weighted one by one
            if not issparse(M):
                few = evenly(np.arange(M.shape[1]), _RESIDUALS)
                weights = _Fitted.of(U, M[:, few], sample_weight[few]).band_weights()
                V = U * weights[:, None]
                M = M * weights[:, None].astype(M.dtype)
            fitted = _Fitted.of(V, M, sample_weight)
            return cls(U, *fitted.noise_and_spread(), weights)

    @property
    def stiffness(self) -> float:
        """λ = σ²/σ_b², in units of the squared length of the longest spectrum."""
        if self.noise == 0:
            return 0.0
        if self.spread == 0:
            return math.inf
        return (self.noise / self.spread) ** 2

    def coefficients(self, M: ArrayLike) -> Array:
        """Return the most probable coefficients of pixels M (m, n); their sums are brightness.

        A pixel of zeros has coefficients of zero.
        """
        return self.fit(M).H

    def standard_errors(self, fit: Fit, variability: Variability | None = None) -> Array:
        """Return the standard errors of the shares of pixels from a fit with residuals."""
        return standard_errors(
            self.spectra,
            fit.H,
            np.sqrt(fit.weighted_squares),
            variability=variability,
            stiffness=self.stiffness,
            spread=self.spread,
            weights=self.weights,
        )

    def fit(self, M: ArrayLike, *, with_residuals: bool = False) -> Fit:
        """Return the coefficients, and what they leave of the pixels."""
        fit = fit_soft_sum(
            self.spectra,
            M,
            self.stiffness,
            weights=self.weights,
            with_residuals=with_residuals,
        )
        is_zero = fit.squared_norms == 0
        if is_zero.any():
            fit.H[:, is_zero] = 0.0
            fit.squared_residuals[is_zero] = 0.0
            fit.weighted_squares[is_zero] = 0.0
        return fit


def as_shares(H: Array) -> Array:
    """Divide coefficients (r, n) by their sums, in place; columns of zeros stay."""
    total = H.sum(axis=0)
    total[total == 0] = 1.0
    H /= total
    return H


def _typical_factors(U: Array, H: Array, weight: Array) -> Array:
    """Return by what to multiply each spectrum so that it has its typical brightness."""
    # That is the brightness for which the sums of the coefficients have the median one, over the
    # pixels that are nearly pure in the spectrum. The sums depend on all factors: they are found by
    # repetition.
    lengths = np.sqrt(squared_norms(U))
    looks_pure = as_shares(H * lengths[:, None]) >= _PURITY
    factors = np.ones(len(lengths))
    for k, pure in enumerate(looks_pure):
        if pure.any():
            fitted = (H[:, pure] * lengths[:, None]).sum(axis=0)
            factors[k] = _median(fitted, weight[pure]) / lengths[k]
    for _ in range(10):
        coefficients = H / factors[:, None]
        sums = coefficients.sum(axis=0)
        # of dark and bright spectra, only the dark one's pixels look pure and are pure in area
        pure_in_area = looks_pure & (as_shares(coefficients) >= _PURITY)
        for k, pure in enumerate(pure_in_area):
            if pure.any():
                factors[k] *= _median(sums[pure], weight[pure])
    return factors


class _Fitted(NamedTuple):
    """Pixels fitted by free coefficients, in float64."""

    U: Array  # (m, r), in units of the longest spectrum
    H: Array  # (r, n)
    weight: Array  # (n,): how many pixels each stands for
    # of the materials present in the pixels: which, as patterns, and which pattern in each pixel
    present: Array  # (p, r)
    pattern: Array  # (n,)
    inverses: Array  # (p, r, r): (U_PᵀU_P)⁻¹
    # of some of the pixels, whose residuals tell of the noise
    told: Array
    residuals: Array  # (m, k)

    @classmethod
    def of(cls, U: Array, M: Any, weight: Array) -> "_Fitted":
        """Fit the pixels M (m, n) that are not zero, or some of them."""
        m, r = U.shape
        H = nnls(U, M)
        # fewer pixels for many materials: a matrix is inverted for each
        filled = np.flatnonzero(H.any(axis=0) & (weight > 0))
        sample = evenly(filled, min(_SAMPLE, (1 << 28) // r**3))
        unit = float(np.sqrt(squared_norms(U).max()))
        U = U.astype(np.float64) / unit
        H = H[:, sample].astype(np.float64)
        present, pattern = distinct_patterns((H > 0).T)
        # as many materials as bands: the residual tells nothing
        told = np.flatnonzero(present.sum(axis=1)[pattern] < m)
        # fewer of many bands
        told = evenly(told, min(_RESIDUALS, (1 << 19) // m))
        columns = dense_columns(M, sample[told]).astype(np.float64)
        return cls(
            U=U,
            H=H,
            weight=weight[sample],
            present=present,
            pattern=pattern,
            inverses=inverses_of_patterns((U.T @ U)[None], present),
            told=told,
            residuals=columns / unit - U @ H[:, told],
        )

    def band_weights(self) -> Array:
        """Return one over the noise of each band, in units of the typical band, (m,)."""
        m = len(self.U)
        level = np.abs(self.residuals).sum(axis=1)
        if not level.any():
            return np.ones(m)
        # outliers, such as pixels of a material that is missing, would tell of something else
        squares = squared_norms(self.residuals / np.where(level > 0, level, 1.0)[:, None])
        best = squares <= _median(squares, self.weight[self.told])
        told = self.told[best]
        weight = self.weight[told] / self.weight[told].mean()
        pattern = self.pattern[told]
        patterns = np.bincount(pattern, weight, minlength=len(self.present))
        leverage = (self.U @ np.tensordot(patterns, self.inverses, 1) * self.U).sum(axis=1)
        degrees = np.maximum(weight.sum() - leverage, 0.0)
        sums = self.residuals[:, best] ** 2 @ weight
        is_free = degrees > 0
        if not sums[is_free].any():
            return np.ones(m)
        typical = float(np.median(sums[is_free] / degrees[is_free]))
        if typical == 0:
            return np.ones(m)
        variances = (sums + _ALIKE * typical) / (degrees + _ALIKE)
        return np.asarray(np.sqrt(typical / variances))

    def noise_and_spread(self) -> tuple[float, float]:
        """Return σ in units of the longest spectrum, and σ_b."""
        if not self.told.size:
            return 0.0, 0.0
        degrees = len(self.U) - self.present.sum(axis=1)[self.pattern[self.told]]
        noise = _noise(self.residuals, degrees, self.weight[self.told])
        # the variances of the sums of free coefficients, 1ᵀ(U_PᵀU_P)⁻¹1 for the materials P present
        variances = noise * self.inverses.sum(axis=(1, 2))[self.pattern]
        deviations = (self.H.sum(axis=0) - 1) ** 2
        return math.sqrt(noise), _spread(deviations, variances, self.weight)


def _noise(residuals: Array, degrees: Array, weight: Array) -> float:
    """Return σ² from residuals (m, n) with so many degrees of freedom, along other residuals."""
    squares = squared_norms(residuals)
    in_each_band = _median(squares / _chi2_median(degrees), weight)
    directed = np.flatnonzero(squares > 0)
    n = directed.size
    if n < 2:
        return in_each_band
    # float32 has digits enough for a mean of cosines
    directions = (residuals[:, directed] / np.sqrt(squares[directed])).astype(np.float32)
    # the squared cosines of all pairs add up to ‖RᵀR‖² = ‖RRᵀ‖²: take the smaller product
    if n > len(directions):
        directions = directions.T
    products = directions.T @ directions
    squared_cosine = (float(np.vdot(products, products)) - n) / (n * (n - 1))
    # white noise: one over the dimension
    return in_each_band * max(1.0, float(degrees.mean()) * squared_cosine)


def _spread(deviations: Array, variances: Array, weight: Array) -> float:
    """Return σ_b from squared deviations of sums from one, and their variances without it."""
    # half of the quotients (s − 1)²/(σ_b² + v) are above the median of χ²
    square = _median(deviations / _chi2_median(1) - variances, weight)
    least = 1e-4**2  # a brightness that varies by less is constant
    if square <= least:
        return 0.0
    return math.sqrt(square)


def _chi2_median(degrees: Any) -> Array:
    """Return the median of χ² variables; scipy.stats, which has it, takes long to import."""
    distinct, index = np.unique(degrees, return_inverse=True)
    return np.asarray((2 * gammaincinv(0.5 * distinct, 0.5))[index])


def _sample(n: int) -> Array | slice:
    """Return which of n pixels to estimate from; more would not tell more."""
    if n <= 2 * _SAMPLE:
        return slice(None)
    starts = np.linspace(0, n - _RUN, _SAMPLE // _RUN).astype(np.intp)
    return np.asarray((starts[:, None] + np.arange(_RUN)).ravel())


def evenly(indices: Array, size: int) -> Array:
    """Return at most ``size`` of the indices, evenly spaced."""
    if indices.size <= size:
        return indices
    return np.asarray(indices[np.linspace(0, indices.size - 1, size).astype(np.intp)])


def _median(values: Array, weight: Array) -> float:
    """Return the weighted median."""
    if (weight == weight[0]).all():
        return float(np.median(values))
    order = np.argsort(values)
    cumulative = np.cumsum(weight[order])
    middle = int(np.searchsorted(cumulative, 0.5 * cumulative[-1]))
    return float(values[order[min(middle, values.size - 1)]])
