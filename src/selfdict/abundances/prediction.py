"""How long a fit will take, from a fit of a few columns."""

import time
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.abundances.nnls import nnls
from selfdict.kernels.sparse import dense_columns


def predicted_seconds(U: Array, M: Any) -> float:
    """Return about how long ``nnls(U, M)`` takes: the time for 256 columns, scaled.

    Parameters
    ----------
    U : (m, r) ndarray
        Endmembers.
    M : (m, n) ndarray or sparse array
        Pixels.

    Returns
    -------
    float
    """
    n_sampled = 256
    n = int(M.shape[1])
    step = max(1, n // n_sampled)
    sample = dense_columns(M, np.arange(0, n, step))
    started = time.perf_counter()
    nnls(U, sample)
    seconds = time.perf_counter() - started
    return float(seconds * n / sample.shape[1])
