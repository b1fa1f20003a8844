"""Columns in blocks that are read anew in each pass: only sums over the blocks are held.

A pass fits the columns of each block, some at a time, as columns in memory, takes sums over them,
and forgets the fit. The multiplier θ of all columns is never held.

Passes fit the same columns again and again, at gates that hardly move. A fit that starts where the
last one ended takes a quarter of the time, so each process keeps where the entries were. A process
that has nothing of it starts from zero, takes longer and finds the same.
"""

import math
import operator
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Generic, NamedTuple, TypeVar, cast

import numpy as np

from selfdict._validation import Array
from selfdict.columns.blocks import BlockMatrix, BlockRows
from selfdict.columns.memory import DenseMultiplier, MemoryColumns, MemoryFit
from selfdict.columns.protocol import scaled_atoms
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.kernels.gates import FREE, GATE
from selfdict.model.dual import DualTerms, scores_from_above
from selfdict.model.score_bounds import DenseSums, MemoryRows
from selfdict.model.scores import MetricSums, Projection, UnitRows

# what a pass returns for some columns: numbers, arrays and tuples, which are added
Sums = TypeVar("Sums", bound=tuple[object, ...])

# columns that are fitted at a time, which bounds the memory of a task
COLUMNS_PER_FIT = 16384


class BlockColumns:
    """All columns of a block matrix; a sample of them is one in memory.

    ``search`` is a name that no other search has, for warm starts.
    """

    is_tied = True
    is_sample = False

    def __init__(
        self, M: BlockMatrix, squared_norms: Array, rows: BlockRows, slack: float, search: str
    ) -> None:
        self.M = M
        self.rows = rows
        self.w = rows.v
        self.s = np.ones(len(self.w))
        self.square = float(squared_norms.sum())
        self.slack = slack
        self.search = search

    @property
    def n_features(self) -> int:
        return self.M.shape[0]

    def take(self, indices: Array) -> MemoryColumns:
        stands_for = np.full(len(indices), len(self.w) / len(indices))
        return MemoryColumns(
            self.M[:, indices],
            self.w[indices],
            stands_for,
            self.rows,
            indices=indices,
            slack=self.slack,
        )

    def fit(self, atoms: Array) -> "BlockFit":
        return BlockFit(self, atoms)

    def first_atoms(self, count: int) -> Array:
        return np.empty(0, np.int64)  # the first screening finds some


class BlockFit:
    """The columns of blocks fitted within the gates of a working set, anew in each pass."""

    def __init__(self, columns: BlockColumns, atoms: Array) -> None:
        self.columns = columns
        self.atoms = atoms
        self.D = scaled_atoms(columns.rows, atoms)
        self.t = np.zeros(len(atoms))

    def change(self, kept: Array, new: Array) -> Array:
        n_old = int(kept.sum())
        self.atoms = np.concatenate([self.atoms[kept], new])
        self.D = scaled_atoms(self.columns.rows, self.atoms)
        return self.evaluate(np.concatenate([self.t[kept], np.zeros(len(new))]))[1 + n_old :]

    def save_state(self) -> None:
        """Do nothing: states are kept where the columns are fitted."""

    def restore_state(self) -> None:
        """Do nothing: the next fit starts where the last one ended."""

    def evaluate(self, t: Array) -> Array:
        self.t = t
        # second derivatives at once: another pass would cost more than they do
        sums, self._hessian = self.total(_derivatives)
        return np.asarray(sums)

    def hessian(self) -> Array:
        return self._hessian

    def multiplier(self) -> "BlockMultiplier":
        return BlockMultiplier(self)

    def rows(self, index: Array) -> Array:
        (entries,) = self.total(partial(_entries, index))
        return np.concatenate(entries, axis=1) / self.columns.w[self.atoms[index], None]

    def total(self, function: Callable[[MemoryFit], Sums]) -> Sums:
        """Return the sums, over all columns, of what a function returns for fitted ones."""
        task = _Pass(self.columns.search, self.atoms, self.D, self.t, function)
        answers = self.columns.M.blocks.run(task, self._parts())
        return reduce(_add, answers)

    def _parts(self) -> Iterator["BlockPart"]:
        """Yield what the fit of each block needs beside its columns."""
        M = self.columns.M
        order = np.argsort(self.atoms)
        own = M.split(self.atoms[order], order)
        for number, (own_columns, own_atoms) in enumerate(own):
            w = self.columns.w[M.edges[number] : M.edges[number + 1]]
            yield BlockPart(number, w, own_columns, own_atoms)


