"""Upper bounds on the scores of rows on a device; :mod:`selfdict.model.scores` derives them.

Rows are scaled to unit length. Sums and products are taken in float64, in whatever order the device
prefers: the room for rounding allows for any.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.compute.device import Tensor, to_device
from selfdict.gpu.matrix import long_gram

# Entries that are computed at a time: 256 MiB of float64.
_BLOCK_ENTRIES = 1 << 25
# Leading directions in which the distances between rows are taken.
_N_COORDINATES = 12


def metric_sums(theta: Tensor) -> tuple[float, Array, Array]:
    """Return A = Σ_j ‖θ_j‖, Σ_j θ_j and S = Σ_j θ_jθ_jᵀ/‖θ_j‖ for θ (m, l)."""
    torch = optional("torch")
    columns = theta.T
    m = columns.shape[1]
    moments = columns.new_zeros((m, m))
    magnitudes = torch.linalg.vector_norm(columns, dim=1)
    # A column of zeros adds nothing.
    root = torch.where(magnitudes > 0, magnitudes, 1.0).rsqrt()
    for part in blocks(len(columns), m):
        moments += long_gram(columns[part] * root[part, None])
    mean = columns.sum(dim=0)
    return float(magnitudes.sum()), mean.cpu().numpy(), moments.cpu().numpy()


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Divide rows into portions of a limited size."""
    size = max(1, _BLOCK_ENTRIES // width)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


@dataclass(frozen=True, eq=False)
class Clusters:
    """A partition of rows of unit length."""

    labels: Tensor  # (d,): the cluster of each row
    # (C, m): any centres give valid bounds: these are means, in the leading directions of the rows
    centres: Tensor

    @classmethod
    def of(cls, rows: Tensor, lengths: Tensor) -> "Clusters":
        """Cluster the rows (d, m) divided by their lengths: two rounds of k-means.

        There are about 16√d clusters: the time for their scores and that for the rows they leave
        undecided are then of the same order.
        """
        d = len(rows)
        count = min(d, int(16 * np.sqrt(d)))
        directions = _leading_directions(rows, lengths)
        coordinates = (rows @ directions / lengths[:, None]).float()
        start = np.random.default_rng(0).choice(d, count, replace=False)
        centres = coordinates[to_device(start, rows.device)]
        labels = _nearest(coordinates, centres)
        for _ in range(2):
            centres = _means(coordinates, labels, centres)
            labels = _nearest(coordinates, centres)
        return cls(labels, centres.double() @ directions.T)

    @cached_property
    def norms(self) -> Tensor:
        """‖c‖ of the centres, (C,)."""
        return optional("torch").linalg.vector_norm(self.centres, dim=1)


def _leading_directions(rows: Tensor, lengths: Tensor) -> Tensor:
    """Return the leading directions of rows of unit length, (m, q)."""
    m = rows.shape[1]
    moments = rows.new_zeros((m, m))
    for part in blocks(len(rows), m):
        moments += long_gram(rows[part] / lengths[part, None])
    vectors = np.linalg.eigh(moments.cpu().numpy())[1]
    return to_device(vectors[:, ::-1][:, : min(m, _N_COORDINATES)], rows.device)


def _nearest(coordinates: Tensor, centres: Tensor) -> Tensor:
    """Return the nearest centre of each point, (d,)."""
    torch = optional("torch")
    labels = torch.empty(len(coordinates), dtype=torch.int64, device=coordinates.device)
    half_squares = 0.5 * centres.square().sum(dim=1)
    for part in blocks(len(coordinates), len(centres)):
        labels[part] = (coordinates[part] @ centres.T - half_squares).argmax(dim=1)
    return labels


def _means(coordinates: Tensor, labels: Tensor, centres: Tensor) -> Tensor:
    """Return the mean of each cluster; that of an empty one stays where it was."""
    # In memory: sums of floating-point numbers by label have no fixed order on a device.
    points = coordinates.cpu().numpy()
    clusters = labels.cpu().numpy()
    means = centres.cpu().numpy().copy()
    sizes = np.bincount(clusters, minlength=len(means))
    is_used = sizes > 0
    for k in range(points.shape[1]):
        sums = np.bincount(clusters, weights=points[:, k], minlength=len(means))
        means[is_used, k] = sums[is_used] / sizes[is_used]
    return to_device(means, centres.device)


def cluster_bounds(
    rows: Tensor,  # (d, m): x times its length
    lengths: Tensor,  # (d,)
    clusters: Clusters,
    of_centres: Tensor,  # (C,): h(c), from above
    *,
    total: float,
    mean: Array,
    factor: Array,
    rounding: float,
) -> Tensor:
    """Return h(c) + h(x − c) from above, (d,), for the centres c of the clusters of rows x.

    The keyword arguments are attributes of :class:`selfdict.model.scores.Metric`.
    """
    torch = optional("torch")
    device = rows.device
    sums = to_device(mean, device)
    L = to_device(factor, device)
    size = 1.0 + clusters.norms
    of_cluster = of_centres + rounding * total * size
    bounds = torch.empty_like(lengths)
    for part in blocks(len(rows), rows.shape[1]):
        labels = clusters.labels[part]
        difference = rows[part] / lengths[part, None] - clusters.centres[labels]
        norms = torch.linalg.vector_norm(difference @ L, dim=1)
        inner = difference @ sums
        bounds[part] = of_cluster[labels] + 0.5 * (inner + np.sqrt(total) * norms)
    return bounds
