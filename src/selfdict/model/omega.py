"""The feasible set Ω of models (4) and (6), and the Euclidean projection onto it."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_coefficients, as_scalar, as_vector
from selfdict.compute.threads import for_slices
from selfdict.kernels.projection import project_rows

_BLOCK = 1 << 16  # columns that are added up together


def column_norms(M: Array, dtype: Any = None) -> Array:
    """Return w, the ℓ1 norms of the columns of M (m, n), in ``dtype``, by default that of M.

    Sums are taken in float64, block by block.
    """
    w = np.empty(M.shape[1], dtype=dtype or M.dtype)
    for a in range(0, M.shape[1], _BLOCK):
        part = abs(M[:, a : a + _BLOCK])
        if issparse(part):
            part = part.astype(np.float64)  # scipy would sum up in the precision of the data
        w[a : a + _BLOCK] = part.sum(axis=0, dtype=np.float64)
    return w


def project_omega(
    X: ArrayLike,
    w: ArrayLike,
    rows: ArrayLike | None = None,
    upper: float = 1.0,
    out: Array | None = None,
) -> Array:
    """Project rows onto Ω = { X ≥ 0 : X_ii ≤ upper, w_i X_ij ≤ w_j X_ii } (appendix B).

    A row with w_i = 0 belongs to an all-zero column of M and becomes zero; so do the entries X_ij
    with w_j = 0, i ≠ j. Rows are projected independently and in parallel, with O(n) operations per
    pass and usually fewer than ten passes.

    Parameters
    ----------
    X : (k, n) array_like
        The rows to project.
    w : (n,) array_like
        Nonnegative weights, in the model the ℓ1 norms of the columns of M.
    rows : (k,) array_like of int, optional
        ``X[a]`` is row ``rows[a]`` of the n×n matrix; by default all n rows in order.
    upper : float
        Upper bound of the diagonal entries.
    out : (k, n) ndarray, optional
        Where to write the result; ``out=X`` projects in place.

    Returns
    -------
    (k, n) ndarray
        The projected rows, float32 for float32 input, else float64.

    Examples
    --------
    >>> from selfdict import project_omega
    >>> project_omega([[0.2, 0.9, 0.3]], [1.0, 1.0, 1.0], rows=[0])
    array([[0.55, 0.55, 0.3 ]])
    """
    X = as_coefficients(X, "X")
    k, n = X.shape
    w = as_vector(w, n, "w", X.dtype)
    upper = as_scalar(upper, "upper")
    index = np.arange(n)
    if rows is not None:
        index = np.asarray(rows)
    if index.shape != (k,):
        if rows is None:
            raise InputError(f"X must be square when rows is not given, got shape {X.shape}")
        raise InputError(
            f"X has {k} rows of length {n}: rows must name {k} of them, got shape {index.shape}"
        )
    if index.dtype.kind not in "iu":
        raise TypeError(f"rows must hold integers, got dtype {index.dtype}")
    if k and (index.min() < 0 or index.max() >= n):
        raise InputError(f"rows must lie between 0 and {n - 1}, got {index.min()} to {index.max()}")
    if out is None:
        out = np.array(X, order="C")
    else:
        if not isinstance(out, np.ndarray) or out.shape != X.shape or out.dtype != X.dtype:
            raise InputError(f"out must be an array of shape {X.shape} and dtype {X.dtype}")
        if out is not X:
            out[...] = X
    index = index.astype(np.int64, copy=False)
    rows_per_slice = 64
    for_slices(lambda a, b: project_rows(out, w, index, upper, a, b), k, rows_per_slice)
    return out
