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


_kept: dict[Place, _Kept] = {}
_lock = threading.Lock()


def last_state(place: Place, atoms: Array) -> Array | None:
    """Return the last states of columns (l, k) for these atoms, or None."""
    kept = _kept.get(place)
    if kept is None:
        return None
    return kept.state(atoms)


def keep_state(place: Place, atoms: Array, state: Array) -> None:
    """Keep the states of columns (l, k) for these atoms, if there is room."""
    new = _Kept.of(atoms, state)
    with _lock:
        _kept.pop(place, None)
        if kept_bytes() + new.n_bytes > _MAX_BYTES:
            # what other searches left behind, which have ended without a word
            for other in [other for other in _kept if other.search != place.search]:
                del _kept[other]
        if kept_bytes() + new.n_bytes <= _MAX_BYTES:
            _kept[place] = new


def forget(search: str) -> None:
    """Keep nothing of a search any longer."""
    with _lock:
        for place in [place for place in _kept if place.search == search]:
            del _kept[place]


def kept_bytes() -> int:
    """Return how much memory is taken."""
    return sum(kept.n_bytes for kept in _kept.values())
