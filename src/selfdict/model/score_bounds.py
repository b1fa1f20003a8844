"""Upper bounds on the scores of rows, so that only few rows need their exact score.

With rows and columns scaled to w = 1, the score of a row x is h(x) = Σ_j max(0, xᵀθ_j), apart from
its own column, which only lowers it. h is convex and positively homogeneous, so for every y

    h(x) ≤ h(y) + h(x − y).

The second term is bounded by the inequality of Cauchy and Schwarz, with a_j = ‖θ_j‖:

    h(d) = ½ (dᵀΣ_jθ_j + Σ_j|dᵀθ_j|) ≤ ½ (dᵀΣ_jθ_j + √A √(dᵀS d)),
    A = Σ_j a_j,  S = Σ_j θ_jθ_jᵀ/a_j.

Two choices of y follow one another. First the centre of the row's cluster: the scores of a few
centres serve for all rows. Rows that are not decided then are projected onto a few directions that
are leading in the metric S, where a product takes a tenth of the time. What is left gets its score
in float32, and only rows near their penalty or above it get one in float64.

Rounding counts: every bound has room for what rounding may have done to it, so it is a proof. All
of it is relative to A times the length of the vectors, as derived at :meth:`Metric.remainder`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.dual import dot_error
from selfdict.model.row_clusters import RowClusters
from selfdict.model.screening import TILE_COLUMNS, positive_sums

SINGLE_ROUNDOFF = 2.0**-24
# with fewer rows, or columns per feature, all scores take less time than the bounds
FEWEST_ROWS = 4000
COLUMNS_PER_FEATURE = 32
# rows are taken through the bounds in slices of this many
ROWS_PER_SLICE = 2048
# directions of the second bound: the kernel for few features is fastest up to 16
N_DIRECTIONS = 16
# a row is decided if its bound is below this part of its penalty; the scaling c of the dual value,
# which is one at the optimum, may then grow by the rest before such a row matters
DECIDED = 0.995


@dataclass(frozen=True)
class Metric:
    """What bounds h(d) for every d: A, Σθ_j, and L with LLᵀ ≥ S.

    Attributes
    ----------
    total : float
        A, from above.
    mean : (m,) ndarray
        Σ_j θ_j.
    factor : (m, m) ndarray
        L, lower triangular.
    rounding : float
        Room for rounding, relative to A and to the lengths of the vectors a remainder comes from.
    """

    total: float
    mean: Array
    factor: Array
    rounding: float

    @classmethod
    def of(cls, theta: Array) -> "Metric":
        """Return the metric of θ (m, l), which has at least one column that is not zero."""
        m, n_columns = theta.shape
        magnitudes = np.sqrt(squared_norms(theta))
        inverse = np.zeros(n_columns)
        np.divide(1.0, magnitudes, out=inverse, where=magnitudes > 0)

        def task(start: int, stop: int) -> tuple[Array, Array]:
            part = theta[:, start:stop]
            return (part * inverse[start:stop]) @ part.T, part.sum(axis=1)

        with single_threaded_blas():
            parts = for_slices(task, n_columns, 4 * ROWS_PER_SLICE)
        S = np.sum([part[0] for part in parts], axis=0)
        mean = np.sum([part[1] for part in parts], axis=0)
        total = float(magnitudes.sum()) * (1 + dot_error(n_columns))
        # The errors of S and of its factor are at most these multiples of A, as norms: a multiple
        # of the identity makes LLᵀ at least S in spite of them.
        ridge = 2 * dot_error(n_columns) + 4 * m * dot_error(m)
        factor = np.linalg.cholesky(S + ridge * total * np.eye(m))
        return cls(total, mean, factor, 2 * dot_error(n_columns + 2 * m))

    def remainder(self, difference: Array, size: Array) -> Array:
        """Return h(d) from above for the columns d of ``difference`` (m, k).

        ``size`` (k,) are at least the lengths of the vectors that d is the difference of, summed.
        The errors of Lᵀd, of Σθ_j and of its product with d are at most
        (γ_l + 2γ_m) A · size, since ‖L‖_F² ≤ (1 + small) A and ‖Σθ_j‖ ≤ A.
        """
        return self.bound(self.factor.T @ difference, self.mean @ difference, size)

    def bound(self, transformed: Array, inner: Array, size: Array) -> Array:
        """Return the same from Lᵀd, (m, k), and dᵀΣθ_j, (k,)."""
        norms = np.sqrt(np.einsum("ij,ij->j", transformed, transformed))
        room = self.rounding * self.total * size
        return np.asarray(0.5 * (inner + np.sqrt(self.total) * norms) + room)


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
        return _positive_norms(self.D)

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
        steps = [self._cluster_bounds, self._projection_bounds, self._rough_scores]
        if not rough:
            steps.append(self._exact_scores)
        for step in steps:
            if len(left) == 0:
                break
            scores[left] = lengths[left] * step(theta, metric, rows[left]) + own[left]
            left = left[scores[left] > DECIDED * penalty[left]]
            self.undecided[step.__name__] = len(left)
        return scores

    def _unit_rows(self, rows: Array) -> Array:
        """Return atoms of unit length, (m, k), in float64."""
        return np.asarray(self.D[:, rows] / self.norms[rows], dtype=np.float64)

    def _cluster_bounds(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return h(c) + h(x − c) from above, with the centre c of the cluster of each row x."""
        clusters = self.clusters
        centre_norms = _positive_norms(clusters.centres)
        of_centres = _rough_sums(clusters.centres, centre_norms, theta, None, metric.total)
        of_centres *= centre_norms
        bounds = np.empty(len(rows))

        def task(start: int, stop: int) -> None:
            part = rows[start:stop]
            labels = clusters.labels[part]
            difference = self._unit_rows(part)
            difference -= clusters.centres[:, labels]
            size = 1.0 + centre_norms[labels]
            bounds[start:stop] = of_centres[labels] + metric.remainder(difference, size)

        with single_threaded_blas():
            for_slices(task, len(rows), ROWS_PER_SLICE)
        return bounds

    def _projection_bounds(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return h(y) + h(x − y) from above, with projections y onto a few directions."""
        L = metric.factor
        directions = _leading_directions(self._unit_rows(_spread_sample(rows)), L)
        # y = P b with b = WᵀLᵀx; whatever P and b are as stored, x − P b is the remainder
        P = solve_triangular(L.T, directions, lower=False)
        transformed_P = L.T @ P
        mean_P = metric.mean @ P
        width = float(np.linalg.norm(P))
        coordinates = np.empty((P.shape[1], len(rows)))
        bounds = np.empty(len(rows))

        def task(start: int, stop: int) -> None:
            X = self._unit_rows(rows[start:stop])
            transformed = L.T @ X
            b = directions.T @ transformed
            coordinates[:, start:stop] = b
            inner = metric.mean @ X - mean_P @ b
            size = 1.0 + width * np.sqrt(np.einsum("ij,ij->j", b, b))
            bounds[start:stop] = metric.bound(transformed - transformed_P @ b, inner, 4 * size)

        with single_threaded_blas():
            for_slices(task, len(rows), ROWS_PER_SLICE)
        norms = _positive_norms(coordinates)
        projected = P.T @ theta
        reach = float(np.sqrt(squared_norms(projected)).sum())
        of_projections = norms * _rough_sums(coordinates, norms, projected, None, reach)
        return np.asarray(bounds + of_projections)

    def _rough_scores(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return scores in float32, with room for its rounding."""
        return _rough_sums(self.D, self.norms, theta, rows, metric.total)

    def _exact_scores(self, theta: Array, metric: Metric, rows: Array) -> Array:
        """Return scores in float64; the room for their rounding comes with the dual value."""
        return positive_sums(self.D, self.norms, theta, rows, np.float64)


def _rough_sums(D: Array, norms: Array, theta: Array, rows: Array | None, reach: float) -> Array:
    """Return Σ_j max(0, d_iᵀθ_j)/‖d_i‖ from above, computed in float32.

    ``reach`` is Σ_j ‖θ_j‖. Two vectors of length one and ‖θ_j‖ have each entry rounded, and their
    product n_terms times. A tile of columns is summed in float32. Underflow is covered, since the
    largest entry of θ is scaled to one.
    """
    sums = positive_sums(D, norms, theta, rows, np.float32)
    of_products = 2 * (len(theta) + 16) * SINGLE_ROUNDOFF * reach
    of_sums = 2 * (TILE_COLUMNS + 16) * SINGLE_ROUNDOFF * sums
    return np.asarray(sums + of_products + of_sums)


def _positive_norms(D: Array) -> Array:
    """Return the norms of the columns, where zero counts as one."""
    norms: Array = np.sqrt(squared_norms(D))
    norms[norms == 0] = 1.0
    return norms


def _spread_sample(rows: Array) -> Array:
    """Return at most 20,000 of the rows, evenly spread: enough to find directions."""
    every = max(1, len(rows) // 20_000)
    return rows[::every]


def _leading_directions(X: Array, L: Array) -> Array:
    """Return the leading directions of the columns of LᵀX, (m, q), orthonormal."""
    transformed = L.T @ X
    moments: Any = transformed @ transformed.T
    vectors: Array = np.linalg.eigh(moments)[1]
    return np.ascontiguousarray(vectors[:, ::-1][:, :N_DIRECTIONS])
