"""Scores of rows on a device, exact only where an upper bound does not decide."""

from functools import cached_property
from typing import Any

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.gpu.score_bounds import Clusters, cluster_bounds, metric_sums
from selfdict.gpu.screening import Screen, plain_sums
from selfdict.model.dual import dot_error
from selfdict.model.score_bounds import DECIDED
from selfdict.model.score_metric import Metric, MetricSums

# pairs of rows and columns up to which a GPU scores all rows in less time than it takes to bound
# them: a pass in float64 takes about 20 ms for so many
FEWEST_PAIRS = 2e9


class DeviceBounds:
    """Scores of the rows of a dictionary, with the interface of :class:`ScoreBounds`.

    A GPU multiplies so fast that bounds by clusters are the only ones that pay: what they leave
    undecided is scored at once.

    Parameters
    ----------
    screen : Screen
        The atoms on the device.

    Attributes
    ----------
    n_undecided : int
        How many rows of the last call were scored.
    """

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self.n_undecided = 0

    @staticmethod
    def pay(n_rows: int, n_columns: int, n_features: int) -> bool:
        """Whether there are enough rows and columns for bounds to save time."""
        return n_rows * n_columns >= FEWEST_PAIRS

    @cached_property
    def lengths(self) -> Any:
        """‖d_i‖₂/v_i of all atoms, where zero counts as one."""
        torch = optional("torch")
        lengths = torch.linalg.vector_norm(self.screen.left, dim=1)
        return torch.where(lengths > 0, lengths, 1.0)

    @cached_property
    def clusters(self) -> Clusters:
        """Clusters of the atoms scaled to unit length."""
        return Clusters.of(self.screen.left, self.lengths)

    def scores(
        self, theta: Any, penalty: Array, own: Array, rows: Array | None, rough: bool
    ) -> Array:
        """Return scores of rows, or upper bounds on them that are below 0.995 of the penalty.

        Parameters and result are those of :meth:`ScoreBounds.scores`; θ is a tensor.
        """
        index: Any = slice(None)
        if rows is not None:
            index = rows
        bounds = self._bounds(theta)
        if bounds is None:
            return np.zeros(len(penalty))
        own = np.broadcast_to(own, penalty.shape)
        scores: Array = bounds[index] + own
        left = np.flatnonzero(scores > DECIDED * penalty)
        self.n_undecided = len(left)
        selected = left
        if rows is not None:
            selected = rows[left]
        dtype: Any = np.float64
        if rough:
            dtype = np.float32
        scores[left] = self.screen.positive_sums(theta, selected, dtype) + own[left]
        return scores

    def _bounds(self, theta: Any) -> Array | None:
        """Return bounds on the sums of positive parts of all rows; None if θ is zero."""
        m, n_columns = theta.shape
        total, mean, moments = metric_sums(theta)
        if total == 0:
            return None
        metric = Metric.from_sums(MetricSums(total, mean, moments, n_columns))
        clusters = self.clusters
        of_centres = plain_sums(clusters.centres, theta, np.float64)
        of_centres += 2 * dot_error(m + n_columns) * metric.total * clusters.norms
        bounds = self.lengths * cluster_bounds(
            self.screen.left,
            self.lengths,
            clusters,
            of_centres,
            total=metric.total,
            mean=metric.mean,
            factor=metric.factor,
            rounding=metric.rounding,
        )
        on_host: Array = bounds.cpu().numpy()
        return on_host
