"""Scores of rows, exact only where an upper bound does not decide.

With rows and columns scaled to w = 1, the score of a row x is h(x) = Σ_j max(0, xᵀθ_j), apart from
its own column, which only lowers it. :mod:`selfdict.model.score_metric` bounds it by
h(y) + h(x − y), and two choices of y follow one another. First the centre of the row's cluster: the
scores of a few centres serve for all rows. Rows that are not decided then are projected onto a few
directions that are leading in the metric of θ, where a product takes a tenth of the time, and where
many are left, onto twice as many. What is left gets its score in float32, and only rows near their
penalty or above it get one in float64.
"""

from functools import cached_property

import numpy as np

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import even_slices, for_slices
from selfdict.model.row_clusters import RowClusters
from selfdict.model.score_metric import (
    FEW_DIRECTIONS,
    MORE_DIRECTIONS,
    Metric,
    Projection,
    cluster_bounds,
    positive_norms,
    rough_sums,
    sums_of_centres,
)
from selfdict.model.screening import positive_sums

# with fewer rows, or columns per feature, all scores take less time than the bounds
FEWEST_ROWS = 4000
COLUMNS_PER_FEATURE = 16
# with fewer rows a projection takes less time than their clusters
FEWEST_ROWS_FOR_CLUSTERS = 20_000
# with fewer products of rows and columns, scores take less time than a second projection
FEWEST_PRODUCTS_FOR_MORE_DIRECTIONS = 10**8
# rows are taken through the bounds in slices of this many
ROWS_PER_SLICE = 2048
# rows that leading directions are taken of, at most twice as many
ROWS_FOR_DIRECTIONS = 2000
# a row is decided if its bound is below this part of its penalty; the scaling c of the dual value,
# which is one at the optimum, may then grow by the rest before such a row matters
DECIDED = 0.995


class ScoreBounds:
    """Scores of the rows of a dictionary, exact only where a bound does not decide.

    Parameters
    ----------
    D : (m, d) ndarray
        The atoms.
    v : (d,) ndarray of float64
        Their positive weights.

    Attributes
    ----------
    undecided : dict of str to int
        How many rows each step of the last call has left for the next one.
    """

    def __init__(self, D: Array, v: Array) -> None:
        self.D = D
        self.v = v
        self.undecided: dict[str, int] = {}

    @staticmethod
    def pay(n_rows: int, n_columns: int, n_features: int) -> bool:
        """Whether there are enough rows and columns for bounds to save time."""
        return n_rows >= FEWEST_ROWS and n_columns >= COLUMNS_PER_FEATURE * n_features

    @cached_property
    def norms(self) -> Array:
        """‖d_i‖₂ of all atoms, where zero counts as one."""
        return positive_norms(self.D)

    @cached_property
    def clusters(self) -> RowClusters:
        """Clusters of the atoms scaled to unit length."""
        return RowClusters.of(self.D, self.norms)

    def scores(
        self, theta: Array, penalty: Array, own: Array, rows: Array | None, rough: bool
    ) -> Array:
        """Return scores of rows, or upper bounds on them that are below 0.995 of the penalty.

        Parameters
        ----------
        theta : (m, l) ndarray of float64
        penalty : (k,) ndarray
            μp of these rows; infinity for rows that do not count.
        own : (k,) or (1,) ndarray
            What the own column of each row adds to the sum of positive parts, ≤ 0.
        rows : (k,) ndarray of int or None
            The rows; None for all.
        rough : bool
            Whether scores in float32, from above, are enough.
        """
        if rows is None:
            rows = np.arange(len(self.v))
        own = np.broadcast_to(own, rows.shape)
        scores = np.zeros(len(rows))
        if not theta.any():
            return scores
        metric = Metric.of(theta)
        lengths = self.norms[rows] / self.v[rows]
        left = np.flatnonzero(np.isfinite(penalty))
        self.undecided = {"rows": len(left)}
        steps = [
            self._cluster_bounds,
            self._projection_bounds,
            self._finer_projection_bounds,
            self._rough_scores,
        ]
        if not rough:
            steps.append(self._exact_scores)
        for step in steps:
            if len(left) == 0:
                break
            if step == self._cluster_bounds and len(left) < FEWEST_ROWS_FOR_CLUSTERS:
                continue
            if step == self._finer_projection_bounds and not _more_directions_pay(len(left), theta):
                continue
            scores[left] = lengths[left] * step(theta, metric, rows[left]) + own[left]
            left = left[scores[left] > DECIDED * penalty[left]]
            self.undecided[step.__name__] = len(left)
        return scores

    def _unit_rows(self, rows: Array) -> Array:
        """Return atoms of unit length, (m, k), in float64."""
        return np.asarray(self.D[:, rows] / self.norms[rows], dtype=np.float64)

    def _cluster_bounds(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return h(c) + h(x − c) from above, with the centre c of the cluster of each row x."""
        centres = self.clusters.centres
        of_centres = sums_of_centres(centres, theta, metric.total)
        bounds = np.empty(len(rows))

        def task(start: int, stop: int) -> None:
            part = rows[start:stop]
            labels = self.clusters.labels[part]
            bounds[start:stop] = cluster_bounds(
                self._unit_rows(part), centres[:, labels], of_centres[labels], metric
            )

        with single_threaded_blas():
            for_slices(task, len(rows), even_slices(len(rows), ROWS_PER_SLICE))
        return bounds

    def _projection_bounds(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return h(y) + h(x − y) from above, with projections y onto a few directions."""
        return self._bounds_by_directions(theta, metric, rows, FEW_DIRECTIONS)

    def _finer_projection_bounds(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return the same with more directions."""
        return self._bounds_by_directions(theta, metric, rows, MORE_DIRECTIONS)

    def _bounds_by_directions(
        self, theta: Array, metric: Metric, rows: Array, n_directions: int
    ) -> Array:
        """Return the bounds by projections onto leading directions."""
        sample = self._unit_rows(_spread_sample(rows))
        projection = Projection.of(sample, metric, n_directions)
        coordinates = np.empty((projection.basis.shape[1], len(rows)))
        bounds = np.empty(len(rows))

        def task(start: int, stop: int) -> None:
            X = self._unit_rows(rows[start:stop])
            coordinates[:, start:stop], bounds[start:stop] = projection.split(X)

        with single_threaded_blas():
            for_slices(task, len(rows), even_slices(len(rows), ROWS_PER_SLICE))
        return np.asarray(bounds + projection.sums(coordinates, theta))

    def _rough_scores(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return scores in float32, with room for its rounding."""
        return rough_sums(self.D, self.norms, theta, rows, metric.total)

    def _exact_scores(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return scores in float64; the room for their rounding comes with the dual value."""
        return positive_sums(self.D, self.norms, theta, rows, np.float64)


def _more_directions_pay(n_rows: int, theta: Array) -> bool:
    """Whether a second projection saves time, for rows that the first one has left."""
    n_features, n_columns = theta.shape
    # a product in these directions must take much less time than the product itself
    if n_features <= 2 * MORE_DIRECTIONS:
        return False
    return bool(n_rows * n_columns >= FEWEST_PRODUCTS_FOR_MORE_DIRECTIONS)


def _spread_sample(rows: Array) -> Array:
    """Return a few thousand of the rows, evenly spread: enough to find directions."""
    every = max(1, len(rows) // ROWS_FOR_DIRECTIONS)
    return rows[::every]