class BlockPart(NamedTuple):
    """What the fit of a block needs beside its columns."""

    number: int
    w: Array  # (n_b,): the weights of Ω
    # which of its columns are atoms themselves, and which atoms
    own_columns: Array
    own_atoms: Array


@dataclass(frozen=True)
class _Pass(Generic[Sums]):
    """The task of a pass: sums over the columns of a block, fitted to gates t."""

    search: str
    atoms: Array  # (k,): their indices among all columns
    D: Array  # (m, k): the atoms, scaled to w = 1
    t: Array
    function: Callable[[MemoryFit], Sums]

    def __call__(self, M: Array, part: BlockPart) -> Sums:
        # products are taken inside slices
        with single_threaded_blas():
            return reduce(_add, map(self.function, self.fits(M, part)))

    def fits(self, M: Array, part: BlockPart) -> Iterator[MemoryFit]:
        """Yield the columns of M (m, n_b), some at a time, with their fit."""
        k = len(self.t)
        rows = MemoryRows(self.D, np.ones(k))
        own = np.full(M.shape[1], -1)
        own[part.own_columns] = part.own_atoms
        for first in range(0, M.shape[1], COLUMNS_PER_FIT):
            chunk = slice(first, first + COLUMNS_PER_FIT)
            w = part.w[chunk]
            values = M[:, chunk].astype(np.float64)
            columns = MemoryColumns(values, w, np.ones(len(w)), rows, is_tied=False)
            fit = MemoryFit(columns, np.arange(k))
            fit.own = own[chunk]
            place = part.number, first
            state = last_state(self.search, place, self.atoms)
            if state is not None:
                fit.state[:] = state
            fit.evaluate(self.t)
            keep_state(self.search, place, self.atoms, fit.state)
            yield fit


def _add(first: Sums, second: Sums) -> Sums:
    """Add what two passes return, entry by entry: numbers are added, tuples joined."""
    return cast(Sums, tuple(map(operator.add, first, second)))


def _derivatives(fit: MemoryFit) -> tuple[Array, Array]:
    """Return the value of the fit with its gradient, and its second derivatives."""
    return fit.sums, fit.hessian()


def _entries(index: Array, fit: MemoryFit) -> tuple[tuple[Array]]:
    """Return some rows of X."""
    return ((fit.rows(index),),)


class BlockMultiplier:
    """θ of all columns of blocks: every sum over it is a pass that fits the columns anew."""

    is_formed = True

    def __init__(self, fit: BlockFit) -> None:
        self.fit = fit
        self.rows = fit.columns.rows
        centres = self.rows.clusters.centres
        inner, linear, quadratic, self._metric, self._of_centres = fit.total(
            partial(_first_sums, centres)
        )
        self.inner: Array = np.concatenate(inner)
        self.linear = math.fsum(linear)
        self.quadratic = math.fsum(quadratic)

    @property
    def sums(self) -> "BlockMultiplier":
        return self

    @property
    def shape(self) -> tuple[int, int]:
        return self.fit.columns.M.shape

    def metric_sums(self) -> MetricSums:
        return self._metric

    def sums_of_centres(self, centres: Array, reach: float) -> Array:
        return self._of_centres  # those of the clusters of all rows

    def projected_sums(self, projection: Projection, coordinates: Array) -> Array:
        sums = partial(DenseSums.projected_sums, projection=projection, coordinates=coordinates)
        return self._total(sums)

    def row_sums(self, rows: UnitRows, reach: float, rough: bool) -> Array:
        return self._total(partial(_row_sums, rows=rows, rough=rough))

    def _total(self, function: Callable[[DenseSums], Array]) -> Array:
        """Return the sums, over all columns, of what a function returns for some of θ."""
        (total,) = self.fit.total(partial(_of_multiplier, function))
        return np.asarray(total)

    def scores(self, rows: Array | None, rough: bool) -> Array:
        if rows is None:
            rows = np.arange(len(self.rows.v))
        sums = self.row_sums(self.rows.unit(rows), self._metric.total, rough)
        return np.asarray(self.rows.lengths[rows] * sums)

    def dual_terms(self, scores: Array, atom_lengths: Array) -> DualTerms:
        n_features, n_columns = self.shape
        n_summed = self.rows.summation_depth(n_columns)
        reach = self._metric.total
        above = scores_from_above(scores, reach, atom_lengths, n_features, n_summed)
        return DualTerms(self.linear, self.quadratic, above)


