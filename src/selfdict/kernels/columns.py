"""Columns of dense and sparse matrices: their norms, and the positive parts of their products.

Positive parts are summed along rows while they are in cache. With many features BLAS multiplies a
tile and :func:`add_positive_sums` reduces it. With few, moving the tile would cost more than its
products: :func:`add_positive_products` multiplies and reduces in registers and the first-level
cache.
"""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.threads import for_slices
from selfdict.kernels.jit import aligned_zeros, inlined, jit, unsigned

# Columns of a packed block: twelve rows of a block and two of sums fill the first-level cache.
_PACKED_COLUMNS = 256


def column_norms(M: Array, dtype: Any = None) -> Array:
    """Return w, the ℓ1 norms of the columns of M (m, n), in ``dtype``, by default that of M."""
    w = np.empty(M.shape[1], dtype=dtype or M.dtype)
    columns_per_block = 1 << 16
    for start in range(0, M.shape[1], columns_per_block):
        columns = slice(start, start + columns_per_block)
        part = abs(M[:, columns])
        if issparse(part):
            part = part.astype(np.float64)  # scipy would sum up in the precision of the data
        w[columns] = part.sum(axis=0, dtype=np.float64)
    return w


def squared_norms(M: Any) -> Array:
    """Return ‖m_j‖² of every column of M (m, n), summed in float64, in one pass over M."""
    if issparse(M):
        # An overflow gives infinity without a warning, as in the compiled loop.
        with np.errstate(over="ignore"):
            return np.asarray(M.astype(np.float64).power(2).sum(axis=0))
    M = np.asarray(M)
    out = np.zeros(M.shape[1])
    no_products = np.empty((0, 0))
    ones = np.ones(M.shape[0])

    def task(start: int, stop: int) -> None:
        if abs(M.strides[0]) < abs(M.strides[1]):
            _add_norms_of_rows(M.T, out, unsigned(start), unsigned(stop))
        else:
            norms = out[start:stop]
            _add_products_and_norms(no_products, ones, M, no_products, norms, unsigned(start))

    # wide, because in a row-major matrix a narrow slice jumps to another memory page at every row
    columns_per_slice = 16384
    for_slices(task, out.size, columns_per_slice)
    return out


def products_and_norms(
    P: Array, M: Any, start: int, stop: int, weights: Array | None = None
) -> tuple[Array, Array]:
    """Return P m_j (k, n) and ‖m_j‖² of some columns of M, in one pass over M, in float64.

    With ``weights`` (m,) the norms are those of the columns times the weights.
    """
    if issparse(M):
        part = M[:, start:stop]
        products = np.ascontiguousarray((part.T @ P.T).T)
        if weights is not None:
            part = part.multiply(weights[:, None]).tocsc()
        return products, squared_norms(part)
    if weights is None:
        weights = np.ones(M.shape[0])
    if not M.flags.c_contiguous:
        part = np.asarray(M[:, start:stop], dtype=np.float64)
        return P @ part, squared_norms(weights[:, None] * part)
    products = np.zeros((len(P), stop - start))
    norms = np.zeros(stop - start)
    _add_products_and_norms(P, weights**2, np.asarray(M), products, norms, unsigned(start))
    return products, norms


@jit
def _add_products_and_norms(
    P: Array, squares: Array, M: Array, products: Array, norms: Array, start: int
) -> None:
    """Add those of column start + j of M to column j, for every column of ``products``.

    ``squares`` (m,) are the squared weights of the rows in the norms.
    """
    # Four rows at a time, so that sums are read and written a quarter as often; what these hold of
    # the columns stays in cache. The bounds must be unsigned: LLVM vectorises the loops only
    # without the test for negative indices.
    m = M.shape[0]
    quads = m - m % 4
    n = unsigned(norms.size)
    for i in range(0, quads, 4):
        for j in range(n):
            a = np.float64(M[i, start + j])
            b = np.float64(M[i + 1, start + j])
            c = np.float64(M[i + 2, start + j])
            d = np.float64(M[i + 3, start + j])
            norms[j] += (
                squares[i] * a * a
                + squares[i + 1] * b * b
                + squares[i + 2] * c * c
                + squares[i + 3] * d * d
            )
        for k in range(P.shape[0]):
            for j in range(n):
                a = P[k, i] * np.float64(M[i, start + j])
                b = P[k, i + 1] * np.float64(M[i + 1, start + j])
                c = P[k, i + 2] * np.float64(M[i + 2, start + j])
                d = P[k, i + 3] * np.float64(M[i + 3, start + j])
                products[k, j] += a + b + c + d
    for i in range(quads, m):
        for j in range(n):
            a = np.float64(M[i, start + j])
            norms[j] += squares[i] * a * a
        for k in range(P.shape[0]):
            for j in range(n):
                products[k, j] += P[k, i] * np.float64(M[i, start + j])


@jit
def _add_norms_of_rows(M: Array, out: Array, start: int, stop: int) -> None:
    """Add the squared norm of row j of M to ``out[j]`` for j in [start, stop)."""
    for j in range(start, stop):
        row = M[j]
        total = 0.0
        for i in range(row.size):
            a = np.float64(row[i])
            total += a * a
        out[j] += total


