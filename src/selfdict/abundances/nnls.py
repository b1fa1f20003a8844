"""Nonnegative least squares for many right-hand sides, and how long that will take."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array
from selfdict.abundances.blocks import (
    ColumnSolver,
    check_pair,
    check_start,
    fit_columns,
)
from selfdict.compute.deadline import Deadline
from selfdict.kernels.columns import dense_columns

MANY_ENDMEMBERS = 30  # a fit of a single column by more of them takes milliseconds


def nnls(U: ArrayLike, M: ArrayLike, *, H0: ArrayLike | None = None) -> Array:
    """Return the H ≥ 0 that minimises ‖M − U H‖_F. Each column is solved exactly.

    Parameters
    ----------
    U : (m, r) array_like
        The dictionary, for example the pure pixels M(:, K). More columns than rows, duplicates and
        zero columns are allowed; a zero column has coefficient zero.
    M : (m, n) array_like or sparse array
        One right-hand side per column; a ``np.memmap`` is read a block of columns at a time.
    H0 : (r, n) array_like, optional
        A start, such as the solution of a nearby problem. It saves time and does not change the
        result. Only where it is positive matters.

    Returns
    -------
    (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64. The computation is in
        float64.

    Notes
    -----
    The columns of U are scaled to norm about one and reduced to a triangle by QR. If its condition
    number is below 1e3, the active sets work on its Gram matrix, otherwise on the triangle itself,
    which does not square the condition number. From 1e5 on they work on U without the reduction:
    slower, but such a U would magnify the rounding errors of the reduction. If the solution is not
    unique, as with duplicates in U, one of the solutions is returned.

    Results agree with ``scipy.optimize.nnls`` to 1e-9 up to a condition number of 1e6. Beyond that,
    neither is as accurate, and these results are closer to the solution in exact arithmetic.

    Examples
    --------
    >>> from selfdict import nnls
    >>> nnls([[1.0, 1.0], [0.0, 1.0]], [[3.0, 1.0], [1.0, 2.0]])
    array([[2. , 0. ],
           [1. , 1.5]])
    """
    U, M, dtype = check_pair(U, M)
    H0 = check_start(H0, (U.shape[1], M.shape[1]))
    scale = near_norms(U)
    return fit_columns(_solver(U / scale), M, H0, dtype, scale)


def near_norms(U: Array) -> Array:
    """Return the powers of two next to the norms of the columns, which divide without rounding."""
    norms = np.linalg.norm(U, axis=0)
    exponents = np.round(np.log2(norms, out=np.zeros_like(norms), where=norms > 0))
    return np.asarray(np.exp2(exponents))


def _solver(U: Array) -> ColumnSolver:
    """Return the solver for columns that are zero or of norm about one."""
    Q, R = np.linalg.qr(U)
    R[:, ~U.any(axis=0)] = 0.0
    solver = ColumnSolver(R, Q, np.zeros(len(R)), simplex=False)
    # Up to this condition number, the reduction by QR leaves ten digits.
    if solver.condition <= 1e5:
        return solver
    return ColumnSolver(U, None, np.zeros(len(U)), simplex=False)


def predicted_seconds(work: Callable[[Array], Any], M: Any) -> float:
    """Return about how long some work takes for all columns of M (m, n), from trials with a few."""
    n = int(M.shape[1])
    few = 32
    if n <= few:
        return _seconds(work, M, n)
    of_few = _seconds(work, M, few)
    size = 1024
    if of_few > 0.05:
        size = 256
    size = min(size, n)
    of_more = _seconds(work, M, size)
    # What does not depend on the number of columns is in both, such as a factor of the endmembers.
    per_column = (of_more - of_few) / (size - few)
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
    """Whether there is time to fit all columns of M by those of U several times."""
    if deadline.left is None:
        return True
    if deadline.passed and U.shape[1] >= MANY_ENDMEMBERS:
        return False  # even a prediction takes long
    return deadline.affords(n_fits * predicted_seconds(lambda columns: nnls(U, columns), M))
