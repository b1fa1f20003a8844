"""Losses: what residuals cost in model (6), the square of the paper or another convex function.

A loss is a sum Σ_ij s_j ℓ_ij(r_ij) over the entries of the residual R = M − M X. Each ℓ is convex,
zero at zero, nowhere negative, and has a Lipschitz continuous derivative ψ = ℓ'. Its convex
conjugate ℓ*(θ) = sup_r θr − ℓ(r) replaces ½θ² in the dual bound.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_scalar, as_vector


class Loss(ABC):
    """A loss: three functions of each entry, and two numbers.

    A new loss must define ``value``, ``gradient`` and ``conjugate``; also ``lipschitz`` if the
    derivative may be steeper than that of the square, and ``limit`` if its slope is bounded.
    """

    @property
    def lipschitz(self) -> float:
        """A Lipschitz constant of ψ that holds for all entries."""
        return 1.0

    @property
    def limit(self) -> float:
        """The largest slope of ℓ: the conjugate is finite for θ between −limit and limit."""
        return np.inf

    @abstractmethod
    def value(self, R: Array) -> Array:
        """Return ℓ(r) of each entry, (m, n)."""

    @abstractmethod
    def gradient(self, R: Array) -> Array:
        """Return ψ(r) = ℓ'(r) of each entry, (m, n).

        The gradient with respect to the fit M X is its negative.
        """

    @abstractmethod
    def conjugate(self, theta: Array) -> Array:
        """Return ℓ*(θ) of each entry, (m, n); ∞ outside its domain."""

    def total(self, R: Array, s: Array) -> float:
        """Return Σ_ij s_j ℓ_ij(r_ij), summed in float64."""
        return float(np.einsum("ij,j->", self.value(R), s, dtype=np.float64))

    def take(self, columns: Array) -> "Loss":
        """Return the loss for some of the columns, by their indices."""
        return self

    def check_shape(self, m: int, n: int) -> None:
        """Raise an error if the loss does not match data of shape (m, n)."""
        return

    # A quadratic loss is the squared loss for scaled data and scaled sample weights; the fastest
    # solvers need one.

    @property
    def quadratic(self) -> bool:
        """Whether Σ_ij s_j ℓ_ij(r_ij) is ½ Σ_ij weigh(s)_j whiten(R)_ij²."""
        return False

    def whiten(self, A: Array) -> Array:
        """Return a matrix with m rows, the data or a dictionary, with its rows scaled."""
        return A

    def weigh(self, s: Array) -> Array:
        """Return sample weights (n,), scaled."""
        return s


@dataclass(frozen=True)
class Squared(Loss):
    """The loss of the paper, ½r².

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Squared
    >>> Squared().value(np.array([3.0]))
    array([4.5])
    """

    def value(self, R: Array) -> Array:
        return 0.5 * (R * R)

    def gradient(self, R: Array) -> Array:
        return R

    def conjugate(self, theta: Array) -> Array:
        return 0.5 * np.square(theta)

    @property
    def quadratic(self) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Weighted(Loss):
    """Squares over known variances, r_ij² / (2 a_i b_j): noisy bands and noisy pixels count less.

    The weights w of Ω remain those of M. All solvers support this loss: it is the squared loss for
    M with rows divided by √a and sample weights divided by b.

    Parameters
    ----------
    band_variance : (m,) array_like, optional
        Variances a of the noise in the rows of M; by default ones.
    pixel_variance : (n,) array_like, optional
        Variances b of the noise in the columns of M; by default ones.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Weighted
    >>> Weighted(band_variance=[1.0, 4.0]).value(np.array([[2.0], [2.0]]))
    array([[2. ],
           [0.5]])
    """

    band_variance: ArrayLike | None = None
    pixel_variance: ArrayLike | None = None

    @property
    def lipschitz(self) -> float:
        # the derivative r/(a_i b_j) is steepest where both variances are smallest
        smallest = 1.0
        for variance in (self.band_variance, self.pixel_variance):
            if variance is not None:
                smallest *= float(np.min(variance))
        return 1 / smallest

    def value(self, R: Array) -> Array:
        return Squared().value(R) / self.variance(R)

    def gradient(self, R: Array) -> Array:
        return np.asarray(R / self.variance(R))

    def conjugate(self, theta: Array) -> Array:
        return Squared().value(theta) * self.variance(theta)

    def take(self, columns: Array) -> Loss:
        if self.pixel_variance is None:
            return self
        return Weighted(self.band_variance, np.asarray(self.pixel_variance)[columns])

    def check_shape(self, m: int, n: int) -> None:
        self._bands(m, np.float64)
        self._pixels(n, np.float64)

    def variance(self, R: Array) -> Array:
        """Return a_i b_j for all entries of an array (m, n)."""
        m, n = R.shape
        return np.asarray(self._bands(m, R.dtype) * self._pixels(n, R.dtype))

    @property
    def quadratic(self) -> bool:
        return True

    def whiten(self, A: Array) -> Array:
        if self.band_variance is None:
            return A
        # in double precision: quotients rounded to float32 would be other data
        return np.asarray(A / np.sqrt(self._bands(len(A), np.float64)))

    def weigh(self, s: Array) -> Array:
        return np.asarray(s / self._pixels(len(s), np.float64))

    def _bands(self, m: int, dtype: Any) -> Array:
        """Return the variances of the rows as a column, (m, 1)."""
        return _variances(self.band_variance, m, "band_variance", dtype)[:, None]

    def _pixels(self, n: int, dtype: Any) -> Array:
        """Return the variances of the columns, (n,)."""
        return _variances(self.pixel_variance, n, "pixel_variance", dtype)


def _variances(given: ArrayLike | None, n: int, name: str, dtype: Any) -> Array:
    return as_vector(given, n, name, dtype, default=np.ones(n), positive=True)


@dataclass(frozen=True)
class Huber(Loss):
    """Quadratic up to δ, linear beyond: ½r² if abs(r) ≤ δ, else δ·abs(r) − ½δ². For outliers.

    Parameters
    ----------
    delta : float
        The residual from which an entry counts as an outlier, in the unit of M: some multiple (1.3
        to 3) of the standard deviation of the ordinary noise.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Huber
    >>> Huber(1.0).value(np.array([0.5, 10.0]))
    array([0.125, 9.5  ])
    """

    delta: float

    def __post_init__(self) -> None:
        # a plain float: a float64 scalar of numpy would turn single into double precision
        object.__setattr__(self, "delta", as_scalar(self.delta, "delta", strict=True))

    @property
    def limit(self) -> float:
        return self.delta

    def value(self, R: Array) -> Array:
        psi = self.gradient(R)
        value: Array = psi * (R - 0.5 * psi)
        return value

    def gradient(self, R: Array) -> Array:
        return np.clip(R, -self.delta, self.delta)

    def conjugate(self, theta: Array) -> Array:
        return np.where(np.abs(theta) <= self.delta, 0.5 * np.square(theta), np.inf)


def as_loss(loss: Any) -> Loss:
    """Return the loss that is meant; None and "squared" mean :class:`Squared`."""
    if loss is None or (isinstance(loss, str) and loss == "squared"):
        return Squared()
    if not isinstance(loss, Loss):
        raise TypeError(f'loss must be "squared" or a loss such as Huber(0.1), got {loss!r}')
    return loss
