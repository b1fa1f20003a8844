"""A working set of model (6) on a device: the columns, their entries and active sets stay there."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.compute.device import to_device
from selfdict.gpu.bounded_fit import curvature, fit_columns
from selfdict.kernels.gates import GATE

# Entries per atom and column that are computed at a time: 256 MiB of float64.
_BLOCK_ENTRIES = 1 << 25


@dataclass(frozen=True, eq=False)
class DeviceData:
    """The columns and the atoms of a problem on a device, scaled to w = 1 and v = 1.

    Attributes
    ----------
    columns : (n, m) tensor of float64
    atoms : (d, m) tensor of float64
        The same tensor as ``columns``, if there is no other dictionary.
    """

    columns: Any
    atoms: Any

    @classmethod
    def of(cls, M: Array, w: Array, atoms: Any, has_dictionary: bool) -> "DeviceData":
        """Put the columns of M (m, n) beside atoms that are on the device already."""
        if not has_dictionary:
            return cls(atoms, atoms)
        device = atoms.device
        columns = to_device(M, device, np.float64) / to_device(w, device)
        return cls(columns.T.contiguous(), atoms)

    @cached_property
    def column_norms(self) -> Array:
        """‖m_j‖₂/w_j of all columns, (n,)."""
        norms: Array = _norms(self.columns).cpu().numpy()
        return norms

    @cached_property
    def atom_lengths(self) -> Array:
        """‖d_i‖₂/v_i of all atoms, (d,)."""
        if self.atoms is self.columns:
            return self.column_norms
        lengths: Array = _norms(self.atoms).cpu().numpy()
        return lengths


class DeviceGates:
    """A working set with the interface of :class:`selfdict.solvers.gates.Gates`, on a device.

    What there is per atom or per column lies in memory. What there is per atom and column, or per
    feature and column, lies on the device.

    Parameters
    ----------
    data : DeviceData
    M : (m, n) ndarray
        The data in memory.
    w, s : (n,) ndarray of float64
        Positive weights of Ω; weights of the residual.
    columns : (l,) ndarray of int or None
        The columns to fit, increasing; None for all.
    D, v : (m, d) ndarray, (d,) ndarray of float64
        The dictionary in memory and its positive weights; None for M and w.

    Attributes
    ----------
    atoms, t, fit, gradient
        As in :class:`selfdict.solvers.gates.Gates`.
    G : (k, k) tensor of float64
        Products of the atoms with each other.
    Z, state : (l, k) tensor of float64, of int8
        The fitted columns, and where their entries are.
    """

    def __init__(
        self,
        data: DeviceData,
        M: Array,
        w: Array,
        s: Array,
        columns: Array | None = None,
        D: Array | None = None,
        v: Array | None = None,
    ) -> None:
        torch = optional("torch")
        self.data = data
        self.device = data.columns.device
        self.columns = columns
        self.tied = D is None
        self.M = M
        self.D = M
        self.v = w
        if D is not None and v is not None:
            self.D = D
            self.v = v
        self.scale = w
        self.s = s
        norms = data.column_norms
        self._columns = data.columns
        if columns is not None:
            self.scale = w[columns]
            self.s = s[columns]
            norms = norms[columns]
            self._columns = data.columns[to_device(columns, self.device)]
        self.weight = self.s * self.scale**2
        self.squared_norms = (norms * self.scale) ** 2
        self.square = float((self.s * self.squared_norms).sum())
        n = len(self.scale)
        self.t = np.empty(0)
        self.Z = self._columns.new_empty((n, 0))
        self.state = torch.empty((n, 0), dtype=torch.int8, device=self.device)
        self.fit = 0.5 * self.square
        self.gradient = np.empty(0)
        self._weight = to_device(self.weight, self.device)
        self._set_atoms(np.empty(0, np.int64))

    @property
    def Y(self) -> Array:
        """The columns to fit as they are in M, (m, l), in memory."""
        if self.columns is None:
            return self.M
        return self.M[:, self.columns]

    @property
    def atom_lengths(self) -> Array:
        """‖d_i‖₂/v_i of all atoms of the dictionary, (d,)."""
        return self.data.atom_lengths

    def open(self, atoms: Array, t: Array) -> None:
        """Start with these atoms at these gates: fit all columns."""
        self.change(np.zeros(len(self.atoms), bool), atoms)
        # From zero it takes fewer exchanges than from the gates.
        self.state.zero_()
        self.t = t
        self.evaluate(t)

    def change(self, kept: Array, new: Array) -> None:
        """Keep the atoms of a mask, which includes all open ones, and add new ones, closed.

        The fit remains what it is, and so does its gradient at the atoms kept.
        """
        old = int(kept.sum())
        self.t = np.concatenate([self.t[kept], np.zeros(len(new))])
        self._set_atoms(np.concatenate([self.atoms[kept], new]))
        self.Z = _replace_columns(self.Z, kept, len(new))
        self.state = _replace_columns(self.state, kept, len(new))
        of_new = self._columns.new_zeros(len(new))
        for part in self._parts():
            of_new += self._close_gates(part, old)
        self.gradient = np.concatenate([self.gradient[kept], of_new.cpu().numpy()])

    def _set_atoms(self, atoms: Array) -> None:
        """Take other atoms: their products, and which columns they are."""
        self.atoms = atoms
        self._dictionary = self.data.atoms[to_device(atoms, self.device)]
        self.G = self._dictionary @ self._dictionary.T
        self._own = to_device(self._own_atoms(), self.device)

    def _own_atoms(self) -> Array:
        """Return, for each fitted column, the position of the atom that it is itself, or −1."""
        n = len(self.scale)
        own = np.full(n, -1)
        if not self.tied:
            return own
        if self.columns is None:
            own[self.atoms] = np.arange(len(self.atoms))
            return own
        position = np.minimum(np.searchsorted(self.columns, self.atoms), n - 1)
        is_fitted = self.columns[position] == self.atoms
        own[position[is_fitted]] = np.flatnonzero(is_fitted)
        return own

    def _close_gates(self, part: slice, old: int) -> Any:
        """Set the states of new atoms, which are closed; return the derivatives by their gates."""
        torch = optional("torch")
        k = len(self.atoms)
        residual = self._scaled_residual(part, old)
        g = residual @ self._dictionary[old:].T
        # A closed gate is binding where the entry would grow, and in the atom's own column.
        is_own = self._own[part, None] == torch.arange(old, k, device=self.device)
        at_gate = (g > 0) | is_own
        self.state[part, old:] = GATE * at_gate
        return -(self._weight[part] @ torch.where(at_gate, g, 0.0))

    def _scaled_residual(self, part: slice, n_atoms: int) -> Any:
        """Return y_j − D z_j of some columns and the first atoms, (p, m)."""
        torch = optional("torch")
        return torch.addmm(
            self._columns[part], self.Z[part, :n_atoms], self._dictionary[:n_atoms], alpha=-1.0
        )

    def _parts(self) -> Iterator[slice]:
        """Yield the columns in portions of a limited size."""
        widest = max(len(self.atoms), self._columns.shape[1])
        # Multiples of 16: Triton would compile again for addresses that are not divisible by 16.
        size = max(1, _BLOCK_ENTRIES // widest // 16) * 16
        for start in range(0, len(self.scale), size):
            yield slice(start, min(start + size, len(self.scale)))

    def evaluate(self, t: Array) -> None:
        """Fit all columns at the gates t."""
        gates = to_device(t, self.device)
        total = self._columns.new_zeros(1 + len(t))
        for part in self._parts():
            total += fit_columns(
                self.G,
                self._columns[part] @ self._dictionary.T,
                self._weight[part],
                gates,
                self._own[part],
                self.Z[part],
                self.state[part],
            )
        sums = total.cpu().numpy()
        self.fit = 0.5 * self.square + float(sums[0])
        self.gradient = sums[1:]

    def hessian(self) -> Array:
        """Return the second derivatives at the gates evaluated last."""
        H: Array = curvature(self.G, self._weight, self.state).cpu().numpy()
        return H

    def residual_terms(self) -> tuple[Array, Array, Any]:
        """Return s_j m_jᵀr_j and s_j ‖r_j‖² of the fitted columns, and θ on the device.

        θ (m, l) are the columns s_j w_j r_j.
        """
        torch = optional("torch")
        theta = torch.empty_like(self._columns)
        inner = torch.empty_like(self._weight)
        square = torch.empty_like(self._weight)
        for part in self._parts():
            residual = self._scaled_residual(part, len(self.atoms))
            weight = self._weight[part]
            inner[part] = weight * torch.linalg.vecdot(residual, self._columns[part])
            square[part] = weight * torch.linalg.vecdot(residual, residual)
            theta[part] = residual * weight[:, None]
        return inner.cpu().numpy(), square.cpu().numpy(), theta.T

    def rows(self, index: Array) -> Array:
        """Return rows of X for some atoms, (k, l), as an array in the precision of M."""
        selected = self.Z[:, to_device(index, self.device)]
        selected *= to_device(self.scale, self.device)[:, None]
        selected /= to_device(self.v[self.atoms[index]], self.device)
        entries: Array = to_device(selected.T, self.device, self.M.dtype).cpu().numpy()
        return entries


def _norms(A: Any) -> Any:
    """Return the norms of the rows."""
    return optional("torch").linalg.vector_norm(A, dim=1)


def _replace_columns(A: Any, kept: Array, added: int) -> Any:
    """Keep some columns of A and append zeros (the value of ZERO, for a state)."""
    index = to_device(np.flatnonzero(kept), A.device)
    out = A.new_zeros((len(A), len(index) + added))
    out[:, : len(index)] = A[:, index]
    return out
