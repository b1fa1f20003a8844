"""Clusters of the rows that are screened, so that the score of a centre tells of many rows."""

from dataclasses import dataclass

import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import for_slices, single_threaded_blas

# leading directions in which distances are taken: the others are mostly noise
N_COORDINATES = 12
ROWS_PER_SLICE = 1024
# centres are found with every fourth row, or more where there would be few rows per cluster
LARGEST_STEP = 4
ROWS_PER_CLUSTER = 8


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
        every = min(LARGEST_STEP, max(1, d // (ROWS_PER_CLUSTER * count)))
        some = np.ascontiguousarray(D[:, ::every])
        some_norms = norms[::every]
        directions = _leading_directions(some, some_norms)
        coordinates = _coordinates(some, some_norms, directions)
        start = np.random.default_rng(0).choice(len(some_norms), count, replace=False)
        centres = coordinates[:, start]
        labels = _nearest(coordinates, centres)
        for _ in range(2):
            centres = _means(coordinates, labels, centres)
            labels = _nearest(coordinates, centres)
        clusters = cls(labels, _full_means(some, some_norms, labels, count), directions)
        if every == 1:
            return clusters
        return cls(clusters.nearest(D, norms), clusters.centres, directions)

    def nearest(self, D: Array, norms: Array) -> Array:
        """Return the cluster with the nearest centre for each column of D (m, k)/norms."""
        centres = (self.directions.T @ self.centres).astype(np.float32)
        return _nearest(_coordinates(D, norms, self.directions), centres)


def _leading_directions(D: Array, norms: Array) -> Array:
    """Return the leading directions of the unit vectors, (m, q)."""
    m, d = D.shape

    def moments(start: int, stop: int) -> Array:
        part = np.asarray(D[:, start:stop] / norms[start:stop], dtype=np.float64)
        return np.asarray(part @ part.T)

    with single_threaded_blas():
        total = np.sum(for_slices(moments, d, ROWS_PER_SLICE), axis=0)
    vectors: Array = np.linalg.eigh(total)[1]
    return np.ascontiguousarray(vectors[:, ::-1][:, : min(m, N_COORDINATES)])


def _coordinates(D: Array, norms: Array, directions: Array) -> Array:
    """Return the unit vectors in some directions, (q, d), in float32."""
    d = D.shape[1]
    coordinates = np.empty((directions.shape[1], d), np.float32)

    def project(start: int, stop: int) -> None:
        part = np.asarray(D[:, start:stop] / norms[start:stop], dtype=np.float64)
        coordinates[:, start:stop] = directions.T @ part

    with single_threaded_blas():
        for_slices(project, d, ROWS_PER_SLICE)
    return coordinates


def _nearest(coordinates: Array, centres: Array) -> Array:
    """Return the nearest centre of each point, (d,) of int32."""
    d = coordinates.shape[1]
    labels = np.empty(d, np.int32)
    half_squares = 0.5 * (centres**2).sum(axis=0)

    def task(start: int, stop: int) -> None:
        closeness = coordinates[:, start:stop].T @ centres
        closeness -= half_squares
        labels[start:stop] = closeness.argmax(axis=1)

    with single_threaded_blas():
        for_slices(task, d, 512)
    return labels


def _means(coordinates: Array, labels: Array, centres: Array) -> Array:
    """Return the mean of each cluster; that of an empty one stays where it was."""
    count = centres.shape[1]
    sizes = np.bincount(labels, minlength=count)
    means = centres.copy()
    for k in range(len(coordinates)):
        sums = np.bincount(labels, weights=coordinates[k], minlength=count)
        means[k, sizes > 0] = sums[sizes > 0] / sizes[sizes > 0]
    return means


def _full_means(D: Array, norms: Array, labels: Array, count: int) -> Array:
    """Return the mean of the unit vectors of each cluster, (m, C)."""
    sizes = np.maximum(np.bincount(labels, minlength=count), 1)
    means = np.empty((D.shape[0], count))

    def task(start: int, stop: int) -> None:
        for k in range(start, stop):
            means[k] = np.bincount(labels, weights=D[k] / norms, minlength=count) / sizes

    for_slices(task, D.shape[0], 8)
    return means
