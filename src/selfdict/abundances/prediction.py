"""How long a fit of many columns will take, from a fit of a few."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.abundances.nnls import nnls
from selfdict.compute.deadline import Deadline
from selfdict.kernels.sparse import dense_columns

_FEW = 32  # columns that are tried first
_MORE = 256  # columns that are tried then, if those took long
_MANY = 1024  # columns that are tried then, if those took a moment
_LONG = 0.05  # seconds
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
    >>> seconds = predicted_seconds(lambda M: time.sleep(0.002 * M.shape[1]), np.ones((2, 1000)))
    >>> bool(1.8 < seconds < 6)
    True
    """
    n = int(M.shape[1])
    if n <= _FEW:
        return _seconds(work, M, n)
    of_few = _seconds(work, M, _FEW)
    size = _MANY
    if of_few > _LONG:
        size = _MORE
    size = min(size, n)
    of_more = _seconds(work, M, size)
    # What does not depend on the number of columns is in both, such as a factor of the endmembers.
    per_column = (of_more - of_few) / (size - _FEW)
    if per_column <= 0:
        per_column = of_more / size  # the first one has compiled a kernel
    return of_more + per_column * (n - size)


def _seconds(work: Callable[[Array], Any], M: Any, size: int) -> float:
    """Return how long some work takes for evenly spread columns of M."""
    columns = np.linspace(0, M.shape[1] - 1, size).astype(np.intp)
    sample = dense_columns(M, columns)
    started = time.perf_counter()
    work(sample)
    return time.perf_counter() - started


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
