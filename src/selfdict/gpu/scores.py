"""Scores of rows on a device: sums of the positive parts of (M/w)ᵀθ, and what bounds on them need.

:mod:`selfdict.model.scores` derives the bounds. Their rows are scaled to unit length; sums and
products are taken in float64, in whatever order the device prefers: the room for rounding allows
for any.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from selfdict._imports import optional
from selfdict._validation import Array, is_tensor
from selfdict.compute.device import Device, Tensor, long_gram, row_blocks, to_device
from selfdict.compute.linear_algebra import means_by_label

# Entries of the product that are computed at a time: 1 GiB of float64.
_SCREENING_BLOCK_ENTRIES = 1 << 27
_TILE_ROWS = 128  # of the product in float64


class Screen:
    """The rows of (M/w)ᵀ on a device, ready to be multiplied."""

    def __init__(self, M: "Array | Tensor", w: Array, device: Device) -> None:
        self.device = device
        left = to_device(M, device, np.float64) / to_device(w, device)
        self.left = left.T.contiguous()

    def positive_sums(self, theta: "Array | Tensor", rows: Array | None, dtype: DTypeLike) -> Array:
        """Return Σ_j max(0, (m_i/w_i)ᵀθ_j) for the rows i (None: all), multiplied in ``dtype``.

        θ (m, l) is an array, or a tensor on the device. Sums are taken in float64.
        """
        if not is_tensor(theta):
            theta = to_device(theta, self.device)
        index: slice | Tensor = slice(None)
        if rows is not None:
            index = to_device(rows, self.device)
        scores: Array = positive_sums(self.left[index], theta, dtype).cpu().numpy()
        return scores


def positive_sums(left: Tensor, theta: Tensor, dtype: DTypeLike) -> Tensor:
    """Return Σ_j max(0, left_iᵀθ_j), a block of rows of the product at a time."""
    torch = optional("torch")
    unit = 1.0
    if dtype == np.float32:
        # Far from overflow, whatever the unit of M.
        unit = float(theta.abs().max()) or 1.0
        left = left.float()
        theta = (theta / unit).float()
    sums = torch.empty(len(left), dtype=torch.float64, device=left.device)
    rows = max(1, _SCREENING_BLOCK_ENTRIES // theta.shape[1])
    if rows > _TILE_ROWS:
        rows -= rows % _TILE_ROWS  # a part of a tile takes as long as a whole one
    # max(0, v) = (v + |v|)/2: the sum of v is a product with a vector, and that of |v| reads the
    # block once.
    sums[:] = (left.double() @ theta.double().sum(dim=1)) / 2
    for start in range(0, len(left), rows):
        V = left[start : start + rows] @ theta
        absolute = torch.linalg.vector_norm(V, 1, dim=1, dtype=torch.float64)
        sums[start : start + rows] += absolute / 2
    return unit * sums


def metric_sums(theta: Tensor) -> tuple[float, Array, Array]:
    """Return A = Σ_j ‖θ_j‖, Σ_j θ_j and S = Σ_j θ_jθ_jᵀ/‖θ_j‖ for θ (m, l)."""
    torch = optional("torch")
    columns = theta.T
    magnitudes = torch.linalg.vector_norm(columns, dim=1)
    # A column of zeros adds nothing.
    root = torch.where(magnitudes > 0, magnitudes, 1.0).sqrt()
    mean = columns.sum(dim=0)
    return float(magnitudes.sum()), mean.cpu().numpy(), _moments(columns, root)


def _moments(rows: Tensor, lengths: Tensor) -> Array:
    """Return Σ x xᵀ (m, m) of the rows (d, m) divided by their lengths."""
    moments = rows.new_zeros((rows.shape[1],) * 2)
    for part in row_blocks(*rows.shape):
        moments += long_gram(rows[part] / lengths[part, None])
    total: Array = moments.cpu().numpy()
    return total


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
        # Distances between rows are taken in their leading directions.
        vectors = np.linalg.eigh(_moments(rows, lengths))[1]
        directions = to_device(vectors[:, ::-1][:, :12], rows.device)
        coordinates = (rows @ directions / lengths[:, None]).float()
        start = np.random.default_rng(0).choice(d, count, replace=False)
        centres = coordinates[to_device(start, rows.device)]
        labels = _nearest(coordinates, centres)
        for _ in range(2):
            centres = _means(coordinates, labels, centres)
            labels = _nearest(coordinates, centres)
        return cls(labels, centres.double() @ directions.T)


def _nearest(coordinates: Tensor, centres: Tensor) -> Tensor:
    """Return the nearest centre of each point, (d,)."""
    torch = optional("torch")
    labels = torch.empty(len(coordinates), dtype=torch.int64, device=coordinates.device)
    half_squares = 0.5 * centres.square().sum(dim=1)
    for part in row_blocks(len(coordinates), len(centres)):
        labels[part] = (coordinates[part] @ centres.T - half_squares).argmax(dim=1)
    return labels


def _means(coordinates: Tensor, labels: Tensor, centres: Tensor) -> Tensor:
    """Return the mean of each cluster; that of an empty one stays where it was."""
    # in memory: sums of floating-point numbers by label have no fixed order on a device
    points, old = (array.cpu().numpy().T for array in (coordinates, centres))
    return to_device(means_by_label(points, labels.cpu().numpy(), old).T, centres.device)
