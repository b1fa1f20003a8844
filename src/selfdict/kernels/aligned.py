"""Memory whose rows start at cache lines: a vector across two lines would take two loads."""

import numpy as np

from selfdict._validation import Array

_DOUBLES_PER_LINE = 8  # float64 numbers in a cache line of 64 bytes


def aligned_zeros(n_rows: int, length: int) -> Array:
    """Return rows of at least ``length`` zeros, each up to the end of a cache line."""
    width = -(-length // _DOUBLES_PER_LINE) * _DOUBLES_PER_LINE
    memory = np.zeros(n_rows * width + _DOUBLES_PER_LINE)
    start = -(memory.ctypes.data // memory.itemsize) % _DOUBLES_PER_LINE
    return memory[start : start + n_rows * width].reshape((n_rows, width))
