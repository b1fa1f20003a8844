"""Quality of a choice of columns: the measures of section 4 of the paper.

These are the mean-removed spectral angle (MRSA), the relative error and the share of true indices.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix
from selfdict.abundances import column_residuals, nnls
from selfdict.compute.scaling import (
    exponent_from_squares,
    times_power_of_two,
    times_powers_of_two,
    unusual_column_exponents,
    unusual_exponent,
)
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns


def spectral_angles(W: ArrayLike, W_true: ArrayLike) -> Array:
    """Return all mean-removed spectral angles (r, r_true) between two sets of columns.

    They are scaled to [0, 100]. The angle with a constant column, which is zero once its mean is
    removed, is 50: neither similar nor dissimilar.
    """
    A = as_matrix(W, "W").astype(np.float64)
    B = as_matrix(W_true, "W_true").astype(np.float64)
    if A.shape[0] != B.shape[0]:
        raise InputError(
            f"W and W_true must have the same number of rows, got {A.shape[0]} and {B.shape[0]}"
        )
    # Rounding may bring a cosine slightly outside [−1, 1].
    cosines = np.clip(_unit_columns(A).T @ _unit_columns(B), -1.0, 1.0)
    angles: Array = 100 / np.pi * np.arccos(cosines)
    return angles


def _unit_columns(V: Array) -> Array:
    """Return the columns without their means, scaled to norm one; constant columns become zero."""
    V = times_powers_of_two(V, -unusual_column_exponents(V))
    V = V - V.mean(axis=0)
    norms = np.linalg.norm(V, axis=0)
    unit: Array = np.divide(V, norms, out=np.zeros_like(V), where=norms > 0)
    return unit


def match(W: ArrayLike, W_true: ArrayLike) -> tuple[Array, Array]:
    """Pair columns of W with columns of W_true so that the sum of their angles is smallest.

    Return the indices of the columns of W and those of the columns of W_true.
    """
    rows, columns = linear_sum_assignment(spectral_angles(W, W_true))
    return rows, columns


def mrsa(W: ArrayLike, W_true: ArrayLike) -> float:
    """Return the mean-removed spectral angle between two sets of spectra, in [0, 100].

    It is averaged over the pairs of the best matching.

    Parameters
    ----------
    W : (m, r) array_like
        The spectra found, as columns.
    W_true : (m, r_true) array_like
        The reference. If the numbers differ, the smaller set is matched into the larger one.

    Returns
    -------
    float
        0 is a perfect match up to scale and offset of each spectrum.

    Examples
    --------
    >>> from selfdict.metrics import mrsa
    >>> W = [[1.0, 0.0], [2.0, 5.0], [4.0, 1.0]]
    >>> mrsa(W, [[0.0, 2.0], [10.0, 4.0], [2.0, 8.0]]) < 1e-5
    True
    """
    angles = spectral_angles(W, W_true)
    return float(angles[linear_sum_assignment(angles)].mean())


def relative_error(M: ArrayLike, W: ArrayLike, H: ArrayLike | None = None) -> float:
    """Return min_{H ≥ 0} ‖M − W H‖_F / ‖M‖_F, which the tables of the paper show in percent.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
    W : (r,) array_like of int, or (m, r) array_like
        The indices of the chosen columns of M, or the columns themselves.
    H : (r, n) array_like, optional
        Use these coefficients instead of the best ones.

    Examples
    --------
    >>> from selfdict.metrics import relative_error
    >>> relative_error([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], [0, 1])
    0.0
    """
    M = as_matrix(M, sparse=True)
    U = np.asarray(W)
    if U.ndim == 1:
        if U.dtype.kind not in "iu":
            raise TypeError(f"a vector W must hold column indices, got dtype {U.dtype}")
        U = dense_columns(M, U)
    else:
        U = as_matrix(W, "W")
    squares = squared_norms(M)
    exponent = exponent_from_squares(M, squares.sum())
    if exponent != 0:
        # The error has no unit: a power of two changes nothing but the range of the squares.
        M = times_power_of_two(M, -exponent)
        squares = squared_norms(M)
        if H is not None:
            H = times_power_of_two(as_matrix(H, "H").astype(np.float64), -exponent)
        else:
            U = times_power_of_two(U, -unusual_exponent(U))
    if H is None:
        H = nnls(U, M)
    total = float(np.sqrt(squares.sum()))
    error = float(np.linalg.norm(column_residuals(U, M, H)))
    if total == 0:  # H = 0 fits M = 0 exactly
        return 0.0
    return error / total


def index_recovery(K: ArrayLike, K_true: ArrayLike) -> float:
    """Return the share of the true indices that were found, between 0 and 1.

    Examples
    --------
    >>> from selfdict.metrics import index_recovery
    >>> index_recovery([3, 1, 7], [1, 2, 3, 4])
    0.5
    """
    true = np.unique(np.asarray(K_true))
    if true.size == 0:
        raise InputError("K_true must not be empty")
    return float(np.isin(true, np.asarray(K)).mean())