FirstSums = tuple[tuple[Array], tuple[float], tuple[float], MetricSums, Array]


def _first_sums(centres: Array, fit: MemoryFit) -> FirstSums:
    """Return all sums over θ that do not depend on the rows but on their clusters."""
    # s_j m_jᵀr_j, ⟨θ, M⟩ from below, ⟨θ, R⟩ from above, those of the metric and of the centres
    multiplier = DenseMultiplier.of(fit.columns, fit.residual())
    terms = multiplier.dual_terms(np.empty(0), np.empty(0))
    metric = multiplier.sums.metric_sums()
    of_centres = multiplier.sums.sums_of_centres(centres, metric.total)
    return (multiplier.inner,), (terms.linear,), (terms.quadratic,), metric, of_centres


def _of_multiplier(function: Callable[[DenseSums], Array], fit: MemoryFit) -> tuple[Array]:
    """Return what a function of θ returns for fitted columns."""
    return (function(DenseSums(fit.residual() * fit.columns.w)),)


def _row_sums(theta: DenseSums, rows: UnitRows, rough: bool) -> Array:
    """Return the sums of rows over some of the columns."""
    reach = float(np.sqrt(squared_norms(theta.theta)).sum())
    return theta.row_sums(rows, reach, rough)


MAX_BYTES = 2**28  # of one process; what would exceed them is not kept

Place = tuple[int, int]  # the number of a block, and the first of the columns in it

# of each search: atoms (k,), and as bits (2, l, k/8) which entries are free, and which are at their
# gate
_kept: dict[str, dict[Place, tuple[Array, Array]]] = {}
_lock = threading.Lock()


def last_state(search: str, place: Place, atoms: Array) -> Array | None:
    """Return the last states of columns (l, k) for these atoms, or None; new ones are at zero."""
    kept = _kept.get(search, {}).get(place)
    if kept is None:
        return None
    old, bits = kept
    is_free, is_at_gate = np.unpackbits(bits, axis=2, count=len(old))
    state = np.zeros((len(is_free), len(atoms)), np.int8)
    _, here, there = np.intersect1d(atoms, old, assume_unique=True, return_indices=True)
    state[:, here] = FREE * is_free[:, there] + GATE * is_at_gate[:, there]
    return state


def keep_state(search: str, place: Place, atoms: Array, state: Array) -> None:
    """Keep the states of columns (l, k) for these atoms, if there is room."""
    bits = np.packbits([state == FREE, state == GATE], axis=2)
    with _lock:
        places = _kept.setdefault(search, {})
        places.pop(place, None)
        if kept_bytes() + bits.nbytes > MAX_BYTES:
            # what other searches left behind that did not end properly
            for other in set(_kept) - {search}:
                del _kept[other]
        if kept_bytes() + bits.nbytes <= MAX_BYTES:
            places[place] = atoms, bits


def forget(search: str) -> None:
    """Keep nothing of a search any longer."""
    with _lock:
        _kept.pop(search, None)


def kept_bytes() -> int:
    """Return how much memory is taken."""
    return sum(bits.nbytes for places in _kept.values() for _, bits in places.values())
