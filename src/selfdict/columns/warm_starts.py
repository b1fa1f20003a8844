"""Where coefficients were when columns were last fitted, kept by the process that fitted them.

Passes over blocks fit the same columns again and again, at gates that hardly move. A fit that
starts where the last one ended takes a quarter of the time. What was kept by a process that ends is
lost: another process starts from zero, takes longer and finds the same.
"""

import threading
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.gates import FREE, GATE

# of one process; what would exceed them is not kept
_MAX_BYTES = 2**28


class Place(NamedTuple):
    """Some columns of a search."""

    search: str  # a name that no other search has
    # the number of the block, and of the first of the columns in it
    block: int
    first: int


@dataclass(frozen=True)
class _Kept:
    """The states of columns, as bits: which entries are free, and which are at their gate."""

    atoms: Array
    is_free: Array
    is_at_gate: Array

    @classmethod
    def of(cls, atoms: Array, state: Array) -> "_Kept":
        return cls(atoms, np.packbits(state == FREE, axis=1), np.packbits(state == GATE, axis=1))

    @property
    def n_bytes(self) -> int:
        return int(self.is_free.nbytes + self.is_at_gate.nbytes)

    def state(self, atoms: Array) -> Array:
        """Return the states (l, k) for these atoms; those that are new are at zero."""
        position = {int(atom): column for column, atom in enumerate(self.atoms)}
        known = [column for column, atom in enumerate(atoms) if int(atom) in position]
        source = [position[int(atoms[column])] for column in known]
        state = np.zeros((len(self.is_free), len(atoms)), np.int8)
        for bits, value in ((self.is_free, FREE), (self.is_at_gate, GATE)):
            is_set = np.unpackbits(bits, axis=1, count=len(self.atoms)).view(bool)
            state[:, known] += value * is_set[:, source]
        return state


class WarmStarts:
    """The states of the columns that a process has fitted."""

    def __init__(self) -> None:
        self._kept: dict[Place, _Kept] = {}
        self._lock = threading.Lock()

    def state(self, place: Place, atoms: Array) -> Array | None:
        """Return the last states of columns (l, k) for these atoms, or None."""
        kept = self._kept.get(place)
        if kept is None:
            return None
        return kept.state(atoms)

    def keep(self, place: Place, atoms: Array, state: Array) -> None:
        """Keep the states of columns (l, k) for these atoms, if there is room."""
        new = _Kept.of(atoms, state)
        with self._lock:
            self._kept.pop(place, None)
            if self.n_bytes + new.n_bytes > _MAX_BYTES:
                # what other searches left behind, which have ended without a word
                self._kept = {
                    other: kept
                    for other, kept in self._kept.items()
                    if other.search == place.search
                }
            if self.n_bytes + new.n_bytes <= _MAX_BYTES:
                self._kept[place] = new

    def forget(self, search: str) -> None:
        """Keep nothing of a search any longer."""
        with self._lock:
            self._kept = {
                place: kept for place, kept in self._kept.items() if place.search != search
            }

    @property
    def n_bytes(self) -> int:
        """What is kept takes this much memory."""
        return sum(kept.n_bytes for kept in self._kept.values())


# of this process
warm_starts = WarmStarts()


def forget(search: str) -> None:
    """Keep nothing of a search in this process any longer."""
    warm_starts.forget(search)
