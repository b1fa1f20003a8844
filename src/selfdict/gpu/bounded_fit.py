"""Many columns fitted within their gates on a device, and the derivatives of the fit by the gates.

The problem and its notation are those of :mod:`selfdict.kernels.gates`. Triton kernels solve the
columns; the few that they leave, or all where Triton does not run, are solved by the compiled code
of the CPU, so every column ends with the signs of an optimum. Sums over the columns are taken in
float64, and in the same order in each run.
"""

import numpy as np

from selfdict._imports import optional
from selfdict._validation import Array
from selfdict.compute.device import (
    BLOCK_ENTRIES,
    Tensor,
    long_gram,
    row_blocks,
    runs_triton,
    to_device,
)
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
    # Multiples of 16: Triton would compile again for addresses that are not divisible by 16.
    size = max(1, BLOCK_ENTRIES // (slots * k) // 16) * 16
    for start in range(0, len(columns), size):
        part = slice(start, start + size)
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
