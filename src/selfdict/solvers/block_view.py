"""Looks at all rows of a block matrix: bounds and scores as sums over its blocks.

The steps are those of :class:`selfdict.model.score_bounds.ScoreBounds`. The multiplier θ of all
columns is never held: each pass fits the columns anew and adds up what they contribute.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.dual import (
    DualTerms,
    best_scaling,
    linear_from_below,
    quadratic_from_above,
    scores_from_above,
)
from selfdict.model.row_clusters import RowClusters
from selfdict.model.score_bounds import (
    DECIDED,
    ROWS_FOR_DIRECTIONS,
    ROWS_PER_SLICE,
    ScoreBounds,
)
from selfdict.model.score_metric import (
    Metric,
    MetricSums,
    Projection,
    cluster_bounds,
    positive_norms,
    rough_sums,
    sums_of_centres,
)
from selfdict.model.screening import positive_sums, summation_depth
from selfdict.solvers.block_gates import BlockFit, BlockGates, BlockPart
from selfdict.solvers.blocks import BlockColumns
from selfdict.solvers.view import RowScores

# the part of the tolerance that bounds may take from the dual value
SPENT = 0.3
# a search far from its end lets rows join that are this far above their penalty
LARGEST_SHARE = 1.05
# for smaller tolerances another pass, with scores in float64, is worth its time
SINGLE_ENOUGH = 1e-2


@dataclass(frozen=True)
class BlockRows:
    """The rows of a block matrix as candidates.

    Attributes
    ----------
    M : BlockColumns
    w, norms : (n,) ndarray of float64
        Weights of Ω, and ‖m_i‖₂.
    clusters : RowClusters
        Clusters of all rows.
    """

    M: BlockColumns
    w: Array
    norms: Array
    clusters: RowClusters

    def undecided(
        self, metric: Metric, of_centres: Array, own: Array, limit: Array
    ) -> tuple[Array, Array]:
        """Return the rows whose score may be above a limit by the bounds of their clusters.

        Their columns, (m, u), are returned, too.
        """
        task = _FindUndecided(metric, self.clusters.centres, of_centres)
        parts = self.M.slices(self.clusters.labels, self.w, own, limit)
        rows = []
        columns = []
        for start, (local, values) in zip(self.M.edges, self.M.blocks.run(task, parts)):
            rows.append(start + local)
            columns.append(values)
        found = np.concatenate(rows)
        gathered = np.concatenate(columns, axis=1)
        # rows that join, and comparisons of rows with each other, need these columns next
        self.M.remember(found, gathered)
        return found, gathered


@dataclass(frozen=True)
class _FindUndecided:
    """The task of a pass: which rows of a block their clusters do not decide."""

    metric: Metric
    centres: Array
    of_centres: Array

    def __call__(self, M: Array, part: tuple[Array, ...]) -> tuple[Array, Array]:
        labels, w, own, limit = part
        norms = positive_norms(M)
        bounds = np.empty(M.shape[1])

        def task(start: int, stop: int) -> None:
            X = np.asarray(M[:, start:stop] / norms[start:stop], dtype=np.float64)
            label = labels[start:stop]
            bounds[start:stop] = cluster_bounds(
                X, self.centres[:, label], self.of_centres[label], self.metric
            )

        with single_threaded_blas():
            for_slices(task, M.shape[1], ROWS_PER_SLICE)
        local = np.flatnonzero(norms / w * bounds + own > limit)
        return local, M[:, local]


class BlockBounds(ScoreBounds):
    """Scores of all rows of a block matrix, for θ of a sample in memory.

    Rows are decided up to ``share`` times their penalty. The dual value of a sample is no bound for
    the scene, and the search for the sample need not find rows that are hardly above their penalty.
    """

    def __init__(self, rows: BlockRows, share: float) -> None:
        super().__init__(rows.M, rows.w)  # type: ignore[arg-type]  # columns are read on demand
        self.rows = rows
        self.share = share

    @staticmethod
    def pay(n_rows: int, n_columns: int, n_features: int) -> bool:
        """Rows that are not in memory are always bounded."""
        return True

    def scores(
        self, theta: Array, penalty: Array, own: Array, rows: Array | None, rough: bool
    ) -> Array:
        """Return scores of all rows that are not decided, and 0.995 of the penalty of others."""
        if not theta.any():
            return decided_scores(penalty)
        limit = self.share * penalty
        bounds = np.where(np.isfinite(limit), limit, 0.0)
        metric = Metric.of(theta)
        of_centres = sums_of_centres(self.rows.clusters.centres, theta, metric.total)
        own = np.broadcast_to(own, penalty.shape)
        undecided, columns = self.rows.undecided(metric, of_centres, own, limit)
        gathered = ScoreBounds(columns, self.rows.w[undecided])
        left = np.arange(len(undecided))
        steps = [gathered._projection_bounds, gathered._rough_scores]
        if not rough:
            steps.append(gathered._exact_scores)
        for step in steps:
            if len(left) == 0:
                break
            rows = undecided[left]
            lengths = self.rows.norms[rows] / self.rows.w[rows]
            bounds[rows] = lengths * step(theta, metric, left) + own[rows]
            left = left[bounds[rows] > limit[rows]]
        return scores_for_search(bounds, limit, penalty)


def decided_scores(penalty: Array) -> Array:
    """Return what rows that are decided get as their score."""
    return np.where(np.isfinite(penalty), DECIDED * penalty, 0.0)


def scores_for_search(bounds: Array, limit: Array, penalty: Array) -> Array:
    """Return bounds as scores: rows that are decided must not join, even if they are above μp."""
    return np.where(bounds > limit, bounds, np.minimum(bounds, decided_scores(penalty)))


class BlockView:
    """The fit of all columns of a block matrix, for the screening of its rows.

    It has the interface of :class:`selfdict.solvers.view.View`. Bounds may take ``SPENT`` of the
    tolerance ``tol`` of the search.
    """

    def __init__(self, gates: BlockGates, penalty: Array, rows: BlockRows, tol: float) -> None:
        self.gates = gates
        self.penalty = penalty
        self.rows = rows
        self.tol = tol
        self.task = gates.block_fit(gates.t)
        sums = _FitSums(self.task, rows.clusters.centres)
        answers = list(self._run(sums))
        self.inner = np.concatenate([answer.inner for answer in answers])
        self.linear = math.fsum(answer.linear for answer in answers)
        self.quadratic = math.fsum(answer.quadratic for answer in answers)
        self.reach = math.fsum(answer.metric.total for answer in answers)
        self.metric_sums = answers[0].metric
        for answer in answers[1:]:
            self.metric_sums += answer.metric
        self.of_centres = np.sum([answer.of_centres for answer in answers], axis=0)
        self.objective = 0.5 * self.quadratic + float(penalty[gates.atoms] @ gates.t)

    def _run(self, task: Any) -> Iterable[Any]:
        return self.rows.M.blocks.run(task, self.gates.parts())

    def screen(self, rows: Array | None, rough: bool) -> RowScores:
        """Return the scores of all rows, where bounds do not decide them, and the dual value."""
        penalty = self.penalty
        limit = self._decided_share() * penalty
        bounds = np.where(np.isfinite(limit), limit, 0.0)
        if self.reach > 0:
            self._lower(bounds, limit, rough)
        n_columns = self.rows.M.shape[1]
        n_summed = summation_depth(n_columns, None) + len(self.rows.M.blocks.sizes)
        above = scores_from_above(
            bounds, self.reach, self.gates.atom_lengths, self.rows.M.shape[0], n_summed
        )
        terms = DualTerms(self.linear, self.quadratic, above)
        c, value = terms.best_scaling(penalty)
        return RowScores(scores_for_search(bounds, limit, penalty), terms, c, value)

    def _decided_share(self) -> float:
        """Return the part of its penalty up to which a score need not be known.

        The open rows alone give the dual value its largest c, and scores up to penalty/c lower
        neither. D is concave and D(0) = 0, so a smaller c loses at most the same part of D.
        """
        atoms = self.gates.atoms
        scores = -self.gates.gradient
        c, _ = best_scaling(self.linear, self.quadratic, scores, self.penalty[atoms])
        if c <= 0:
            return DECIDED
        share = (1 + SPENT * self.tol) / c
        return min(max(share, DECIDED), LARGEST_SHARE)

    def _lower(self, bounds: Array, limit: Array, rough: bool) -> None:
        """Lower the bounds of rows that are not decided, step by step, to their scores."""
        metric = Metric.from_sums(self.metric_sums)
        own = np.minimum(self.inner, 0.0)
        left, columns = self.rows.undecided(metric, self.of_centres, own, limit)
        steps = ["projection", "float32"]
        if not rough and self.tol < SINGLE_ENOUGH:
            steps.append("float64")
        for step in steps:
            if len(left) == 0:
                return
            norms = self.rows.norms[left]
            X = np.asarray(columns / norms, dtype=np.float64)
            if step == "projection":
                sums = self._projection_bounds(X, metric)
            else:
                sums = self._sums(X, np.dtype(step))
            bounds[left] = norms / self.rows.w[left] * sums + own[left]
            is_left = bounds[left] > limit[left]
            left = left[is_left]
            columns = columns[:, is_left]

    def _projection_bounds(self, X: Array, metric: Metric) -> Array:
        """Return the bounds by a few directions for rows X (m, u) of unit length."""
        every = max(1, X.shape[1] // ROWS_FOR_DIRECTIONS)
        projection = Projection.of(X[:, ::every], metric)
        coordinates = np.empty((projection.basis.shape[1], X.shape[1]))
        bounds = np.empty(X.shape[1])

        def task(start: int, stop: int) -> None:
            coordinates[:, start:stop], bounds[start:stop] = projection.split(X[:, start:stop])

        with single_threaded_blas():
            for_slices(task, X.shape[1], ROWS_PER_SLICE)
        for sums in self._run(_ProjectedSums(self.task, projection, coordinates)):
            bounds += sums
        return bounds

    def _sums(self, X: Array, dtype: Any) -> Array:
        """Return Σ_j max(0, xᵀθ_j) of rows X (m, u) of unit length, from above in float32."""
        total = np.zeros(X.shape[1])
        for sums in self._run(_RowSums(self.task, X.astype(dtype), dtype)):
            total += sums
        return total


@dataclass(frozen=True)
class _SumsOfBlock:
    """What a block adds to the dual value, and to the bounds on scores."""

    inner: Array
    linear: float
    quadratic: float
    metric: MetricSums
    of_centres: Array


@dataclass(frozen=True)
class _FitSums:
    """The task of a pass: what does not depend on the rows but on their clusters."""

    fit: BlockFit
    centres: Array

    def __call__(self, M: Array, part: BlockPart) -> _SumsOfBlock:
        inner = []
        linear = []
        quadratic = []
        sums = []
        of_centres = np.zeros(self.centres.shape[1])
        for fitted in self.fit.fitted(M, part):
            R = fitted.residual()
            inner.append(np.einsum("ij,ij->j", R, fitted.M))
            square = squared_norms(R)
            data_norms = np.sqrt(squared_norms(fitted.M))
            linear.append(linear_from_below(inner[-1], np.sqrt(square), data_norms, len(M)))
            quadratic.append(quadratic_from_above(square, len(M)))
            R *= fitted.w
            metric = MetricSums.of(R)
            sums.append(metric)
            of_centres += sums_of_centres(self.centres, R, metric.total)
        total = sums[0]
        for metric in sums[1:]:
            total += metric
        return _SumsOfBlock(
            np.concatenate(inner), math.fsum(linear), math.fsum(quadratic), total, of_centres
        )


@dataclass(frozen=True)
class _ProjectedSums:
    """The task of a pass: what a block adds to the scores of projections, from above."""

    fit: BlockFit
    projection: Projection
    coordinates: Array

    def __call__(self, M: Array, part: BlockPart) -> Array:
        total = np.zeros(self.coordinates.shape[1])
        for fitted in self.fit.fitted(M, part):
            total += self.projection.sums(self.coordinates, fitted.residual() * fitted.w)
        return total


@dataclass(frozen=True)
class _RowSums:
    """The task of a pass: what a block adds to the scores of rows of unit length."""

    fit: BlockFit
    X: Array
    dtype: Any

    def __call__(self, M: Array, part: BlockPart) -> Array:
        ones = np.ones(self.X.shape[1])
        total = np.zeros(self.X.shape[1])
        for fitted in self.fit.fitted(M, part):
            theta = fitted.residual() * fitted.w
            if self.dtype == np.float64:
                total += positive_sums(self.X, ones, theta, None, np.float64)
            else:
                reach = float(np.sqrt(squared_norms(theta)).sum())
                total += rough_sums(self.X, ones, theta, None, reach)
        return total
