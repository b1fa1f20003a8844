"""What residuals cost: the losses that may stand in for the square in model (6).

A loss is a sum over the entries of the residual R = M − M X,

    min_{X ∈ Ω}  Σ_ij s_j ℓ_ij(r_ij) + μ pᵀdiag(X),

with each ℓ convex, zero at zero and nowhere negative, and with a Lipschitz continuous derivative ψ
= ℓ'. Its convex conjugate ℓ*(θ) = sup_r θr − ℓ(r) takes the place of ½θ² in the dual bound.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_scalar, as_vector


class Loss(ABC):
    """What a loss must tell: three functions of each entry, and two numbers."""

    @property
    def lipschitz(self) -> float:
        """A Lipschitz constant of ψ that holds for all entries."""
        return 1.0

    @property
    def limit(self) -> float:
        """The steepest slope of ℓ: the conjugate is finite for θ between −limit and limit."""
        return np.inf

    @abstractmethod
    def value(self, R: Array) -> Array:
        """Return ℓ(r) of each entry, (m, n)."""

    @abstractmethod
    def gradient(self, R: Array) -> Array:
        """Return ψ(r) = ℓ'(r) of each entry, (m, n); the gradient with respect to the fit M X is its negative."""

    @abstractmethod
    def conjugate(self, theta: Array) -> Array:
        """Return ℓ*(θ) of each entry, (m, n), ∞ outside its domain."""

    def total(self, R: Array, s: Array) -> float:
        """Return Σ_ij s_j ℓ_ij(r_ij), summed in float64."""
        return float(np.einsum("ij,j->", self.value(R), s, dtype=np.float64))

    def take(self, columns: Array) -> "Loss":
        """Return the loss for some of the columns, by their indices."""
        return self

    # a quadratic loss is the squared one for other data and other sample weights:

    @property
    def quadratic(self) -> bool:
        """Whether Σ_ij s_j ℓ_ij(r_ij) is ½ Σ_ij weigh(s)_j whiten(R)_ij²; the fastest solvers ask for it."""
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
        return 0.5 * np.square(R)

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

    The weights w of Ω stay those of M. All solvers take this loss: it is the squared one for M with
    its rows divided by √a, and sample weights divided by b.

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
        a, b = (
            1.0 if v is None else float(np.min(v))
            for v in (self.band_variance, self.pixel_variance)
        )
        return 1 / (a * b)

    def value(self, R: Array) -> Array:
        return Squared().value(R) / self.variance(R)

    def gradient(self, R: Array) -> Array:
        return np.asarray(R / self.variance(R))

    def conjugate(self, theta: Array) -> Array:
        return Squared().value(theta) * self.variance(theta)

    def take(self, columns: Array) -> Loss:
        b = self.pixel_variance
        return self if b is None else Weighted(self.band_variance, np.asarray(b)[columns])

    def variance(self, R: Array) -> Array:
        """Return a_i b_j for all entries of an array (m, n)."""
        return np.asarray(self._bands(R) * self._pixels(R[0]))

    @property
    def quadratic(self) -> bool:
        return True

    def whiten(self, A: Array) -> Array:
        return A if self.band_variance is None else np.asarray(A / np.sqrt(self._bands(A)))

    def weigh(self, s: Array) -> Array:
        return np.asarray(s / self._pixels(s))

    def _bands(self, A: Array) -> Array:
        m = len(A)
        return as_vector(
            self.band_variance, m, "band_variance", A.dtype, default=np.ones(m), positive=True
        )[:, None]

    def _pixels(self, s: Array) -> Array:
        n = len(s)
        return as_vector(
            self.pixel_variance, n, "pixel_variance", s.dtype, default=np.ones(n), positive=True
        )


@dataclass(frozen=True)
class _Robust(Loss):
    """A loss that turns from squares into straight lines at δ, its steepest slope."""

    delta: float

    def __post_init__(self) -> None:
        # a plain float: one of numpy's would turn single into double precision
        object.__setattr__(self, "delta", as_scalar(self.delta, "delta", strict=True))

    @property
    def limit(self) -> float:
        return self.delta


@dataclass(frozen=True)
class Huber(_Robust):
    """Squares up to δ, straight lines beyond: ½r² for r between −δ and δ, else δ·abs(r) − ½δ². For outliers.

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

    def value(self, R: Array) -> Array:
        psi = self.gradient(R)
        return np.asarray(psi * (R - 0.5 * psi))

    def gradient(self, R: Array) -> Array:
        return np.clip(R, -self.delta, self.delta)

    def conjugate(self, theta: Array) -> Array:
        return np.where(np.abs(theta) <= self.delta, 0.5 * np.square(theta), np.inf)


@dataclass(frozen=True)
class PseudoHuber(_Robust):
    """A smooth relative of :class:`Huber`: δ²(√(1 + (r/δ)²) − 1), with the conjugate δ²(1 − √(1 − (θ/δ)²)).

    Parameters
    ----------
    delta : float
        Where squares turn into straight lines, in the unit of M.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import PseudoHuber
    >>> PseudoHuber(3.0).value(np.array([4.0]))
    array([6.])
    """

    # both values as quotients, which lose no digits near zero

    def value(self, R: Array) -> Array:
        return np.asarray(np.square(R) / (1 + self._root(R)))

    def gradient(self, R: Array) -> Array:
        return np.asarray(R / self._root(R))

    def conjugate(self, theta: Array) -> Array:
        inside = np.sqrt(np.maximum(1 - np.square(theta / self.delta), 0.0))
        return np.where(np.abs(theta) <= self.delta, np.square(theta) / (1 + inside), np.inf)

    def _root(self, R: Array) -> Array:
        return np.asarray(np.sqrt(1 + np.square(R / self.delta)))


def as_loss(loss: Any) -> Loss:
    """Return the loss that is meant; None and "squared" mean :class:`Squared`."""
    if loss is None or (isinstance(loss, str) and loss == "squared"):
        return Squared()
    if not isinstance(loss, Loss):
        raise TypeError(f'loss must be "squared" or a loss such as Huber(0.1), got {loss!r}')
    return loss
