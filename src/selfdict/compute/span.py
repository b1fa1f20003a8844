"""Bases that cost what the smaller side of a matrix costs: few points of many features are cheap.

All products of columns, and so everything that depends on lengths and angles alone, are the same
after a rotation. A matrix with more rows than columns can be rotated into one that is square.
"""

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.scaling import exponent_from_squares, times_power_of_two, unusual_exponent
from selfdict.compute.sums import second_moments, transposed_product

# the smaller side up to which all its eigenvectors are computed for the leading ones
MAX_EIGENVECTORS = 2000
# steps of subspace iteration beyond that, and the directions kept more than asked for
ITERATIONS = 4
EXTRA_DIRECTIONS = 10


def onto_span(M: Array) -> Array:
    """Rotate M (m, n) into at most n rows; the products of its columns stay the same.

    This is the triangle of a QR factorisation. A matrix that has no more rows than columns is
    returned as it is.
    """
    m, n = M.shape
    if m <= n:
        return M
    with single_threaded_blas():  # several threads would round in another order
        triangle: Array = scipy.linalg.qr(M, mode="r", check_finite=False)[0]
    return triangle[:n]


def onto_common_span(M: Array, D: Array) -> tuple[Array, Array]:
    """Rotate M (m, n) and D (m, d) in the same way into at most n + d rows."""
    m, n = M.shape
    if m <= n + D.shape[1]:
        return M, D
    triangle = onto_span(np.hstack([M, D]))
    return triangle[:, :n], triangle[:, n:]


def smaller_moments(M: Any) -> Array:
    """Return M Mᵀ or MᵀM in float64, whichever is smaller: both have the same eigenvalues but zero.

    An overflow gives infinity without a warning.
    """
    if M.shape[0] > M.shape[1]:
        M = M.T
    with np.errstate(over="ignore", invalid="ignore"):
        if issparse(M):
            # products in single precision would be those of other data
            M = M.astype(np.float64)
            return np.asarray((M @ M.T).toarray())
        return second_moments(M)


def leading_directions(M: Any, q: int, max_eigenvectors: int = MAX_EIGENVECTORS) -> Array:
    """Return an orthonormal basis (m, q) of the q leading left singular vectors of M, q ≤ m.

    M may be sparse. If M has fewer columns than q, further directions follow in no particular
    order. If both sides of M exceed ``max_eigenvectors``, subspace iteration finds the directions
    approximately.
    """
    m, n = M.shape
    # several threads would round in another order
    with single_threaded_blas():
        if min(m, n) > max_eigenvectors:
            M = times_power_of_two(M, -unusual_exponent(M)).astype(np.float64)
            return _by_iteration(M, q)
        moments = smaller_moments(M)
        exponent = exponent_from_squares(M, np.trace(moments))
        if exponent != 0:  # squares have left the range; directions have no unit
            M = times_power_of_two(M, -exponent)
            moments = smaller_moments(M)
        vectors: Array = np.linalg.eigh(moments)[1][:, ::-1][:, :q]
        if m <= n:
            return vectors
        return _orthonormal(_product(M, vectors), q)


def _by_iteration(M: Any, q: int) -> Array:
    m, n = M.shape
    spread = np.random.default_rng(0).standard_normal((n, min(q + EXTRA_DIRECTIONS, m)))
    for _ in range(ITERATIONS):
        basis = np.linalg.qr(_product(M, spread))[0]
        spread = transposed_product(basis, M).T
    vectors = np.linalg.eigh(spread.T @ spread)[1][:, ::-1][:, :q]
    return _orthonormal(basis @ vectors, q)


def _orthonormal(vectors: Array, q: int) -> Array:
    """Orthonormalise vectors (m, k) in their order; add any others if there are fewer than q."""
    m, k = vectors.shape
    if k < q:
        vectors = np.hstack([vectors, np.eye(m, q)])
    return np.linalg.qr(vectors)[0][:, :q]


def _product(M: Any, vectors: Array) -> Array:
    """Return M times ``vectors`` (n, k), in slices of the rows of M."""
    if issparse(M):
        return np.asarray(M @ vectors)
    return transposed_product(vectors, M.T).T
