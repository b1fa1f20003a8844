"""Products, sums and bases of large matrices: any number of threads gives the same bits.

Sums over blocks of columns are taken in a fixed order. Bases cost what the smaller side of a matrix
costs: all products of columns, and so everything that depends on lengths and angles alone, are the
same after a rotation, and a matrix with more rows than columns can be rotated into a square one.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.threads import for_slices, n_threads, single_threaded_blas


def second_moments(M: Array, scale: Array | None = None) -> Array:
    """Return M Mᵀ (m, m) in float64, block by block; ``scale`` (n,) multiplies the columns."""
    columns_per_block = 2048

    def product(start: int, stop: int) -> Array:
        block = np.asarray(M[:, start:stop], dtype=np.float64)
        if scale is not None:
            block = block * scale[start:stop]
        return np.asarray(block @ block.T)

    with single_threaded_blas():
        total = np.zeros((M.shape[0], M.shape[0]))
        for part in in_order(product, M.shape[1], columns_per_block):
            total += part
        return total


def transposed_product(A: Array, M: Any) -> Array:
    """Return Aᵀ M (q, n) for A (m, q) and a dense or sparse M (m, n), in slices of columns."""
    if issparse(M):
        return np.ascontiguousarray((M.T @ A).T)
    product = np.empty((A.shape[1], M.shape[1]), dtype=np.result_type(A, M))
    At = np.ascontiguousarray(A.T)

    def task(start: int, stop: int) -> None:
        np.matmul(At, M[:, start:stop], out=product[:, start:stop])

    columns_per_slice = 4096
    with single_threaded_blas():
        for_slices(task, M.shape[1], columns_per_slice)
    return product


def in_order(term: Callable[[int, int], Any], n_items: int, slice_size: int) -> Iterator[Any]:
    """Yield ``term(start, stop)`` for all slices, in their order; a few per thread are held."""
    items_per_group = max(8, 2 * n_threads()) * slice_size
    for first in range(0, n_items, items_per_group):

        def shifted_term(start: int, stop: int, first: int = first) -> Any:
            return term(first + start, first + stop)

        count = min(items_per_group, n_items - first)
        yield from for_slices(shifted_term, count, slice_size)


def means_by_label(points: Array, labels: Array, means: Array) -> Array:
    """Return the mean (q, C) of the points (q, n) of each label; of none, the old one."""
    sizes = np.bincount(labels, minlength=means.shape[1])
    is_used = sizes > 0
    means = means.copy()
    for k in range(len(points)):
        sums = np.bincount(labels, weights=points[k], minlength=len(sizes))
        means[k, is_used] = sums[is_used] / sizes[is_used]
    return means


def onto_span(M: Array) -> Array:
    """Rotate M (m, n) into at most n rows, by QR; the products of its columns stay the same."""
    m, n = M.shape
    if m <= n:
        return M

    def triangle(start: int, stop: int) -> Array:
        part: Array = scipy.linalg.qr(M[start:stop], mode="r", check_finite=False)[0]
        return part[:n]

    with single_threaded_blas():  # several threads would round in another order
        # slices of a long matrix stay in the cache
        if m > 16 * n:
            M = np.concatenate(for_slices(triangle, m, max(4 * n, 512)))
            m = len(M)
        return triangle(0, m)


def onto_common_span(M: Array, D: Array) -> tuple[Array, Array]:
    """Rotate M (m, n) and D (m, d) in the same way into at most n + d rows."""
    m, n = M.shape
    if m <= n + D.shape[1]:
        return M, D
    triangle = onto_span(np.hstack([M, D]))
    return triangle[:, :n], triangle[:, n:]


def smaller_moments(M: Any) -> Array:
    """Return M Mᵀ or MᵀM in float64, whichever is smaller: they share all eigenvalues but zero."""
    if M.shape[0] > M.shape[1]:
        M = M.T
    if issparse(M):
        # products in single precision would be those of other data
        M = M.astype(np.float64)
        return np.asarray((M @ M.T).toarray())
    return second_moments(M)


def leading_directions(M: Any, q: int, max_eigenvectors: int = 2000) -> Array:
    """Return an orthonormal basis (m, q) of the q leading left singular vectors of M, q ≤ m.

    Up to ``max_eigenvectors`` on the smaller side, all of them are computed for the leading ones.
    """
    m, n = M.shape
    # several threads would round in another order
    with single_threaded_blas():
        if min(m, n) > max_eigenvectors:
            return _by_iteration(M.astype(np.float64), q)
        vectors: Array = np.linalg.eigh(smaller_moments(M))[1][:, ::-1][:, :q]
        if m <= n:
            return vectors
        return _orthonormal(_product(M, vectors), q)


def squared_norm(M: Array) -> float:
    """Return σ_max(M)², from above: exactly for a small side, else by Lanczos plus its residual."""
    small = M
    if M.shape[0] > M.shape[1]:
        small = M.T
    side = small.shape[0]
    if side <= 600:
        small = small.astype(np.float64, copy=False)
        products = small @ small.T
        top = float(scipy.linalg.eigvalsh(products, subset_by_index=[side - 1, side - 1])[0])
        rounding = 1e-6
        if M.dtype == np.float64:
            rounding = 1e-14
        return max(top, 0.0) * (1 + rounding)
    # imported here, since few problems have that many points and features
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((side, side), matvec=lambda v: small @ (small.T @ v), dtype=M.dtype)
    start = np.random.default_rng(0).random((side,)).astype(M.dtype)
    values, vectors = eigsh(operator, k=1, v0=start, tol=1e-4)
    v = vectors[:, 0]
    return float(values[0] + np.linalg.norm(operator @ v - values[0] * v))


def in_leading_directions(M: Any, q: int) -> tuple[Array, Array]:
    """Return M in its q leading directions, (q, n), and their basis (m, q), in the dtype of M."""
    basis = leading_directions(M, q).astype(M.dtype)
    return transposed_product(basis, M), basis


def _by_iteration(M: Any, q: int) -> Array:
    m, n = M.shape
    # four steps of subspace iteration, with ten directions more than asked for
    spread = np.random.default_rng(0).standard_normal((n, min(q + 10, m)))
    for _ in range(4):
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
