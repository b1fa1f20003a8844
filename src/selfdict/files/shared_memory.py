"""Memory that the reader process and its parent share, and how metadata with arrays travel.

The memory is a file without a name, whose descriptor the child inherits. Named shared memory would
not do: Python's resource tracker unlinks it when a process that merely attached to it ends.
"""

import mmap
import os
import tempfile
from typing import Any

import numpy as np

from selfdict.files.cube import Array

_ALIGNMENT = 64


def create_memory() -> int:
    """Return a descriptor of an anonymous file, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("selfdict-reader")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


class SharedMemory:
    """A view of the shared memory, enlarged on use."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | None = None

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int = 0) -> Array:
        """Return an array in the memory, which the next request overwrites."""
        n_bytes = offset + dtype.itemsize
        for size in shape:
            n_bytes = offset + (n_bytes - offset) * size
        if self._map is None or len(self._map) < n_bytes:
            # An old map stays as long as arrays refer to it.
            self._map = None
            # A map must not be empty.
            n_mapped = max(n_bytes, os.fstat(self.descriptor).st_size, 1)
            os.ftruncate(self.descriptor, n_mapped)
            self._map = mmap.mmap(self.descriptor, n_mapped)
        return np.ndarray(shape, dtype, self._map, offset)

    def close(self) -> None:
        """Close the descriptor; arrays stay valid."""
        os.close(self.descriptor)


def pack(value: Any, memory: SharedMemory) -> Any:
    """Return a value as JSON takes it, its arrays moved to the shared memory."""
    return _packed(value, memory, [0])


def _packed(value: Any, memory: SharedMemory, end: list[int]) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        stored = np.ascontiguousarray(value, value.dtype.newbyteorder("="))
        offset = end[0]
        memory.array(stored.shape, stored.dtype, offset)[...] = stored
        end[0] = -(-(offset + stored.nbytes) // _ALIGNMENT) * _ALIGNMENT
        return {"array": [stored.dtype.str, list(value.shape), offset]}
    if isinstance(value, np.ndarray):
        return [str(entry) for entry in value.tolist()]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): _packed(entry, memory, end) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(entry, memory, end) for entry in value]
    return value


def unpack(value: Any, memory: SharedMemory) -> Any:
    """Return what :func:`pack` packed; arrays are copies."""
    if isinstance(value, dict):
        if value.keys() == {"array"}:
            code, shape, offset = value["array"]
            return memory.array(tuple(shape), np.dtype(code), offset).copy()
        return {key: unpack(entry, memory) for key, entry in value.items()}
    if isinstance(value, list):
        return [unpack(entry, memory) for entry in value]
    return value
