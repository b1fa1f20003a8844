"""Abundances that sum to one and do not depend on brightness."""

from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix
from selfdict.abundances.nnls import nnls
from selfdict.abundances.residual import column_residuals
from selfdict.abundances.uncertainty import Variability, standard_errors
from selfdict.compute.scaling import times_powers_of_two, unusual_column_exponents
from selfdict.kernels.column_norms import squared_norms


@overload
def shares(
    U: ArrayLike,
    M: ArrayLike,
    *,
    return_std: Literal[False] = ...,
    variability: Variability | None = ...,
) -> Array: ...


@overload
def shares(
    U: ArrayLike,
    M: ArrayLike,
    *,
    return_std: Literal[True],
    variability: Variability | None = ...,
) -> tuple[Array, Array]: ...


def shares(
    U: ArrayLike,
    M: ArrayLike,
    *,
    return_std: bool = False,
    variability: Variability | None = None,
) -> Array | tuple[Array, Array]:
    """Return the share of each column of U in each column of M: nonnegative, and summing to one.

    The brightness of a pixel (slope, shade, illumination) is arbitrary, and so is that of a
    spectrum. Shares are therefore taken relative to spectra of unit length: nonnegative least
    squares on U with columns of length one, divided by their sum.

    Parameters
    ----------
    U : (m, r) array_like
        Spectra; none of them zero.
    M : (m, n) array_like or sparse array
        Pixels.
    return_std : bool
        Return their standard errors as well: how much the noise in the residual, and the spread of
        the spectra if it is given, let them vary. See :doc:`/answer`.
    variability : Variability, optional
        The spread of the spectra, from :attr:`Groups.variability <selfdict.Groups>`.

    Returns
    -------
    shares : (r, n) ndarray
        Columns sum to one; a pixel in which no spectrum has a part, such as zeros, has zeros.
    std : (r, n) ndarray
        If asked for. NaN where the residual does not tell the noise: for pixels of zeros, and for
        those with as many positive shares as bands.

    Examples
    --------
    >>> import selfdict
    >>> U = [[1.0, 0.0], [0.0, 5.0]]
    >>> selfdict.shares(U, [[3.0, 0.0, 2.0], [1.0, 2.0, 2.0]])
    array([[0.75, 0.  , 0.5 ],
           [0.25, 1.  , 0.5 ]])
    """
    U = as_matrix(U, "U")
    # Directions have no unit: columns of any size are brought near one.
    U = times_powers_of_two(U, -unusual_column_exponents(U))
    norms = np.sqrt(squared_norms(U))
    if (norms == 0).any():
        zero = int(np.flatnonzero(norms == 0)[0])
        raise InputError(f"shares are relative to spectra, got a spectrum of zeros: column {zero}")
    U = (U / norms).astype(U.dtype)
    H = nnls(U, M)
    if not return_std:
        return as_shares(H)
    errors = standard_errors(U, H, column_residuals(U, M, H), variability=variability)
    return as_shares(H), errors


def as_shares(H: Array) -> Array:
    """Return coefficients (r, n) divided by their sums; columns of zeros stay."""
    with np.errstate(over="ignore"):
        total = H.sum(axis=0)
    if np.isinf(total).any():
        H = times_powers_of_two(H, -unusual_column_exponents(H))
        total = H.sum(axis=0)
    total[total == 0] = 1.0
    return np.asarray(H / total)
