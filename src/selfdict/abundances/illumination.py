"""How bright spectra typically are, and how far the brightness of a pixel may leave that.

A pixel is m = b Σ_k a_k e_k + noise: e_k the spectrum of a material at its typical brightness, a_k
its part of the pixel's area, b the illumination. The coefficients h = b a have the sum b. If b is
free, the coefficient of a dark material takes up the noise of bright pixels; if it is fixed at one,
slopes and shadows turn into wrong mixtures. With b ~ N(1, σ_b²) and noise of variance σ², the most
probable coefficients minimise ‖m − E h‖² + λ (1ᵀh − 1)² over h ≥ 0, with λ = σ²/σ_b². Both are
estimated from the pixels:

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
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import gammaincinv

from selfdict._errors import InputError
from selfdict._validation import Array, as_floats, as_matrix
from selfdict.abundances.fcls import soft_sum
from selfdict.abundances.nnls import nnls
from selfdict.abundances.uncertainty import distinct_patterns, inverses_of_patterns
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms

# share, relative to spectra of unit length, from which a pixel tells how bright a material is
_PURITY = 0.75
# pixels from which the spread is estimated; fewer for many materials: a matrix is inverted for each
_SAMPLE = 5_000
_ENTRIES = 1 << 28


@dataclass(frozen=True)
class Illumination:
    """Spectra at their typical brightness, and how the brightness of pixels varies.

    Attributes
    ----------
    spectra : (m, r) ndarray
        The spectra.
    noise : float
        σ, in units of the longest spectrum.
    spread : float
        σ_b, the standard deviation of the brightness of pixels.
    """

    spectra: Array
    noise: float
    spread: float

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
            ``nnls(U, M)``, where it is known already.
        rescale : bool
            Bring each spectrum to the median length of the pixels that are nearly pure in it. By
            default the spectra have their typical brightness already.
        sample_weight : (n,) ndarray, optional
            How many pixels each column stands for.
        """
        U = as_matrix(U, "U")
        M = as_floats(M, sparse=True)
        if not U.any(axis=0).all():
            raise InputError("shares are relative to spectra; U has a spectrum of zeros")
        if sample_weight is None:
            sample_weight = np.ones(M.shape[1])
        if H is None and not rescale:
            # more pixels would not tell more; of a copy, memory is read once
            step = max(1, M.shape[1] // _SAMPLE)
            M = M[:, ::step].copy()
            sample_weight = sample_weight[::step]
        if H is None:
            H = nnls(U, M)
        if rescale:
            factors = _typical_factors(U, H.astype(np.float64), sample_weight)
            U = (U * factors).astype(U.dtype)
            H = (H / factors[:, None]).astype(H.dtype)
        with single_threaded_blas():
            noise, spread = _noise_and_spread(U, M, H, sample_weight)
        return cls(U, noise, spread)

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
        M = as_floats(M, sparse=True)
        H = soft_sum(self.spectra, M, self.stiffness)
        H[:, _zero_columns(M)] = 0.0
        return H


def _zero_columns(M: Any) -> Array:
    """Return which columns are zero."""
    if issparse(M):
        return np.flatnonzero(abs(M).max(axis=0).toarray() == 0)
    # the first band tells of most pixels that they are not zero
    if M[0].all():
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(~M.any(axis=0))


def _typical_factors(U: Array, H: Array, weight: Array) -> Array:
    """Return by what to multiply each spectrum so that it has its typical brightness."""
    # That is the brightness for which the sums of the coefficients have the median one, over the
    # pixels that are nearly pure in the spectrum. The sums depend on all factors: they are found by
    # repetition.
    lengths = np.sqrt(squared_norms(U))
    looks_pure = _parts(H * lengths[:, None]) >= _PURITY
    factors = np.ones(len(lengths))
    for k, pure in enumerate(looks_pure):
        if pure.any():
            fitted = (H[:, pure] * lengths[:, None]).sum(axis=0)
            factors[k] = _median(fitted, weight[pure]) / lengths[k]
    for _ in range(10):
        coefficients = H / factors[:, None]
        sums = coefficients.sum(axis=0)
        # of dark and bright spectra, only the dark one's pixels look pure and are pure in area
        pure_in_area = looks_pure & (_parts(coefficients) >= _PURITY)
        for k, pure in enumerate(pure_in_area):
            if pure.any():
                factors[k] *= _median(sums[pure], weight[pure])
    return factors


def _parts(H: Array) -> Array:
    """Return coefficients divided by their sums; zeros stay."""
    total = H.sum(axis=0)
    return np.asarray(H / np.where(total > 0, total, 1.0))


def _noise_and_spread(U: Array, M: Any, H: Array, weight: Array) -> tuple[float, float]:
    """Return σ in units of the longest spectrum, and σ_b."""
    r = U.shape[1]
    sample = evenly(np.flatnonzero(H.any(axis=0)), min(_SAMPLE, _ENTRIES // r**3))
    unit = float(np.sqrt(squared_norms(U).max()))
    U = U.astype(np.float64) / unit
    H = H[:, sample].astype(np.float64)
    weight = weight[sample]
    present = H > 0
    # as many materials as bands: the residual tells nothing
    told = np.flatnonzero(present.sum(axis=0) < len(U))
    # a thousand residuals tell enough, and fewer of many bands
    told = evenly(told, min(1000, (1 << 19) // len(U)))
    if not told.size:
        return 0.0, 0.0
    columns = dense_columns(M, sample[told]).astype(np.float64)
    residuals = columns / unit - U @ H[:, told]
    noise = _noise(residuals, len(U) - present[:, told].sum(axis=0), weight[told])
    variances = noise * _variances_of_sums(U, present)
    deviations = (H.sum(axis=0) - 1) ** 2
    return math.sqrt(noise), _spread(deviations, variances, weight)


def _noise(residuals: Array, degrees: Array, weight: Array) -> float:
    """Return σ² from residuals (m, n) with so many degrees of freedom, along other residuals."""
    squares = squared_norms(residuals)
    in_each_band = _median(squares / _chi2_median(degrees), weight)
    directed = np.flatnonzero(squares > 0)
    n = directed.size
    if n < 2:
        return in_each_band
    directions = residuals[:, directed] / np.sqrt(squares[directed])
    # the squared cosines of all pairs add up to ‖RᵀR‖² = ‖RRᵀ‖²: take the smaller product
    if n > len(directions):
        directions = directions.T
    products = directions.T @ directions
    squared_cosine = (float(np.vdot(products, products)) - n) / (n * (n - 1))
    # white noise: one over the dimension
    return in_each_band * max(1.0, float(degrees.mean()) * squared_cosine)


def _variances_of_sums(U: Array, present: Array) -> Array:
    """Return 1ᵀ(U_PᵀU_P)⁻¹1 for the materials P present in each pixel, (n,)."""
    patterns, pattern = distinct_patterns(present.T)
    inverses = inverses_of_patterns((U.T @ U)[None], patterns)
    return np.asarray(inverses.sum(axis=(1, 2))[pattern])


def _spread(deviations: Array, variances: Array, weight: Array) -> float:
    """Return σ_b from squared deviations of sums from one, and their variances without it."""
    median = float(_chi2_median(1))

    def excess(square: float) -> float:
        return _median(deviations / (variances + square), weight) - median

    least = 1e-4**2  # a brightness that varies by less is constant
    if excess(least) <= 0:
        return 0.0
    largest = max(1.0, 2 * float(deviations.max()) / median)
    # bisection in logarithms: the spread may be of any order of magnitude
    low = math.log(least)
    high = math.log(largest)
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        if excess(math.exp(middle)) > 0:
            low = middle
        else:
            high = middle
    return math.exp(0.25 * (low + high))


def _chi2_median(degrees: Any) -> Any:
    """Return the median of χ² variables; scipy.stats, which has it, takes long to import."""
    return 2 * gammaincinv(0.5 * degrees, 0.5)


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
