"""Columns on a device: fitted within their gates, and their sums, which score rows.

The fit and its notation are those of :mod:`selfdict.kernels.gates`. Triton kernels solve the
columns; the few that they leave, or all where Triton does not run, are solved by the compiled code
of the CPU, so every column ends with the signs of an optimum. Its sums are taken in float64, and in
the same order in each run.

Scores are sums of the positive parts of (M/w)ᵀθ; :mod:`selfdict.model.scores` derives the bounds on
them. Their rows are scaled to unit length; sums and products are taken in float64, in whatever
order the device prefers: the room for rounding allows for any.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from selfdict._imports import optional
from selfdict._validation import Array
from selfdict.compute.device import (
    Tensor,
    long_gram,
    row_blocks,
    runs_triton,
    to_device,
)
from selfdict.compute.linear_algebra import means_by_label
from selfdict.compute.threads import for_slices
from selfdict.kernels.gates import FREE, GATE, ZERO
from selfdict.kernels.gates import curvature as curvature_on_cpu
from selfdict.kernels.gates import fit_columns as fit_on_cpu

# How many entries of a column may be free: the tile sizes of the kernel, tried in this order.
SLOTS = (16, 32, 128)
# Beyond this many atoms a column does not fit into registers: the CPU solves it.
_MOST_ATOMS = 1024
# Columns that one thread of the CPU takes at a time.
_COLUMNS_PER_SLICE = 250
# Entries of the product that are computed at a time: 1 GiB of float64.
_SCREENING_BLOCK_ENTRIES = 1 << 27
_TILE_ROWS = 128  # of the product in float64


def fit_columns(
    G: Tensor,  # (k, k): DᵀD
    C: Tensor,  # (n, k): row j is Dᵀy_j
    weight: Tensor,  # (n,): ω_j ≥ 0
    t: Tensor,  # (k,): the gates
    own: Tensor,  # (n,): the atom that column j itself is, or −1
    Z: Tensor,  # (n, k): the solution; on entry the warm start, like the state
    state: Tensor,  # (n, k) of int8: where the entries are
) -> Tensor:
    """Solve all columns; return Σ ω_j (φ_j − ½‖y_j‖²), and the k entries of its gradient in t."""
    torch = optional("torch")
    _bring_within_bounds(t, own, Z, state)
    g = torch.addmm(C, Z, G, alpha=-1.0)
    left = _exchange(G, C, t, own, Z, state, g)
    if len(left) > 0:
        _fit_on_cpu(G, C, t, own, Z, state, left)
        g[left] = torch.addmm(C[left], Z[left], G, alpha=-1.0)
    value = -0.5 * (weight @ (Z * (C + g)).sum(dim=1))
    gradient = -(weight @ torch.where(state == GATE, g, 0.0))
    return torch.cat([value[None], gradient])


def _bring_within_bounds(t: Tensor, own: Tensor, Z: Tensor, state: Tensor) -> None:
    """Bring a warm start within its bounds."""
    torch = optional("torch")
    state.masked_fill_((state == FREE) & (t <= 0.0), ZERO)
    is_own = own[:, None] == torch.arange(len(t), device=t.device)
    state.masked_fill_(is_own, GATE)
    within = torch.minimum(Z.clamp(min=0.0), t)
    at_bound = torch.where(state == GATE, t, 0.0)
    Z.copy_(torch.where(state == FREE, within, at_bound))


def _exchange(
    G: Tensor, C: Tensor, t: Tensor, own: Tensor, Z: Tensor, state: Tensor, g: Tensor
) -> Tensor:
    """Solve the columns by Triton kernels; return the indices of those that are not solved."""
    torch = optional("torch")
    left = torch.arange(len(C), device=C.device)
    if len(t) == 0:
        return left[:0]
    if len(t) > _MOST_ATOMS or not runs_triton(C.device):
        return left
    from selfdict.gpu.triton_gates import SOLVED, exchange

    for slots in SLOTS:
        # A larger tile also starts with a new inverse, without the rounding errors of the last one.
        outcome = exchange(G, t, C, own, Z, state, g, left, slots)
        left = left[outcome != SOLVED.value]
        if len(left) == 0:
            break
    return left


def _fit_on_cpu(
    G: Tensor, C: Tensor, t: Tensor, own: Tensor, Z: Tensor, state: Tensor, columns: Tensor
) -> None:
    """Solve some columns by the compiled code of the CPU."""
    gram = G.cpu().numpy()
    products = C[columns].cpu().numpy()
    gates = t.cpu().numpy()
    own_atoms = own[columns].cpu().numpy()
    entries = Z[columns].cpu().numpy()
    states = state[columns].cpu().numpy()
    ones = np.ones(len(columns))

    def task(start: int, stop: int) -> None:
        part = slice(start, stop)
        fit_on_cpu(
            gram,
            products[part],
            ones[part],
            gates,
            own_atoms[part],
            entries[part],
            states[part],
        )

    for_slices(task, len(columns), _COLUMNS_PER_SLICE)
    Z[columns] = to_device(entries, Z.device)
    state[columns] = to_device(states, Z.device)


def curvature(G: Tensor, weight: Tensor, state: Tensor) -> Tensor:
    """Return the Hessian (k, k) of the value of :func:`fit_columns`, from where the entries are.

    Σ ω_j G_UU is the product of G, entry by entry, with the weight that two atoms share at their
    gates. Of Σ ω_j G_UF G_FF⁻¹ G_FU a kernel makes the rows of a factor W, and WᵀW is a product of
    matrices.
    """
    torch = optional("torch")
    if len(G) == 0 or len(G) > _MOST_ATOMS or not runs_triton(G.device):
        return _curvature_on_cpu(G, weight, state)
    H = G * _shared_weight(weight, state)
    n_free = (state == FREE).sum(dim=1)
    largest = int(n_free.max())
    smallest = 1
    for slots in SLOTS:
        if largest < smallest:
            return H
        columns = torch.nonzero((n_free >= smallest) & (n_free <= slots))[:, 0]
        if len(columns) > 0:
            H -= _explained(G, weight, state, columns, n_free[columns], slots)
        smallest = slots + 1
    columns = torch.nonzero(n_free >= smallest)[:, 0]
    if len(columns) > 0:
        H -= G * _shared_weight(weight[columns], state[columns])
        H += _curvature_on_cpu(G, weight[columns], state[columns])
    return H


def _shared_weight(weight: Tensor, state: Tensor) -> Tensor:
    """Return Σ ω_j over the columns in which two atoms are both at their gates, (k, k)."""
    torch = optional("torch")
    shared = weight.new_zeros((state.shape[1],) * 2)
    root = weight.sqrt()
    for part in row_blocks(*state.shape):
        shared += long_gram(torch.where(state[part] == GATE, root[part, None], 0.0))
    return shared


def _explained(
    G: Tensor, weight: Tensor, state: Tensor, columns: Tensor, n_free: Tensor, slots: int
) -> Tensor:
    """Return Σ ω_j G_UF G_FF⁻¹ G_FU over columns with at most ``slots`` free entries."""
    from selfdict.gpu.triton_gates import curvature_rows

    k = len(G)
    explained = G.new_zeros((k, k))
    for part in row_blocks(len(columns), slots * k):
        ends = n_free[part].cumsum(dim=0)
        W = G.new_empty((int(ends[-1]), k))
        curvature_rows(G, weight, state, columns[part], ends - n_free[part], W, slots)
        explained += long_gram(W)
    return explained


def _curvature_on_cpu(G: Tensor, weight: Tensor, state: Tensor) -> Tensor:
    """Return the contribution of some columns by the compiled code of the CPU."""
    products = G.cpu().numpy()
    weights = weight.cpu().numpy()
    states = state.cpu().numpy()

    def task(start: int, stop: int) -> Array:
        part: Array = curvature_on_cpu(products, weights[start:stop], states[start:stop])
        return part

    parts = for_slices(task, len(weights), _COLUMNS_PER_SLICE)
    return to_device(np.sum(parts, axis=0), G.device)


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
