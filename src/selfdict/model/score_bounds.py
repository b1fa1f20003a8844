"""Scores of rows, exact only where an upper bound does not decide.

The steps are those of :doc:`/mathematics`: clusters, directions, more directions, float32, float64.
θ and the rows may be in memory, on a device or in blocks: :class:`ColumnSums` and :class:`Rows` are
what the bounds need of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array, is_tensor
from selfdict.compute.device import Device, Tensor, to_device
from selfdict.compute.threads import even_slices, for_slices, single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.model.scores import (
    FEW_DIRECTIONS,
    MORE_DIRECTIONS,
    ROWS_PER_SLICE,
    Metric,
    MetricSums,
    Projection,
    RowClusters,
    UnitRows,
    bounds_by_clusters,
    positive_norms,
    positive_sums,
    rough_sums,
    summation_depth,
)

# with fewer products of rows and columns, scores take less time than a second projection
FEWEST_PRODUCTS_FOR_MORE_DIRECTIONS = 10**8
# with fewer rows, or columns per feature, all scores take less time than the bounds
FEWEST_ROWS = 4000
COLUMNS_PER_FEATURE = 16
# with fewer rows a projection takes less time than their clusters
FEWEST_ROWS_FOR_CLUSTERS = 20_000
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

    def row_sums(self, rows: UnitRows, reach: float, rough: bool) -> Array:
        """Return h(x) computed in float64; ``rough``: in float32, and from above in memory."""


class Rows(Protocol):
    """The atoms of a dictionary, each a row of X that may open, wherever they are."""

    @property
    def v(self) -> Array:
        """The positive weights of the atoms, (d,)."""

    @property
    def lengths(self) -> Array:
        """‖d_i‖₂/v_i, (d,)."""

    def worthwhile(self, n_columns: int) -> bool:
        """Whether bounds in few directions save time for this many columns of θ."""

    def steps(self, n_rows: int, n_columns: int, rough: bool) -> Sequence[Step]:
        """Return the steps that save time for so many rows; ``rough``: float32 is enough."""

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
        n_features, n_columns = theta.shape
        for step in self.rows.steps(len(left), n_columns, rough):
            if len(left) == 0:
                break
            if step is Step.MORE_DIRECTIONS:
                # a product in these directions must take much less time than the product itself
                is_short = len(left) * n_columns < FEWEST_PRODUCTS_FOR_MORE_DIRECTIONS
                if is_short or n_features <= 2 * MORE_DIRECTIONS:
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
        # the room for rounding in float64 comes with the dual value
        return theta.row_sums(self.rows.unit(rows), metric.total, rough=step is Step.SINGLE)

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

    def row_sums(self, rows: UnitRows, reach: float, rough: bool) -> Array:
        if rough:
            return rough_sums(rows.D, rows.norms, self.theta, rows.index, reach)
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
    def atoms(self) -> Tensor:
        """The atoms scaled to v = 1, (d, m), on the device."""
        scaled = to_device(self.D, self.device, np.float64) / to_device(self.v, self.device)
        return scaled.T.contiguous()

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
    def bounded(self) -> bool:
        """Whether there are bounds on the scores of these rows."""
        return self.device is None and not issparse(self.D)

    def worthwhile(self, n_columns: int) -> bool:
        if not self.bounded:
            return False
        return len(self.v) >= FEWEST_ROWS and n_columns >= COLUMNS_PER_FEATURE * len(self.D)

    def steps(self, n_rows: int, n_columns: int, rough: bool) -> Sequence[Step]:
        steps = [Step.SINGLE]
        if self.worthwhile(n_columns):
            steps = [Step.DIRECTIONS, Step.MORE_DIRECTIONS, Step.SINGLE]
            if n_rows >= FEWEST_ROWS_FOR_CLUSTERS:
                steps.insert(0, Step.CLUSTERS)
        if not rough:
            steps.append(Step.DOUBLE)
        return steps

    def values(self, rows: Array) -> Array:
        return dense_columns(self.D, rows)

    def unit(self, rows: Array) -> UnitRows:
        return UnitRows(self.D, self.norms, rows)

    def positive_sums(self, theta: Array, rows: Array | None, dtype: type) -> Array:
        if self.device is None:
            return positive_sums(self.D, self.v, theta, rows, dtype)
        from selfdict.gpu import columns as on_device

        left = self.atoms
        if rows is not None:
            left = left[to_device(rows, self.device)]
        if not is_tensor(theta):
            theta = to_device(theta, self.device)
        sums: Array = on_device.positive_sums(left, theta, dtype).cpu().numpy()
        return sums

    def summation_depth(self, n_columns: int) -> int:
        return summation_depth(n_columns, self.device)

    def cluster_bounds(self, theta: ColumnSums, metric: Metric, rows: Array, most: Array) -> Array:
        centres = self.clusters.centres
        labels = self.clusters.labels[rows]
        of_centres = theta.sums_of_centres(centres, metric.total)
        return bounds_by_clusters(self.unit(rows), labels, centres, of_centres, metric)


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
