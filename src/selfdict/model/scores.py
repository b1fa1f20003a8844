"""Which rows of X should open: their scores, and upper bounds on them.

With rows and columns scaled to w = 1, the score of a row x is h(x) = Σ_j max(0, xᵀθ_j), apart from
its own column. The sum is taken tile by tile, while a tile is still in the cache of the core that
multiplied it. Where M has few rows, one kernel multiplies and sums without storing the tiles.

The bounds h(x) ≤ h(y) + h(x − y), with a y near x, are those of :doc:`/mathematics`, with its A and
S. Every bound has room for what rounding may have done to it, so it is a proof. All of it is
relative to A times the length of the vectors, as derived at :meth:`Metric.bound`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from selfdict._validation import Array
from selfdict.compute.device import Device
from selfdict.compute.linear_algebra import (
    leading_directions,
    means_by_label,
    second_moments,
    transposed_product,
)
from selfdict.compute.threads import even_slices, for_slices, single_threaded_blas
from selfdict.kernels.columns import (
    add_positive_products,
    add_positive_sums,
    pack,
    squared_norms,
)
from selfdict.model.dual import dot_error

TILE_ROWS = 256
FEWEST_TILE_ROWS = 32
TILE_COLUMNS = 1024
# features up to which BLAS would spend more time on storing the products than on taking them
FUSED_FEATURES = 32

SINGLE_ROUNDOFF = 2.0**-24
# rows are taken through the bounds in slices of this many
ROWS_PER_SLICE = 2048
# directions of a projection, and of a second one where many rows are left: the kernel for few
# features is fastest up to 16, and faster than BLAS up to 32
FEW_DIRECTIONS = 16
MORE_DIRECTIONS = 32


def summation_depth(n: int, device: Device) -> int:
    """Return how many additions a score over n columns has gone through, at most."""
    if device is not None:
        return n  # in whatever order the device takes
    # tiles of at most TILE_COLUMNS, or of 256 columns for few features, and then their sums
    return TILE_COLUMNS + n // 256


def positive_sums(D: Array, v: Array, theta: Array, rows: Array | None, dtype: Any) -> Array:
    """Return Σ_j max(0, (d_i/v_i)ᵀθ_j) for the rows i.

    D is (m, d), θ is (m, l). The product is taken in ``dtype``, the sum in float64.
    """
    count = D.shape[1]
    if rows is not None:
        count = len(rows)
    unit = 1.0
    if dtype == np.float32:
        # far from overflow, whatever the unit of M
        unit = float(np.abs(theta).max(initial=0.0)) or 1.0
        theta = (theta / unit).astype(np.float32)
    sums = np.zeros(count)
    if len(D) <= FUSED_FEATURES:
        _fused_sums(D, v, theta, rows, sums, dtype)
        return unit * sums

    def task(start: int, stop: int) -> None:
        index = _part(rows, start, stop)
        left = np.ascontiguousarray((D[:, index] / v[index]).T, dtype=dtype)
        buffer = np.empty((stop - start) * min(TILE_COLUMNS, theta.shape[1]), dtype)
        for first in range(0, theta.shape[1], TILE_COLUMNS):
            right = theta[:, first : first + TILE_COLUMNS]
            tile = buffer[: len(left) * right.shape[1]].reshape(len(left), -1)
            np.matmul(left, right, out=tile)
            add_positive_sums(tile, sums[start:stop])

    # one thread per tile: BLAS would make every small product wait for all threads
    with single_threaded_blas():
        for_slices(task, count, even_slices(count, TILE_ROWS, FEWEST_TILE_ROWS))
    return unit * sums


def _fused_sums(
    D: Array, v: Array, theta: Array, rows: Array | None, sums: Array, dtype: Any
) -> None:
    """Fill ``sums`` with the positive sums of :func:`positive_sums`, for few features."""
    packed = pack(theta, dtype)

    def task(start: int, stop: int) -> None:
        index = _part(rows, start, stop)
        count = stop - start
        even = count + count % 2  # the kernel takes two rows at a time
        left = np.zeros((even, packed.shape[1]), dtype)
        left[:count, : len(D)] = (D[:, index] / v[index]).T
        out = np.zeros(even)
        add_positive_products(left, packed, out)
        sums[start:stop] = out[:count]

    for_slices(task, len(sums), even_slices(len(sums), TILE_ROWS, FEWEST_TILE_ROWS))


def _part(rows: Array | None, start: int, stop: int) -> slice | Array:
    """Return an index of the rows start to stop; a slice, if all rows are meant, copies nothing."""
    if rows is None:
        return slice(start, stop)
    return rows[start:stop]


@dataclass(frozen=True)
class MetricSums:
    """What a metric is made of, as sums over columns of θ."""

    total: float  # A
    mean: Array  # (m,): Σ_j θ_j
    moments: Array  # (m, m): S
    n_columns: int  # how many columns were summed up

    @classmethod
    def of(cls, theta: Array) -> "MetricSums":
        """Sum up the columns of θ (m, l)."""
        magnitudes = np.sqrt(squared_norms(theta))
        scale = np.zeros(len(magnitudes))
        np.divide(1.0, np.sqrt(magnitudes), out=scale, where=magnitudes > 0)
        moments = second_moments(theta, scale)
        return cls(float(magnitudes.sum()), theta.sum(axis=1), moments, len(scale))

    def __add__(self, other: "MetricSums") -> "MetricSums":
        """Return the sums of two sets of columns together."""
        return MetricSums(
            self.total + other.total,
            self.mean + other.mean,
            self.moments + other.moments,
            self.n_columns + other.n_columns,
        )


@dataclass(frozen=True)
class Metric:
    """What bounds h(d) for every d: A, Σθ_j, and L with LLᵀ ≥ S."""

    total: float  # A, from above
    mean: Array  # (m,): Σ_j θ_j
    factor: Array  # (m, m): L, lower triangular
    # room for rounding, relative to A and to the lengths of the vectors a remainder comes from
    rounding: float

    @classmethod
    def from_sums(cls, sums: MetricSums) -> "Metric":
        """Return the metric of the columns that were summed up, which are not all zero."""
        m = len(sums.mean)
        total = sums.total * (1 + dot_error(sums.n_columns))
        # The errors of S and of its factor are at most these multiples of A, as norms: a multiple
        # of the identity makes LLᵀ at least S in spite of them.
        ridge = 2 * dot_error(sums.n_columns) + 4 * m * dot_error(m)
        factor = np.linalg.cholesky(sums.moments + ridge * total * np.eye(m))
        return cls(total, sums.mean, factor, 2 * dot_error(sums.n_columns + 2 * m))

    def bound(self, transformed: Array, inner: Array, size: Array) -> Array:
        """Return h(d) from above for some d, by Lᵀd, (m, k), and dᵀΣθ_j, (k,).

        ``size`` (k,) are at least the lengths of the vectors that d is the difference of, summed.
        The errors of Lᵀd, of Σθ_j and of its product with d are at most
        (γ_l + 2γ_m) A · size, since ‖L‖_F² ≤ (1 + small) A and ‖Σθ_j‖ ≤ A.
        """
        norms = np.sqrt(np.einsum("ij,ij->j", transformed, transformed))
        room = self.rounding * self.total * size
        return np.asarray(0.5 * (inner + np.sqrt(self.total) * norms) + room)


@dataclass(frozen=True)
class Projection:
    """Rows split into their part in a few directions and a remainder whose score is bounded.

    y = P b with b = WᵀLᵀx. Whatever P and b are as stored, x − P b is the remainder.
    """

    metric: Metric
    directions: Array  # (m, q): W, orthonormal
    basis: Array  # (m, q): P

    @classmethod
    def of(cls, X: Array, metric: Metric, n_directions: int = FEW_DIRECTIONS) -> "Projection":
        """Return the projection onto the leading directions of the columns of LᵀX."""
        transformed = metric.factor.T @ X
        moments = transformed @ transformed.T
        vectors: Array = np.linalg.eigh(moments)[1]
        directions = np.ascontiguousarray(vectors[:, ::-1][:, :n_directions])
        return cls(metric, directions, solve_triangular(metric.factor.T, directions, lower=False))

    def split(self, X: Array) -> tuple[Array, Array]:
        """Return b (q, k), and h(x − P b) from above, for the columns x of X, of unit length."""
        metric = self.metric
        transformed = metric.factor.T @ X
        b = self.directions.T @ transformed
        transformed -= (metric.factor.T @ self.basis) @ b
        inner = metric.mean @ X - (metric.mean @ self.basis) @ b
        width = float(np.linalg.norm(self.basis))
        size = 1.0 + width * np.sqrt(np.einsum("ij,ij->j", b, b))
        # the errors of the products with P, and of Pᵀθ in h(P b), have the same bound as the others
        return b, metric.bound(transformed, inner, 4 * size)

    def sums(self, coordinates: Array, theta: Array) -> Array:
        """Return h(P b) from above for the columns b of ``coordinates``."""
        projected = self.basis.T @ theta
        reach = float(np.sqrt(squared_norms(projected)).sum())
        norms = positive_norms(coordinates)
        return np.asarray(norms * rough_sums(coordinates, norms, projected, None, reach))


def rough_sums(D: Array, norms: Array, theta: Array, rows: Array | None, reach: float) -> Array:
    """Return Σ_j max(0, d_iᵀθ_j)/‖d_i‖ from above, computed in float32.

    ``reach`` is Σ_j ‖θ_j‖. Two vectors of length one and ‖θ_j‖ have each entry rounded, and their
    product n_terms times. A tile of columns is summed in float32. Underflow is covered, since the
    largest entry of θ is scaled to one.
    """
    sums = positive_sums(D, norms, theta, rows, np.float32)
    of_products = 2 * (len(theta) + 16) * SINGLE_ROUNDOFF * reach
    of_sums = 2 * (TILE_COLUMNS + 16) * SINGLE_ROUNDOFF * sums
    return np.asarray(sums + of_products + of_sums)


def positive_norms(D: Array) -> Array:
    """Return the norms of the columns, where zero counts as one."""
    norms: Array = np.sqrt(squared_norms(D))
    norms[norms == 0] = 1.0
    return norms


@dataclass(frozen=True)
class UnitRows:
    """Some columns of D (m, d), or all, to be divided by their norms (d,) when they are needed."""

    D: Array
    norms: Array
    index: Array | None = None

    def __len__(self) -> int:
        if self.index is None:
            return len(self.norms)
        return len(self.index)

    def take(self, part: slice) -> Array:
        """Return some of the rows, (m, k), in float64."""
        index: Any = part
        if self.index is not None:
            index = self.index[part]
        return np.asarray(self.D[:, index] / self.norms[index], dtype=np.float64)


@dataclass(frozen=True)
class RowClusters:
    """A partition of unit vectors, with the mean of each part."""

    labels: Array  # (d,): the cluster of each vector
    centres: Array  # (m, C)
    directions: Array  # (m, q): orthonormal directions in which distances are taken

    @classmethod
    def of(cls, D: Array, norms: Array, n_rows: int | None = None) -> "RowClusters":
        """Cluster the columns of D (m, d) divided by their norms: two rounds of k-means.

        About 4√d clusters: the time for their scores and that for the rows they leave undecided are
        then of the same order. If D is a sample, ``n_rows`` counts all rows. Any partition and any
        centres give valid bounds: the centres are those of a part of the rows.
        """
        d = D.shape[1]
        count = min(d, int(4 * np.sqrt(n_rows or d)))
        # every fourth row, or more of them where there would be few per cluster
        every = min(4, max(1, d // (8 * count)))
        unit = np.ascontiguousarray(D[:, ::every]) / norms[::every].astype(D.dtype)
        directions = leading_directions(unit, min(len(D), 12))  # those beyond are mostly noise
        points = transposed_product(directions, unit).astype(np.float32)
        start = np.random.default_rng(0).choice(unit.shape[1], count, replace=False)
        centres = points[:, start]
        labels = _nearest(points, centres)
        for _ in range(2):
            centres = means_by_label(points, labels, centres)
            labels = _nearest(points, centres)
        means = means_by_label(unit, labels, np.zeros((len(D), count)))
        clusters = cls(labels, means, directions)
        if every == 1:
            return clusters
        return cls(clusters.nearest(D, norms), means, directions)

    def nearest(self, D: Array, norms: Array) -> Array:
        """Return the cluster with the nearest centre for each column of D (m, k)/norms."""
        points = (transposed_product(self.directions, D) / norms).astype(np.float32)
        centres = (self.directions.T @ self.centres).astype(np.float32)
        return _nearest(points, centres)


def _nearest(points: Array, centres: Array) -> Array:
    """Return the nearest centre of each point, (d,) of int32."""
    d = points.shape[1]
    labels = np.empty(d, np.int32)
    half_squares = 0.5 * (centres**2).sum(axis=0)

    def task(start: int, stop: int) -> None:
        closeness = points[:, start:stop].T @ centres
        closeness -= half_squares
        labels[start:stop] = closeness.argmax(axis=1)

    with single_threaded_blas():
        for_slices(task, d, 512)
    return labels


def bounds_by_clusters(
    rows: UnitRows, labels: Array, centres: Array, of_centres: Array, metric: Metric
) -> Array:
    """Return h(c) + h(x − c) from above for rows x, with the centres c of their clusters."""
    bounds = np.empty(len(rows))

    def task(start: int, stop: int) -> None:
        X = rows.take(slice(start, stop))
        label = labels[start:stop]
        c = centres[:, label]
        remainder = X - c
        size = 1.0 + np.sqrt(np.einsum("ij,ij->j", c, c))
        bounds[start:stop] = of_centres[label] + metric.bound(
            metric.factor.T @ remainder, metric.mean @ remainder, size
        )

    with single_threaded_blas():
        for_slices(task, len(rows), even_slices(len(rows), ROWS_PER_SLICE))
    return bounds
