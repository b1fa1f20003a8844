"""How long a fit of many columns will take, from a fit of a few."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.abundances.nnls import nnls
from selfdict.compute.deadline import Deadline
from selfdict.kernels.sparse import dense_columns

_SAMPLE_SIZES = (32, 1024)  # columns that are tried
_LONG_ENOUGH = 0.05  # seconds; of a shorter time most is not spent on columns
MANY_ENDMEMBERS = 30  # a fit of a single column by more of them takes milliseconds


def predicted_seconds(work: Callable[[Array], Any], M: Any) -> float:
    """Return about how long some work takes for all columns of M.

    Parameters
    ----------
    work : callable
        Called with a few columns of M.
    M : (m, n) ndarray or sparse array
        Pixels.

    Returns
    -------
    float

    Examples
    --------
    >>> import time
    >>> import numpy as np
    >>> seconds = predicted_seconds(lambda M: time.sleep(0.01 * M.shape[1]), np.ones((2, 1000)))
    >>> bool(9 < seconds < 30)
    True
    """
    n = int(M.shape[1])
    seconds = 0.0
    for size in _SAMPLE_SIZES:
        columns = np.linspace(0, n - 1, min(size, n)).astype(np.intp)
        sample = dense_columns(M, columns)
        started = time.perf_counter()
        work(sample)
        seconds = (time.perf_counter() - started) / columns.size
        if seconds * columns.size > _LONG_ENOUGH:
            break
    return seconds * n


def affords_fits(deadline: Deadline, n_fits: int, U: Array, M: Any) -> bool:
    """Whether there is time to fit all columns of M by those of U several times.

    Parameters
    ----------
    deadline : Deadline
        The time limit.
    n_fits : int
        How often they are fitted.
    U : (m, r) ndarray
        Endmembers.
    M : (m, n) ndarray or sparse array
        Pixels.

    Returns
    -------
    bool
    """
    if deadline.left is None:
        return True
    if deadline.passed and U.shape[1] >= MANY_ENDMEMBERS:
        return False  # even a prediction takes long
    return deadline.affords(n_fits * predicted_seconds(lambda columns: nnls(U, columns), M))
