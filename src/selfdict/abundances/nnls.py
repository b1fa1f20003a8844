"""Nonnegative least squares for many right-hand sides, and how long that will take."""

import time
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array
from selfdict.abundances.blocks import (
    ColumnSolver,
    check_out,
    check_pair,
    check_range,
    check_start,
    for_blocks,
)
from selfdict.compute.deadline import Deadline
from selfdict.compute.device import choose_device, is_tensor, to_device, to_numpy
from selfdict.compute.scaling import times_powers_of_two, unusual_column_exponents
from selfdict.kernels.columns import dense_columns, squared_norms

_FEW = 32  # columns that are tried first
_MORE = 256  # columns that are tried then, if those took long
_MANY = 1024  # columns that are tried then, if those took a moment
_LONG = 0.05  # seconds
MANY_ENDMEMBERS = 30  # a fit of a single column by more of them takes milliseconds


@overload
def nnls(
    U: ArrayLike,
    M: ArrayLike,
    *,
    H0: ArrayLike | None = ...,
    out: Array | None = ...,
    block: int | None = ...,
    return_kkt: Literal[False] = ...,
    device: Any = ...,
) -> Array: ...
@overload
def nnls(
    U: ArrayLike,
    M: ArrayLike,
    *,
    H0: ArrayLike | None = ...,
    out: Array | None = ...,
    block: int | None = ...,
    return_kkt: Literal[True],
    device: Any = ...,
) -> tuple[Array, Array]: ...
def nnls(
    U: ArrayLike,
    M: ArrayLike,
    *,
    H0: ArrayLike | None = None,
    out: Array | None = None,
    block: int | None = None,
    return_kkt: bool = False,
    device: Any = None,
) -> Array | tuple[Array, Array]:
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
    out : (r, n) ndarray of floats, optional
        Where to write H, for example a ``np.memmap``.
    block : int, optional
        How many columns a thread reads at a time; by default about 2 MiB of float64.
    return_kkt : bool
        Whether to return the KKT residuals as well.
    device : {None, "cpu", "cuda"}, optional
        The device; see :doc:`/large-data`. ``H0`` and ``block`` are not used on a GPU.

    Returns
    -------
    H : (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64. The computation is in
        float64. If M is a torch tensor and ``out`` is not given, H is a tensor on the same
        device.
    kkt : (n,) ndarray of float64
        Only with ``return_kkt``. For column j the largest violation, over i, of g_i ≤ 0 and, where
        h_i > 0, of g_i = 0, with g = Uᵀ(m_j − U h_j) for the h_j returned, in units of ‖u_i‖ ‖m_j‖.

    Raises
    ------
    InputError
        If the dtype of H cannot represent the coefficients, as with U and M of very different
        units.

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
    device = choose_device(device, M)
    if device is not None:
        on_device: Array = _on_device(to_numpy(U), M, out, return_kkt, device)
        return on_device
    U, M, dtype = check_pair(U, M)
    shape = (U.shape[1], M.shape[1])
    H0 = check_start(H0, shape)
    H = check_out(out, shape, dtype)
    scaled = _ScaledDictionary(U)
    kkt = np.zeros(M.shape[1])
    sizes: list[tuple[float, float]] = []

    def task(columns: slice, m: Array) -> None:
        start = None
        if H0 is not None:
            start = H0[:, columns]
        X, exponents = scaled.solver(m, start)
        coefficients = scaled.coefficients(X, exponents)
        # Ordinary columns and float64 cannot leave the range.
        if H.dtype != np.float64 or exponents.any() or scaled.exponents.any():
            sizes.append((float(X.max()), float(coefficients.max())))
        H[:, columns] = coefficients.T
        if return_kkt:  # of H as it is returned, maybe in float32
            kkt[columns] = scaled.kkt_residuals(m, H[:, columns], exponents)

    for_blocks(task, M, block)
    check_range(sizes, H.dtype)
    if return_kkt:
        return H, kkt
    return H


class _ScaledDictionary:
    """The columns of U scaled by powers of two, which is exact, and their solver."""

    def __init__(self, U: Array) -> None:
        # First step: columns of unusual size are brought near one.
        self.exponents = unusual_column_exponents(U)
        self.U = U
        if self.exponents.any():
            self.U = times_powers_of_two(U, -self.exponents)
        norms = np.linalg.norm(self.U, axis=0)
        exponents = np.log2(norms, out=np.zeros_like(norms), where=norms > 0)
        # Second step: to norms of about one.
        self.scale = np.exp2(np.round(exponents))
        self.unit = self.U / self.scale
        Q, R = np.linalg.qr(self.unit)
        R[:, norms == 0] = 0.0
        self.solver = ColumnSolver(R, Q, np.zeros(len(R)), simplex=False)
        # Up to this condition number, the reduction by QR leaves ten digits.
        if self.solver.condition > 1e5:
            self.solver = ColumnSolver(self.unit, None, np.zeros(len(U)), simplex=False)

    def coefficients(self, X: Array, exponents: Array) -> Array:
        """Return solutions (n, r) for ``unit`` and scaled columns as those for U and M itself."""
        H: Array = X / self.scale
        if exponents.any() or self.exponents.any():
            H = times_powers_of_two(H, exponents[:, None] - self.exponents)
        return H

    def kkt_residuals(self, M: Array, H: Array, exponents: Array) -> Array:
        """Return the violations that :func:`nnls` documents, which have no unit."""
        if exponents.any() or self.exponents.any():
            M = times_powers_of_two(M, -exponents)
            H = times_powers_of_two(H.astype(np.float64), self.exponents[:, None] - exponents)
        return _kkt_residuals(self.U, M, H)


def _on_device(U: ArrayLike, M: Any, out: Array | None, return_kkt: bool, device: Any) -> Any:
    """Solve on a device; the CPU solves what is ill-conditioned."""
    from selfdict.gpu.matrix import as_tensor
    from selfdict.gpu.nnls import solve_columns

    data = as_tensor(M, device)
    # One column is enough for the checks and the dtype: M is not copied to the host.
    U, _, dtype = check_pair(U, to_numpy(data[:, :1]))
    scaled = _ScaledDictionary(U)
    solver = scaled.solver
    C = to_device(scaled.unit, device).T @ data.double()
    largest = float(C.abs().max())
    ordinary = 2.0**-200 < largest < 2.0**200 and not scaled.exponents.any()
    if not ordinary or solver.stable or not solver.G.diagonal().all():
        # The factorisation on the device needs a well-conditioned dictionary without zero columns,
        # and data whose squares stay inside the range.
        H = nnls(U, to_numpy(data))
    else:
        X, solved = solve_columns(to_device(solver.G, device), C)
        H = to_numpy(X) / scaled.scale[:, None]
        unsolved = np.flatnonzero(~to_numpy(solved))
        if unsolved.size:
            H[:, unsolved] = nnls(U, to_numpy(data[:, to_device(unsolved, device)]))
    H = H.astype(dtype)
    result: Any = H
    if out is not None:
        result = check_out(out, H.shape, dtype)
        result[...] = H
    elif is_tensor(M):
        result = to_device(H, device)
    if return_kkt:
        columns = to_numpy(data).astype(np.float64)
        return result, scaled.kkt_residuals(columns, H, unusual_column_exponents(columns))
    return result


def _kkt_residuals(U: Array, M: Array, H: Array) -> Array:
    """Return the violations that :func:`nnls` documents, one per column."""
    G = U.T @ (M - U @ H)
    violation = np.where(H > 0, np.abs(G), np.maximum(G, 0.0))
    unit = np.linalg.norm(U, axis=0)[:, None] * np.sqrt(squared_norms(M))
    residuals: Array = np.divide(violation, unit, out=np.zeros_like(G), where=unit > 0).max(axis=0)
    return residuals


def predicted_seconds(work: Callable[[Array], Any], M: Any) -> float:
    """Return about how long some work takes for all columns of M (m, n), from trials with a few."""
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
    """Whether there is time to fit all columns of M by those of U several times."""
    if deadline.left is None:
        return True
    if deadline.passed and U.shape[1] >= MANY_ENDMEMBERS:
        return False  # even a prediction takes long
    return deadline.affords(n_fits * predicted_seconds(lambda columns: nnls(U, columns), M))
