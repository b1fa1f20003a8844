"""Rows and multipliers in memory, for bounds on scores (:mod:`selfdict.model.score_bounds`).

Clusters of the rows are part of it: the score of a centre tells of many rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.compute.device import Device
from selfdict.compute.linear_algebra import (
    leading_directions,
    means_by_label,
    transposed_product,
)
from selfdict.compute.threads import even_slices, for_slices, single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.model.score_bounds import ROWS_PER_SLICE, ColumnSums, ScoreBounds, Step, UnitRows
from selfdict.model.scores import (
    Metric,
    MetricSums,
    Projection,
    positive_norms,
    positive_sums,
    rough_sums,
    summation_depth,
)

if TYPE_CHECKING:
    from selfdict.gpu.scores import Screen

# with fewer rows, or columns per feature, all scores take less time than the bounds
FEWEST_ROWS = 4000
COLUMNS_PER_FEATURE = 16
# with fewer rows a projection takes less time than their clusters
FEWEST_ROWS_FOR_CLUSTERS = 20_000


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


@dataclass(frozen=True)
class DenseSums:
    """The sums over the columns of θ (m, l), float64, in memory."""

    theta: Array

    @property
    def shape(self) -> tuple[int, int]:
        n_features, n_columns = self.theta.shape
        return n_features, n_columns

    def metric_sums(self) -> MetricSums:
        return MetricSums.of(self.theta)

    def sums_of_centres(self, centres: Array, reach: float) -> Array:
        norms = positive_norms(centres)
        return np.asarray(norms * rough_sums(centres, norms, self.theta, None, reach))

    def projected_sums(self, projection: Projection, coordinates: Array) -> Array:
        return projection.sums(coordinates, self.theta)

    def rough_sums(self, rows: UnitRows, reach: float) -> Array:
        return rough_sums(rows.D, rows.norms, self.theta, rows.index, reach)

    def exact_sums(self, rows: UnitRows) -> Array:
        return positive_sums(rows.D, rows.norms, self.theta, rows.index, np.float64)


class MemoryRows:
    """The atoms of a dictionary D (m, d) in memory, with positive weights v (d,).

    ``device`` (a torch.device) is where sums are taken, if it is given; no bounds are used then.
    """

    def __init__(self, D: Array, v: Array, device: Device = None) -> None:
        self.D = D
        self.v = v
        self.device = device

    @cached_property
    def screen(self) -> "Screen":
        """The atoms on the device."""
        from selfdict.gpu.scores import Screen

        return Screen(self.D, self.v, self.device)

    @cached_property
    def lengths(self) -> Array:
        return np.sqrt(squared_norms(self.D)) / self.v

    @cached_property
    def norms(self) -> Array:
        """‖d_i‖₂, where zero counts as one."""
        return positive_norms(self.D)

    @cached_property
    def clusters(self) -> RowClusters:
        """Clusters of the atoms scaled to unit length."""
        return RowClusters.of(self.D, self.norms)

    @property
    def fewest_for_clusters(self) -> int:
        return FEWEST_ROWS_FOR_CLUSTERS

    @property
    def bounded(self) -> bool:
        """Whether there are bounds on the scores of these rows."""
        return self.device is None and not issparse(self.D)

    def worthwhile(self, n_columns: int) -> bool:
        if not self.bounded:
            return False
        return len(self.v) >= FEWEST_ROWS and n_columns >= COLUMNS_PER_FEATURE * len(self.D)

    def steps(self, rough: bool) -> Sequence[Step]:
        every = list(Step)
        if rough:
            every.remove(Step.DOUBLE)
        return every

    def values(self, rows: Array) -> Array:
        return dense_columns(self.D, rows)

    def unit(self, rows: Array) -> UnitRows:
        return UnitRows(self.D, self.norms, rows)

    def positive_sums(self, theta: Array, rows: Array | None, dtype: type) -> Array:
        if self.device is None:
            return positive_sums(self.D, self.v, theta, rows, dtype)
        return self.screen.positive_sums(theta, rows, dtype)

    def summation_depth(self, n_columns: int) -> int:
        return summation_depth(n_columns, self.device)

    def cluster_bounds(self, theta: ColumnSums, metric: Metric, rows: Array, most: Array) -> Array:
        centres = self.clusters.centres
        labels = self.clusters.labels[rows]
        of_centres = theta.sums_of_centres(centres, metric.total)
        return bounds_by_clusters(self.unit(rows), labels, centres, of_centres, metric)


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


def row_scores(
    M: Array,
    theta: Array,
    w: Array,
    v: Array,
    D: Array | None = None,
    device: Device = None,
    slope: Array | None = None,
    known: Array | None = None,
) -> Array:
    """Return σ_i(θ) of every row i in float64; 0 where the weight of the atom is 0.

    M and θ are (m, n). The atoms D (m, d), with the weights v, are by default M. With the slopes
    (d,) of the penalties, a score may be an upper bound that shows that it is below; some of these
    may be ``known``.
    """
    own = np.zeros(1)
    if D is None:
        D = M
        # the own column counts with its sign: the sum holds max(0, own), so min(0, own) is missing
        own = np.minimum(np.einsum("ij,ij->j", M, theta, dtype=np.float64), 0.0)
    counts = v > 0
    if known is not None and slope is not None:
        # those of the other rows are taken as if these were the only ones that count
        is_known = known < slope
        rest = row_scores(M, theta, w, np.where(is_known, 0.0, v), D, device, slope)
        return np.where(is_known & counts, known, rest)
    rows = MemoryRows(D, np.where(counts, v, 1.0), device)
    is_many = np.count_nonzero(counts) >= FEWEST_ROWS
    if slope is not None and is_many and rows.bounded:
        slope = np.where(counts, slope, np.inf)
        return ScoreBounds(rows).scores(DenseSums(theta * w), slope, own, rough=False)
    index = None
    if not counts.all():
        index = np.flatnonzero(counts)
    scores = np.zeros(v.size)
    scores[counts] = rows.positive_sums(theta * w, index, np.float64)
    return np.where(counts, scores + own, 0.0)
