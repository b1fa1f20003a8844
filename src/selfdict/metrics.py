"""Quality of endmembers and abundances.

The measures of section 4 of the paper (the mean-removed spectral angle, the relative error and the
fraction of true indices), the spectral angle, and the error of abundances.
"""

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_coefficients, as_matrix
from selfdict.abundances import column_residuals, nnls
from selfdict.kernels.columns import dense_columns, squared_norms


def mean_removed_angles(W: ArrayLike, W_true: ArrayLike) -> Array:
    """Return all mean-removed spectral angles (r, r_true) between two sets of columns.

    They are scaled to [0, 100]. The angle with a constant column, which is zero once its mean is
    removed, is 50: neither similar nor dissimilar.
    """
    A, B = _spectra(W, "W", W_true, "W_true")
    angles: Array = 100 / np.pi * angles_between(_centred(A), _centred(B))
    return angles


def _spectra(A: ArrayLike, name_a: str, B: ArrayLike, name_b: str) -> tuple[Array, Array]:
    """Return two sets of spectra as matrices with the same number of rows."""
    first = as_matrix(A, name_a).astype(np.float64)
    second = as_matrix(B, name_b).astype(np.float64)
    if first.shape[0] != second.shape[0]:
        raise InputError(
            f"{name_a} and {name_b} must have the same number of rows (bands); "
            f"got {first.shape[0]} and {second.shape[0]}"
        )
    return first, second


def _centred(V: Array) -> Array:
    """Return the columns without their means; constant columns become exactly zero."""
    centred: Array = V - V.mean(axis=0)
    centred[:, np.ptp(V, axis=0) == 0] = 0.0
    return centred


def angles_between(A: Array, B: Array) -> Array:
    """Return the angles in radians between all pairs of columns; π/2 with a column of zeros."""
    # Rounding may bring a cosine slightly outside [−1, 1].
    cosines = np.clip(_unit_columns(A).T @ _unit_columns(B), -1.0, 1.0)
    angles: Array = np.arccos(cosines)
    return angles


def _cheapest_pairs(costs: Array) -> tuple[Array, Array]:
    """Return the rows and columns of the assignment with the smallest sum of costs."""
    # Imported here: importing selfdict.metrics is quick otherwise.
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(costs)
    return rows, columns


def _unit_columns(V: Array) -> Array:
    """Return the columns scaled to norm one; columns of zeros stay."""
    norms = np.linalg.norm(V, axis=0)
    unit: Array = np.divide(V, norms, out=np.zeros_like(V), where=norms > 0)
    return unit


def match(W: ArrayLike, W_true: ArrayLike) -> tuple[Array, Array]:
    """Pair columns of W with columns of W_true so that the sum of their angles is smallest.

    Return the indices of the columns of W and those of the columns of W_true. The angles are the
    mean-removed ones.
    """
    return _cheapest_pairs(mean_removed_angles(W, W_true))


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
    angles = mean_removed_angles(W, W_true)
    return float(angles[_cheapest_pairs(angles)].mean())


def spectral_angle(A: ArrayLike, B: ArrayLike, *, degrees: bool = False) -> float:
    """Return the spectral angle (SAM, SAD) between two sets of spectra.

    It is averaged over the pairs of the best matching, the one with the smallest sum of angles.

    Parameters
    ----------
    A : (m, r) array_like
        The spectra found, as columns; none of them zero.
    B : (m, r_true) array_like
        The reference, none zero. If the numbers differ, the smaller set is matched into the larger
        one.
    degrees : bool
        Return degrees instead of radians.

    Returns
    -------
    float
        Between 0 and π. 0 is a perfect match up to the brightness of each spectrum; π/2 is the
        largest value for nonnegative spectra.

    Examples
    --------
    >>> from selfdict.metrics import spectral_angle
    >>> angle = spectral_angle([[1.0, 2.0], [1.0, 0.0]], [[3.0, 0.0], [0.0, 4.0]], degrees=True)
    >>> round(angle, 6)  # 0° between the second and the first, 45° between the others
    22.5
    """
    found, reference = _spectra(A, "A", B, "B")
    for name, spectra in (("A", found), ("B", reference)):
        zero = np.flatnonzero(~spectra.any(axis=0))
        if zero.size > 0:
            raise InputError(f"the spectra in {name} must not be zero; column {zero[0]} is")
    angles = angles_between(found, reference)
    if degrees:
        angles = np.degrees(angles)
    return float(angles[_cheapest_pairs(angles)].mean())


def abundance_rmse(A: ArrayLike, B: ArrayLike) -> float:
    """Return the root mean square error between two sets of abundances.

    The mean is over all pixels and over the pairs of endmembers of the best matching, the one with
    the smallest error.

    Parameters
    ----------
    A : (r, n) array_like
        The abundances found: a row per endmember, a column per pixel. They are compared as they
        are, not divided by their sums.
    B : (r_true, n) array_like
        The reference. If the numbers of endmembers differ, the smaller set is matched into the
        larger one, and the rows left over do not count.

    Returns
    -------
    float
        In the unit of the abundances: 0.02 for shares is 2 percentage points.

    Examples
    --------
    >>> from selfdict.metrics import abundance_rmse
    >>> A = [[0.25, 0.5, 0.0], [0.75, 0.5, 1.0]]
    >>> abundance_rmse(A, [[0.75, 0.5, 1.0], [0.25, 0.5, 0.0]])
    0.0
    >>> abundance_rmse([[0.5, 0.75]], [[0.0, 0.25]])
    0.5
    """
    found = as_coefficients(A, "A").astype(np.float64)
    reference = as_coefficients(B, "B").astype(np.float64)
    if found.shape[1] != reference.shape[1]:
        raise InputError(
            "A and B must have the same number of columns (pixels); "
            f"got {found.shape[1]} and {reference.shape[1]}"
        )
    squares = np.stack([((reference - row) ** 2).mean(axis=1) for row in found])
    return float(np.sqrt(squares[_cheapest_pairs(squares)].mean()))


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
    if H is None:
        H = nnls(U, M)
    total = float(np.sqrt(squared_norms(M).sum()))
    error = float(np.linalg.norm(column_residuals(U, M, H)))
    if error == 0:  # also of M = 0
        return 0.0
    if total == 0:
        return np.inf
    return error / total


def index_recovery(K: ArrayLike, K_true: ArrayLike) -> float:
    """Return the fraction of the true indices that were found, between 0 and 1.

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
