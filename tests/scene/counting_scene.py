"""A lazy scene that counts how often its values are read."""

import dask.array
import numpy as np


class CountingArray:
    """An array whose values dask reads, as it reads those of a file."""

    def __init__(self, values):
        self._values = values
        self.shape = values.shape
        self.dtype = values.dtype
        self.ndim = values.ndim
        self.n_read = 0

    def __getitem__(self, key):
        part = self._values[key]
        self.n_read += part.size
        return part

    @property
    def n_times(self):
        """How often every value was read, on average."""
        return self.n_read / self._values.size


def counted(scene, n_rows=5):
    """Return the scene in chunks of a few rows, and what counts the reading."""
    array = CountingArray(np.asarray(scene.values))
    n_bands, _, n_columns = scene.shape
    data = dask.array.from_array(array, chunks=(n_bands, n_rows, n_columns), name=False)
    return scene.copy(data=data), array
