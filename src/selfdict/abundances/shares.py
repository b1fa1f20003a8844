"""Shares: the parts of a pixel's area that its materials cover, whatever the pixel's brightness."""

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix
from selfdict.abundances.illumination import Illumination, as_shares
from selfdict.abundances.least_squares import nnls
from selfdict.abundances.uncertainty import Variability
from selfdict.kernels.columns import squared_norms


@overload
def shares(
    U: ArrayLike,
    M: ArrayLike,
    *,
    illumination: Illumination | None = ...,
    return_std: Literal[False] = ...,
    variability: Variability | None = ...,
) -> Array: ...


@overload
def shares(
    U: ArrayLike,
    M: ArrayLike,
    *,
    illumination: Illumination | None = ...,
    return_std: Literal[True],
    variability: Variability | None = ...,
) -> tuple[Array, Array]: ...


def shares(
    U: ArrayLike,
    M: ArrayLike,
    *,
    illumination: Illumination | None = None,
    return_std: bool = False,
    variability: Variability | None = None,
) -> Array | tuple[Array, Array]:
    """Return the part of each pixel's area that each material covers.

    A pixel is the sum of the spectra times their parts of the area, times its brightness (slope,
    shade, illumination). The coefficients of a nonnegative fit are therefore divided by their sum,
    which is the brightness. How much the sum may differ from one is estimated from the pixels: see
    :doc:`/answer`.

    Parameters
    ----------
    U : (m, r) array_like
        Spectra at their typical brightness; none of them zero.
    M : (m, n) array_like or sparse array
        Pixels.
    illumination : Illumination, optional
        The brightness of spectra and pixels, by default estimated from U and M. Its spectra replace
        U.
    return_std : bool
        Also return standard errors, from the noise in the residual, the brightness and, if given,
        the spread of the spectra.
    variability : Variability, optional
        The spread of the spectra, from :attr:`Groups.variability <selfdict.Groups>`.

    Returns
    -------
    shares : (r, n) ndarray
        Columns sum to one, except those of pixels without any spectrum, such as zeros, which are
        zero.
    std : (r, n) ndarray
        Only with ``return_std``. NaN where the residual gives no estimate of the noise: for pixels
        of zeros, and for pixels with as many positive shares as bands.

    Examples
    --------
    A dark and a bright material, each covering half of the area, in sun and in shade:

    >>> import selfdict
    >>> U = [[1.0, 0.0], [0.0, 5.0], [0.0, 0.0]]
    >>> selfdict.shares(U, [[0.5, 0.2], [2.5, 1.0], [0.0, 0.0]])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    if illumination is None:
        illumination = Illumination.of(U, M)
    fit = illumination.fit(M, with_residuals=return_std)
    if not return_std:
        return as_shares(fit.H)
    errors = illumination.standard_errors(fit, variability)
    return as_shares(fit.H), errors


def unit_shares(U: ArrayLike, M: ArrayLike) -> Array:
    """Return shares relative to spectra of unit length, which do not depend on their brightness.

    Many published tables use them. They are not parts of an area: next to a bright material, a dark
    one loses most of its share.

    Parameters
    ----------
    U : (m, r) array_like
        Spectra; none of them zero.
    M : (m, n) array_like or sparse array
        Pixels.

    Returns
    -------
    (r, n) ndarray
        Columns sum to one, except those of pixels without any spectrum, such as zeros, which are
        zero.

    Examples
    --------
    >>> from selfdict.abundances import unit_shares
    >>> unit_shares([[1.0, 0.0], [0.0, 5.0]], [[3.0, 0.0, 2.0], [1.0, 2.0, 2.0]])
    array([[0.75, 0.  , 0.5 ],
           [0.25, 1.  , 0.5 ]])
    """
    return as_shares(nnls(unit_columns(U), M))


def unit_columns(U: ArrayLike) -> Array:
    """Return spectra (m, r) scaled to length one."""
    U = as_matrix(U, "U")
    norms = np.sqrt(squared_norms(U))
    if (norms == 0).any():
        zero = int(np.flatnonzero(norms == 0)[0])
        raise InputError(f"the spectra in U must not be zero; column {zero} is")
    return np.asarray((U / norms).astype(U.dtype))
