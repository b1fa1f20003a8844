"""Scores of rows, exact only where an upper bound does not decide.

With rows and columns scaled to w = 1, the score of a row x is h(x) = Σ_j max(0, xᵀθ_j), apart from
its own column, which only lowers it. :mod:`selfdict.model.scores` bounds it by
h(y) + h(x − y), and two choices of y follow one another. First the centre of the row's cluster: the
scores of a few centres serve for all rows. Rows that are not decided then are projected onto a few
directions that are leading in the metric of θ, where a product takes a tenth of the time, and where
many are left, onto twice as many. What is left gets its score in float32, and only rows near their
penalty or above it get one in float64.

θ and the rows may be in memory, on a device or in blocks: :class:`ColumnSums` and :class:`Rows` are
what the bounds need of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import even_slices, for_slices, single_threaded_blas
from selfdict.model.scores import (
    FEW_DIRECTIONS,
    MORE_DIRECTIONS,
    Metric,
    MetricSums,
    Projection,
)

# with fewer products of rows and columns, scores take less time than a second projection
FEWEST_PRODUCTS_FOR_MORE_DIRECTIONS = 10**8
# rows are taken through the bounds in slices of this many
ROWS_PER_SLICE = 2048
# rows that leading directions are taken of, at most twice as many
ROWS_FOR_DIRECTIONS = 2000
# a row is decided if its bound is below this part of its penalty; the scaling c of the dual value,
# which is one at the optimum, may then grow by the rest before such a row matters
DECIDED = 0.995


class Step(Enum):
    """What bounds scores, the cheapest first."""

    CLUSTERS = "clusters"
    DIRECTIONS = "directions"
    MORE_DIRECTIONS = "more directions"
    SINGLE = "float32"
    DOUBLE = "float64"


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


class ColumnSums(Protocol):
    """Sums over the columns of a multiplier θ (m, l), wherever these are."""

    @property
    def shape(self) -> tuple[int, int]:
        """(m, l)."""

    def metric_sums(self) -> MetricSums:
        """Return what the metric of θ is made of."""

    def sums_of_centres(self, centres: Array, reach: float) -> Array:
        """Return h(c) from above for the centres of clusters; ``reach`` is Σ_j ‖θ_j‖."""

    def projected_sums(self, projection: Projection, coordinates: Array) -> Array:
        """Return h(P b) from above for the columns b of ``coordinates``."""

    def rough_sums(self, rows: UnitRows, reach: float) -> Array:
        """Return h(x) computed in float32, from above unless the rows say otherwise."""

    def exact_sums(self, rows: UnitRows) -> Array:
        """Return h(x) computed in float64."""


class Rows(Protocol):
    """The atoms of a dictionary, each a row of X that may open, wherever they are."""

    @property
    def v(self) -> Array:
        """The positive weights of the atoms, (d,)."""

    @property
    def lengths(self) -> Array:
        """‖d_i‖₂/v_i, (d,)."""

    @property
    def fewest_for_clusters(self) -> int:
        """With fewer rows, bounds by clusters take more time than they save."""

    def worthwhile(self, n_columns: int) -> bool:
        """Whether bounds in few directions save time for this many columns of θ."""

    def steps(self, rough: bool) -> Sequence[Step]:
        """Return the steps that save time here; ``rough``: float32 is enough."""

    def values(self, rows: Array) -> Array:
        """Return some atoms as they are given, (m, k), as a dense array."""

    def unit(self, rows: Array) -> UnitRows:
        """Return some atoms to be scaled to unit length."""

    def positive_sums(self, theta: Array, rows: Array | None, dtype: type) -> Array:
        """Return Σ_j max(0, (d_i/v_i)ᵀθ_j) for some rows (None: all), multiplied in ``dtype``."""

    def summation_depth(self, n_columns: int) -> int:
        """Return how many additions such a sum has gone through, at most."""

    def cluster_bounds(self, theta: ColumnSums, metric: Metric, rows: Array, most: Array) -> Array:
        """Return h(c) + h(x − c) from above, with the centre c of the cluster of each row x.

        The values of rows whose bound exceeds ``most`` (k,) will be asked for next.
        """


class ScoreBounds:
    """Scores of the rows of a dictionary, exact only where a bound does not decide.

    ``undecided`` tells how many rows each step of the last call has left for the next one.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.undecided: dict[str, int] = {}

    def scores(
        self,
        theta: ColumnSums,
        penalty: Array,
        own: Array,
        rough: bool,
        share: float = DECIDED,
    ) -> Array:
        """Return scores of all rows, or upper bounds that are below ``share`` of the penalty.

        ``penalty`` (d,) are the slopes π_i'(0), infinite for rows that do not count. ``own`` (d,)
        or (1,) is what the own column of each row adds to the sum of positive parts, ≤ 0.
        ``rough``: scores in float32 are enough.
        """
        own = np.broadcast_to(own, penalty.shape)
        scores = np.zeros(len(penalty))
        sums = theta.metric_sums()
        if sums.total == 0:
            return scores
        metric = Metric.from_sums(sums)
        lengths = self.rows.lengths
        limit = share * penalty
        left = np.flatnonzero(np.isfinite(penalty))
        self.undecided = {"rows": len(left)}
        for step in self.rows.steps(rough):
            if len(left) == 0:
                break
            if not self._pays(step, len(left), theta):
                continue
            most = np.divide(
                limit[left] - own[left],
                lengths[left],
                out=np.full(len(left), np.inf),
                where=lengths[left] > 0,
            )
            scores[left] = lengths[left] * self._bounds(step, theta, metric, left, most) + own[left]
            left = left[scores[left] > limit[left]]
            self.undecided[step.value] = len(left)
        return scores

    def _pays(self, step: Step, n_rows: int, theta: ColumnSums) -> bool:
        """Whether a step saves time for as many rows as are left."""
        if step in (Step.SINGLE, Step.DOUBLE):
            return True
        if not self.rows.worthwhile(theta.shape[1]):
            return False
        if step is Step.CLUSTERS:
            return n_rows >= self.rows.fewest_for_clusters
        if step is Step.MORE_DIRECTIONS:
            n_features, n_columns = theta.shape
            # a product in these directions must take much less time than the product itself
            if n_features <= 2 * MORE_DIRECTIONS:
                return False
            return n_rows * n_columns >= FEWEST_PRODUCTS_FOR_MORE_DIRECTIONS
        return True

    def _bounds(
        self, step: Step, theta: ColumnSums, metric: Metric, rows: Array, most: Array
    ) -> Array:
        """Return h of rows of unit length, from above; exact if the step is the last one."""
        if step is Step.CLUSTERS:
            return self.rows.cluster_bounds(theta, metric, rows, most)
        if step is Step.DIRECTIONS:
            return self._by_directions(theta, metric, rows, FEW_DIRECTIONS)
        if step is Step.MORE_DIRECTIONS:
            return self._by_directions(theta, metric, rows, MORE_DIRECTIONS)
        if step is Step.SINGLE:
            return theta.rough_sums(self.rows.unit(rows), metric.total)
        # the room for rounding comes with the dual value
        return theta.exact_sums(self.rows.unit(rows))

    def _by_directions(
        self, theta: ColumnSums, metric: Metric, rows: Array, n_directions: int
    ) -> Array:
        """Return h(y) + h(x − y) from above, with projections y onto leading directions."""
        # a few thousand rows, evenly spread, are enough to find directions
        every = max(1, len(rows) // ROWS_FOR_DIRECTIONS)
        unit = self.rows.unit(rows)
        projection = Projection.of(unit.take(slice(None, None, every)), metric, n_directions)
        coordinates = np.empty((projection.basis.shape[1], len(rows)))
        bounds = np.empty(len(rows))

        def task(start: int, stop: int) -> None:
            X = unit.take(slice(start, stop))
            coordinates[:, start:stop], bounds[start:stop] = projection.split(X)

        with single_threaded_blas():
            for_slices(task, len(rows), even_slices(len(rows), ROWS_PER_SLICE))
        return np.asarray(bounds + theta.projected_sums(projection, coordinates))
