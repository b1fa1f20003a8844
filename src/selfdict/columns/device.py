"""Columns on a device: the data, the entries and active sets of the fit, and θ stay there.

What there is per atom or per column lies in memory. What there is per atom and column, or per
feature and column, lies on the device. :mod:`selfdict.gpu` holds the kernels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from selfdict._imports import optional
from selfdict._validation import Array
from selfdict.columns.memory import DenseMultiplier, MemoryColumns
from selfdict.columns.protocol import own_atoms
from selfdict.compute.device import Device, Tensor, row_blocks, to_device
from selfdict.gpu.columns import Clusters, curvature, fit_columns, metric_sums, positive_sums
from selfdict.kernels.gates import GATE
from selfdict.model.dual import dot_error
from selfdict.model.score_bounds import ColumnSums, MemoryRows, Step
from selfdict.model.scores import Metric, MetricSums, Projection, UnitRows

# pairs of rows and columns up to which a GPU scores all rows in less time than it takes to bound
# them: a pass in float64 takes about 20 ms for so many
FEWEST_PAIRS = 2e9


class DeviceRows(MemoryRows):
    """The atoms of a dictionary D (m, d), with positive weights v (d,), on a device as well.

    A GPU multiplies so fast that bounds by clusters are the only ones that pay: what they leave
    undecided is scored at once.
    """

    @cached_property
    def lengths(self) -> Array:
        lengths: Array = _norms(self.atoms).cpu().numpy()
        return lengths

    @cached_property
    def positive_lengths(self) -> Tensor:
        """‖d_i‖₂/v_i on the device, where zero counts as one."""
        torch = optional("torch")
        lengths = _norms(self.atoms)
        return torch.where(lengths > 0, lengths, 1.0)

    @cached_property
    def device_clusters(self) -> Clusters:
        """Clusters of the atoms scaled to unit length."""
        return Clusters.of(self.atoms, self.positive_lengths)

    def worthwhile(self, n_columns: int) -> bool:
        return len(self.v) * n_columns >= FEWEST_PAIRS

    def steps(self, n_rows: int, n_columns: int, rough: bool) -> Sequence[Step]:
        if rough:
            return Step.CLUSTERS, Step.SINGLE
        return Step.CLUSTERS, Step.DOUBLE

    def unit(self, rows: Array) -> UnitRows:
        # only the norms are used: DeviceSums finds the atoms on the device
        return UnitRows(self.D, np.where(self.lengths > 0, self.lengths, 1.0), rows)

    def cluster_bounds(self, theta: ColumnSums, metric: Metric, rows: Array, most: Array) -> Array:
        torch = optional("torch")
        clusters = self.device_clusters
        centres = clusters.centres
        mean = to_device(metric.mean, self.device)
        factor = to_device(metric.factor, self.device)
        room = metric.rounding * metric.total * (1.0 + _norms(centres))
        of_centres = to_device(theta.sums_of_centres(centres, metric.total), self.device) + room
        bounds = torch.empty_like(self.positive_lengths)
        for part in row_blocks(*self.atoms.shape):
            labels = clusters.labels[part]
            difference = self.atoms[part] / self.positive_lengths[part, None] - centres[labels]
            remainder = difference @ mean + np.sqrt(metric.total) * _norms(difference @ factor)
            bounds[part] = of_centres[labels] + 0.5 * remainder
        on_host: Array = bounds.cpu().numpy()
        return on_host[rows]


class DeviceColumns(MemoryColumns):
    """Columns in memory, and scaled to w = 1 on a device: ``values`` (n, m) of float64."""

    rows: DeviceRows

    def __init__(
        self,
        M: Array,
        w: Array,
        s: Array,
        rows: DeviceRows,
        values: Tensor,
        is_tied: bool,
        indices: Array | None = None,
    ) -> None:
        super().__init__(M, w, s, rows, is_tied=is_tied, indices=indices)
        self.values = values

    @classmethod
    def of(
        cls, M: Array, w: Array, s: Array, atoms: Array, v: Array, is_tied: bool, device: Device
    ) -> "DeviceColumns":
        """Put all columns M (m, n) and their atoms (m, d) on a device."""
        rows = DeviceRows(atoms, v, device)
        values = rows.atoms
        if not is_tied:
            scaled = to_device(M, device, np.float64) / to_device(w, device)
            values = scaled.T.contiguous()
        return cls(M, w, s, rows, values, is_tied)

    @cached_property
    def squared_norms(self) -> Array:
        norms: Array = _norms(self.values).cpu().numpy()
        return (norms * self.w) ** 2

    def take(self, indices: Array) -> "DeviceColumns":
        return DeviceColumns(
            self.M[:, indices],
            self.w[indices],
            self.s[indices] * (len(self.w) / len(indices)),
            self.rows,
            self.values[to_device(indices, self.values.device)],
            self.is_tied,
            indices,
        )

    def fit(self, atoms: Array) -> "DeviceFit":
        return DeviceFit(self, atoms)


class DeviceFit:
    """Columns on a device fitted within the gates of a working set.

    ``Z`` and ``state`` are tensors (l, k): the fitted columns, and where their entries are.
    """

    def __init__(self, columns: DeviceColumns, atoms: Array) -> None:
        torch = optional("torch")
        self.columns = columns
        self.values = columns.values
        self.device = columns.values.device
        n = len(columns.w)
        self.Z = self.values.new_empty((n, 0))
        self.state = torch.empty((n, 0), dtype=torch.int8, device=self.device)
        self.weight = to_device(columns.weight, self.device)
        self._set_atoms(atoms, np.empty(0, bool))

    def _set_atoms(self, atoms: Array, kept: Array) -> None:
        """Take other atoms: those of the mask ``kept`` of the old ones first, then new ones."""
        columns = self.columns
        added = len(atoms) - int(kept.sum())
        self.atoms = atoms
        self.D = columns.rows.atoms[to_device(atoms, self.device)]
        self.G = self.D @ self.D.T
        self.Z = _replace_columns(self.Z, kept, added)
        self.state = _replace_columns(self.state, kept, added)
        own = np.full(len(columns.w), -1)
        if columns.is_tied:
            own = own_atoms(atoms, len(columns.w), columns.indices)
        self.own = to_device(own, self.device)

    def change(self, kept: Array, new: Array) -> Array:
        torch = optional("torch")
        n_old = int(kept.sum())
        self._set_atoms(np.concatenate([self.atoms[kept], new]), kept)
        index = torch.arange(n_old, len(self.atoms), device=self.device)
        total = self.values.new_zeros(len(new))
        for part in self._parts():
            g = self._residual(part, n_old) @ self.D[n_old:].T
            # a closed gate is binding where the entry would grow, and in the atom's own column
            at_gate = (g > 0) | (self.own[part, None] == index)
            self.state[part, n_old:] = GATE * at_gate
            total -= self.weight[part] @ torch.where(at_gate, g, 0.0)
        gradient: Array = total.cpu().numpy()
        return gradient

    def save_state(self) -> None:
        self._saved_state = self.state.clone()

    def restore_state(self) -> None:
        self.state.copy_(self._saved_state)

    def _residual(self, part: slice, n_atoms: int) -> Tensor:
        """Return y_j − D z_j of some columns and the first atoms, (p, m)."""
        torch = optional("torch")
        return torch.addmm(self.values[part], self.Z[part, :n_atoms], self.D[:n_atoms], alpha=-1.0)

    def _parts(self) -> Iterator[slice]:
        """Divide the columns into portions of a limited size."""
        n, n_features = self.values.shape
        return row_blocks(n, max(len(self.atoms), n_features))

    def evaluate(self, t: Array) -> Array:
        gates = to_device(t, self.device)
        total = self.values.new_zeros(1 + len(t))
        for part in self._parts():
            total += fit_columns(
                self.G,
                self.values[part] @ self.D.T,
                self.weight[part],
                gates,
                self.own[part],
                self.Z[part],
                self.state[part],
            )
        sums: Array = total.cpu().numpy()
        return sums

    def hessian(self) -> Array:
        H: Array = curvature(self.G, self.weight, self.state).cpu().numpy()
        return H

    def multiplier(self) -> DenseMultiplier:
        torch = optional("torch")
        theta = torch.empty_like(self.values)
        inner = torch.empty_like(self.weight)
        square = torch.empty_like(self.weight)
        for part in self._parts():
            residual = self._residual(part, len(self.atoms))
            weight = self.weight[part]
            inner[part] = weight * torch.linalg.vecdot(residual, self.values[part])
            square[part] = weight * torch.linalg.vecdot(residual, residual)
            theta[part] = residual * weight[:, None]
        sums = DeviceSums(self.columns.rows, theta.T)
        return DenseMultiplier(
            self.columns, inner.cpu().numpy(), square.cpu().numpy(), theta.T, sums
        )

    def rows(self, index: Array) -> Array:
        columns = self.columns
        selected = self.Z[:, to_device(index, self.device)]
        selected *= to_device(columns.w, self.device)[:, None]
        selected /= to_device(columns.rows.v[self.atoms[index]], self.device)
        # in the precision of M
        entries: Array = to_device(selected.T, self.device, columns.M.dtype).cpu().numpy()
        return entries


@dataclass(frozen=True, eq=False)
class DeviceSums:
    """The sums over the columns of θ (m, l), float64, on a device."""

    rows: DeviceRows
    theta: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        n_features, n_columns = self.theta.shape
        return n_features, n_columns

    def metric_sums(self) -> MetricSums:
        return MetricSums(*metric_sums(self.theta), self.theta.shape[1])

    def sums_of_centres(self, centres: Tensor, reach: float) -> Array:
        sums = positive_sums(centres, self.theta, np.float64)
        sums += 2 * dot_error(sum(self.shape)) * reach * _norms(centres)
        on_host: Array = sums.cpu().numpy()
        return on_host

    def projected_sums(self, projection: Projection, coordinates: Array) -> Array:
        theta: Array = self.theta.cpu().numpy()
        return projection.sums(coordinates, theta)

    def row_sums(self, rows: UnitRows, reach: float, rough: bool) -> Array:
        dtype: type = np.float64
        if rough:
            dtype = np.float32
        sums = self.rows.positive_sums(self.theta, rows.index, dtype)
        return np.asarray(sums / rows.norms[rows.index])


def _norms(A: Tensor) -> Tensor:
    """Return the norms of the rows."""
    return optional("torch").linalg.vector_norm(A, dim=1)


def _replace_columns(A: Tensor, kept: Array, added: int) -> Tensor:
    """Keep some columns of A and append zeros (the value of ZERO, for a state)."""
    index = to_device(np.flatnonzero(kept), A.device)
    out = A.new_zeros((len(A), len(index) + added))
    out[:, : len(index)] = A[:, index]
    return out