@jit
def subtract_squares(residuals: Array, slack: Array, change: Array, rounding: Array) -> None:
    """Subtract squares from residuals; each change is known up to ``rounding``."""
    for j in range(residuals.size):
        c = np.float64(change[j])
        residuals[j] -= c * c
        # |(c + δ)² − c²| ≤ ρ (2 |c| + ρ) for every |δ| ≤ ρ.
        slack[j] += rounding[j] * (2.0 * abs(c) + rounding[j])


def dense_columns(M: Any, index: Any) -> Array:
    """Return some columns of M as a dense array, whether M is sparse or not."""
    if issparse(M):
        dense: Array = M[:, index].toarray()
        return dense
    columns: Array = M[:, index]
    return columns


@jit
def add_positive_sums(V: Array, out: Array) -> None:
    """Add Σ_j max(0, V_ij) to ``out[i]``."""
    zero = V.dtype.type(0)
    for i in range(V.shape[0]):
        v = V[i]
        total = zero
        for j in range(v.shape[0]):
            total += max(v[j], zero)
        out[i] += total


def pack(theta: Array, dtype: type[np.floating[Any]]) -> Array:
    """Return θ (q, l) as blocks of b columns, (⌈l/b⌉, q', b) with q' ≥ 8 a multiple of four."""
    q, n_columns = theta.shape
    n_blocks = -(-n_columns // _PACKED_COLUMNS)
    depth = max(8, -(-q // 4) * 4)
    # Aligned: a vector across two cache lines would take two loads.
    rows = aligned_zeros(n_blocks * depth, _PACKED_COLUMNS, dtype)
    packed = rows.reshape(n_blocks, depth, _PACKED_COLUMNS)
    for b in range(n_blocks):
        block = theta[:, b * _PACKED_COLUMNS : (b + 1) * _PACKED_COLUMNS]
        packed[b, :q, : block.shape[1]] = block
    return packed


def add_positive_products(left: Array, packed: Array, out: Array) -> None:
    """Add Σ_j max(0, (left θ)_ij) to ``out[i]`` for ``left`` (2k, q') and a packed θ."""
    u = np.empty(_PACKED_COLUMNS, packed.dtype)
    v = np.empty(_PACKED_COLUMNS, packed.dtype)
    _add_positive_products(left, packed, u, v, out)


@jit
def _add_positive_products(left: Array, packed: Array, u: Array, v: Array, out: Array) -> None:
    """Do the work of :func:`add_positive_products` in memory for the products of two rows."""
    # Two rows at a time, so that each number loaded serves two products, and four products between
    # a load and a store of the sums; the last four are added up at once.
    q = packed.shape[1]
    zero = packed.dtype.type(0)
    for b in range(packed.shape[0]):
        theta = packed[b]
        for i in range(0, left.shape[0], 2):
            x = left[i]
            y = left[i + 1]
            t0, t1, t2, t3 = _four(theta, 0)
            x0, x1, x2, x3 = _four(x, 0)
            y0, y1, y2, y3 = _four(y, 0)
            for j in range(_PACKED_COLUMNS):
                u[j] = x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j]
                v[j] = y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j]
            for k in range(4, q - 4, 4):
                t0, t1, t2, t3 = _four(theta, k)
                x0, x1, x2, x3 = _four(x, k)
                y0, y1, y2, y3 = _four(y, k)
                for j in range(_PACKED_COLUMNS):
                    u[j] += x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j]
                    v[j] += y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j]
            t0, t1, t2, t3 = _four(theta, q - 4)
            x0, x1, x2, x3 = _four(x, q - 4)
            y0, y1, y2, y3 = _four(y, q - 4)
            total_x = total_y = zero
            for j in range(_PACKED_COLUMNS):
                total_x += max(u[j] + x0 * t0[j] + x1 * t1[j] + x2 * t2[j] + x3 * t3[j], zero)
                total_y += max(v[j] + y0 * t0[j] + y1 * t1[j] + y2 * t2[j] + y3 * t3[j], zero)
            out[i] += total_x
            out[i + 1] += total_y


@inlined
def _four(a: Array, k: int) -> tuple[Any, Any, Any, Any]:
    """Return the entries k to k + 3 of a vector, or rows of a matrix."""
    return a[k], a[k + 1], a[k + 2], a[k + 3]


@jit
def add_gram_rows(
    pointers: Array,
    features: Array,
    values: Array,
    row_pointers: Array,
    points: Array,
    entries: Array,
    rows: Array,
    scale: Array,
    out: Array,
) -> None:
    """Add scale_i m_iᵀY to ``out[i]`` for the columns i = ``rows`` of M."""
    # M is in CSC form (pointers, features, values), Y in CSR form (row_pointers, points, entries):
    # each feature of m_i adds a multiple of the row of Y that belongs to it.
    for a in range(len(rows)):
        i = rows[a]
        products = out[a]
        for k in range(pointers[i], pointers[i + 1]):
            factor = scale[a] * values[k]
            feature = features[k]
            for e in range(row_pointers[feature], row_pointers[feature + 1]):
                products[points[e]] += factor * entries[e]
