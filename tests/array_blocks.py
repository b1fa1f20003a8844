"""Columns in blocks, as the solver for scenes larger than memory takes them, from an array."""

import numpy as np


class ArrayBlocks:
    """An array in memory as blocks of ``size`` columns."""

    def __init__(self, M, size):
        self.M = M
        self.starts = np.arange(0, M.shape[1], size)
        self.sizes = np.diff(np.append(self.starts, M.shape[1]))

    def run(self, task, parts):
        """Yield the answers, one after the other."""
        for start, size, part in zip(self.starts, self.sizes, parts):
            yield task(self.M[:, start : start + size], part)

    def everywhere(self, function):
        """Call a function."""
        function()
