"""A working set whose columns are fitted block by block: only sums over the blocks are held."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices
from selfdict.kernels.curvature import curvature
from selfdict.kernels.gates import fit_columns
from selfdict.solvers.blocks import BlockColumns
from selfdict.solvers.warm_starts import Place, warm_starts

# columns that are fitted at a time, which bounds the memory of a task
COLUMNS_PER_FIT = 16384
COLUMNS_PER_SLICE = 1024


class BlockPart(NamedTuple):
    """What the fit of a block needs beside its columns.

    Attributes
    ----------
    number : int
        Of the block.
    w : (n_b,) ndarray
        Weights of Ω.
    own_columns, own_atoms : (k_b,) ndarray of int
        Which columns of the block are atoms themselves, and which ones.
    """

    number: int
    w: Array
    own_columns: Array
    own_atoms: Array


@dataclass(frozen=True)
class BlockFit:
    """Fits the columns of a block to gates: everything that depends on the working set.

    Attributes
    ----------
    search : str
        A name that no other search has: fits start where the last one of the search ended.
    indices : (k,) ndarray of int
        The atoms, as columns of all blocks.
    atoms : (m, k) ndarray of float64
        Their values, scaled to w = 1.
    G : (k, k) ndarray
        Their products with each other.
    t : (k,) ndarray
        The gates.
    """

    search: str
    indices: Array
    atoms: Array
    G: Array
    t: Array

    def fitted(self, M: Array, part: BlockPart) -> Iterator["FittedColumns"]:
        """Yield the columns of M (m, n_b), some at a time, with their fit."""
        own = np.full(M.shape[1], -1)
        own[part.own_columns] = part.own_atoms
        for first in range(0, M.shape[1], COLUMNS_PER_FIT):
            last = first + COLUMNS_PER_FIT
            columns = M[:, first:last].astype(np.float64)
            place = Place(self.search, part.number, first)
            state = warm_starts.state(place, self.indices)
            if state is None:
                # most entries end at zero
                state = np.zeros((columns.shape[1], len(self.t)), np.int8)
            fitted = self._fit(columns, part.w[first:last], own[first:last], state)
            warm_starts.keep(place, self.indices, state)
            yield fitted

    def _fit(self, M: Array, w: Array, own: Array, state: Array) -> "FittedColumns":
        n = len(w)
        weight = w**2
        Z = np.zeros((n, len(self.t)))

        def task(start: int, stop: int) -> Array:
            C = M[:, start:stop].T @ self.atoms
            C /= w[start:stop, None]
            sums: Array = fit_columns(
                self.G,
                C,
                weight[start:stop],
                self.t,
                own[start:stop],
                Z[start:stop],
                state[start:stop],
                0,
                stop - start,
            )
            return sums

        with single_threaded_blas():
            parts = for_slices(task, n, COLUMNS_PER_SLICE)
        return FittedColumns(self, M, w, weight, Z, state, np.sum(parts, axis=0))


@dataclass(frozen=True)
class FittedColumns:
    """Some columns with their fit.

    Attributes
    ----------
    fit : BlockFit
    M, w, weight : (m, l), (l,), (l,) ndarray
        The columns, their weights in Ω and in the objective.
    Z, state : (l, k) ndarray
        Their coefficients, and where these are.
    sums : (1 + k,) ndarray
        The value of the fit, less half of the energy, and its gradient.
    """

    fit: BlockFit
    M: Array
    w: Array
    weight: Array
    Z: Array
    state: Array
    sums: Array

    def curvature(self) -> Array:
        """Return what the columns add to the second derivatives."""

        def task(start: int, stop: int) -> Array:
            part: Array = curvature(self.fit.G, self.weight, self.state, start, stop)
            return part

        return np.asarray(np.sum(for_slices(task, len(self.w), COLUMNS_PER_SLICE), axis=0))

    def residual(self) -> Array:
        """Return M − D X, (m, l)."""
        R = np.empty(self.M.shape)

        def task(start: int, stop: int) -> None:
            fitted = self.fit.atoms @ (self.Z[start:stop] * self.w[start:stop, None]).T
            np.subtract(self.M[:, start:stop], fitted, out=R[:, start:stop])

        with single_threaded_blas():
            for_slices(task, len(self.w), COLUMNS_PER_SLICE)
        return R


@dataclass(frozen=True)
class _Evaluate:
    """The task of a pass: value, gradient and second derivatives of the fit of a block."""

    fit: BlockFit

    def __call__(self, M: Array, part: BlockPart) -> tuple[Array, Array]:
        k = len(self.fit.t)
        sums = np.zeros(1 + k)
        hessian = np.zeros((k, k))
        for fitted in self.fit.fitted(M, part):
            sums += fitted.sums
            hessian += fitted.curvature()
        return sums, hessian


class BlockGates:
    """A working set for all columns of a block matrix, with the interface of :class:`Gates`.

    The columns and their coefficients are never held: a pass fits them and returns sums. What the
    next fit starts from is kept by the processes that fit (:mod:`selfdict.solvers.warm_starts`).

    Parameters
    ----------
    M : BlockColumns
    w : (n,) ndarray of float64
        Positive weights of Ω.
    squares : (n,) ndarray of float64
        ‖m_j‖².
    search : str
        A name that no other search has, for warm starts.
    """

    columns = None
    tied = True

    def __init__(self, M: BlockColumns, w: Array, squares: Array, search: str) -> None:
        self.D = M
        self.v = w
        self.scale = w
        self.atom_lengths = np.sqrt(squares) / w
        self.square = float(squares.sum())
        self.fit = 0.5 * self.square
        self.atoms = np.empty(0, np.int64)
        self.t = np.empty(0)
        self.G = np.empty((0, 0))
        self.gradient = np.empty(0)
        self.state = np.empty(0)  # is kept where the columns are fitted
        self.search = search
        self._scaled_atoms = np.empty((M.shape[0], 0))
        self._hessian = np.empty((0, 0))

    def open(self, atoms: Array, t: Array) -> None:
        """Start with these atoms at these gates: fit all columns."""
        self._set_atoms(atoms)
        self.t = t
        self.evaluate(t)

    def change(self, kept: Array, new: Array) -> None:
        """Keep the atoms of a mask, which includes all open ones, and add new ones, closed."""
        self._set_atoms(np.concatenate([self.atoms[kept], new]))
        self.t = np.concatenate([self.t[kept], np.zeros(len(new))])
        self.evaluate(self.t)  # the derivatives of the new atoms need a pass

    def _set_atoms(self, atoms: Array) -> None:
        self.atoms = atoms
        self._scaled_atoms = self.D[:, atoms].astype(np.float64) / self.v[atoms]
        self.G = self._scaled_atoms.T @ self._scaled_atoms

    def block_fit(self, t: Array) -> BlockFit:
        """Return what fits a block at the gates t."""
        return BlockFit(self.search, self.atoms, self._scaled_atoms, self.G, t)

    def parts(self) -> Iterator[BlockPart]:
        """Yield what the fit of each block needs beside its columns."""
        order = np.argsort(self.atoms)
        own_columns = self.D.split(self.atoms[order])
        stop = 0
        for number, ((w,), local) in enumerate(zip(self.D.slices(self.scale), own_columns)):
            start = stop
            stop = start + len(local)
            yield BlockPart(number, w, local, order[start:stop])

    def evaluate(self, t: Array) -> None:
        """Fit all columns at the gates t."""
        k = len(t)
        sums = np.zeros(1 + k)
        hessian = np.zeros((k, k))
        for of_block, curvature_of_block in self.D.blocks.run(
            _Evaluate(self.block_fit(t)), self.parts()
        ):
            sums += of_block
            hessian += curvature_of_block
        self.fit = 0.5 * self.square + float(sums[0])
        self.gradient = sums[1:]
        self._hessian = hessian

    def hessian(self) -> Array:
        """Return the second derivatives at the gates evaluated last."""
        return self._hessian
