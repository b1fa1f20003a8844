"""Block by block: how ``nnls`` and ``fcls`` solve many columns, and the residuals that are left."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, all_finite, as_matrix
from selfdict.compute.scaling import (
    column_exponents,
    times_power_of_two,
    times_powers_of_two,
    unusual_exponent,
)
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.active_set import active_set
from selfdict.kernels.columns import dense_columns, squared_norms

# With Σx = 1, the exponent of the largest entry of y: more than the 53 digits of float64.
_FAR_EXPONENT = 60


class ColumnSolver:
    """Solve min ‖y − R x‖ over x ≥ 0 for y = 2⁻ᵉ Pᵀm + offset and many columns m."""

    def __init__(
        self, R: Array, P: Array | None, offset: Array, *, simplex: bool, unit: int = 0
    ) -> None:
        # R (q, r) has columns that are zero or of norm about one.
        self.Rt = np.ascontiguousarray(R.T)
        self.G = R.T @ R
        # P (m, q) maps a column of M to the rows of R; None: these are the rows of M.
        self.P = P
        if P is not None:
            self.P = np.ascontiguousarray(P)
        self.offset = offset
        self.simplex = simplex  # whether Σx = 1 must hold
        self.unit = unit  # the exponent e, of the power of two that the dictionary was divided by
        # The largest entry of y that is solved as it is.
        self.limit = 2.0**200
        if simplex:
            self.limit = 2.0**_FAR_EXPONENT
        # A zero column gets the coefficient zero, and does not make R ill-conditioned.
        nonzero = R.any(axis=0)
        singular = np.linalg.svd(R[:, nonzero], compute_uv=False)
        self.condition = np.inf
        if len(singular) == nonzero.sum() and np.all(singular > 0):
            self.condition = float(np.max(singular[:1] / singular, initial=1.0))
        # The Gram form squares the condition number: 1e-16 times 1e3² leaves ten digits.
        self.stable = self.condition >= 1e3
        # Without x ≥ 0 the solution is affine in y: x = guess y + shift.
        self.guess = np.zeros(R.shape[::-1])
        self.shift = np.zeros(R.shape[1])
        self.guess[nonzero] = np.linalg.pinv(R[:, nonzero])
        if simplex:
            # Moving along (RᵀR)⁻¹ 1 reaches Σx = 1 at the least cost.
            direction = self.guess @ self.guess.sum(axis=0)
            self.shift = direction / direction.sum()
            self.guess -= np.outer(self.shift, self.guess.sum(axis=0))

    def __call__(self, M: Array, H0: Array | None = None) -> tuple[Array, Array]:
        """Return solutions (n, r) for the columns of M (m, n), and exponents (n,)."""
        # Column j was divided by 2 to the power exponents[j]: by 2ᵉ, or by another power if squares
        # of its entries would leave the range. Without Σx = 1 the solution is divided by the same.
        # Entries that are positive in H0 (r, n) are free at first.
        exponents = np.full(M.shape[1], self.unit)
        Y = self._right_hand_sides(M, exponents)
        # Tested on Y, which is smaller than M: NaN and infinity in M, or an overflow, show there.
        largest = np.abs(Y).max(axis=0)
        unusual = np.flatnonzero(~((largest > 2.0**-200) & (largest < self.limit)))
        if unusual.size:
            columns = M[:, unusual]
            if not all_finite(columns):
                raise InputError("M contains NaN or infinity")
            if self.simplex:
                solved = self._far_columns(columns)
            else:
                powers = column_exponents(columns)
                solved = self._right_hand_sides(columns, powers), powers
            Y[:, unusual], exponents[unusual] = solved
        warm = H0 is not None
        if H0 is None:
            X = np.empty((M.shape[1], len(self.Rt)))
        else:
            X = np.array(H0.T, dtype=np.float64, order="C")
        active_set(self.Rt, self.G, self.guess, self.shift, Y, X, self.simplex, self.stable, warm)
        return X, exponents

    def _far_columns(self, M: Array) -> tuple[Array, Array]:
        """Return right-hand sides for columns far from all endmembers, and their exponents."""
        # A column that is further away than float64 has digits has the solution of an infinitely
        # far one in its direction. Nearer to the limit, Σx = 1 is not lost in rounding errors.
        beyond = column_exponents(M) - self.unit
        exponents = self.unit + np.maximum(beyond - 200, 0)  # so that nothing overflows
        Y = self._right_hand_sides(M, exponents)
        beyond = np.maximum(column_exponents(Y) - _FAR_EXPONENT, 0)
        return times_powers_of_two(Y, -beyond), exponents + beyond

    def _right_hand_sides(self, M: Array, exponents: Array) -> Array:
        """Return the columns y for the columns of M divided by powers of two."""
        offset = self.offset[:, None]
        if exponents.any():
            M = times_powers_of_two(M, -exponents)
            offset = times_powers_of_two(offset, self.unit - exponents)
        if self.P is None:
            Y = np.array(dense_columns(M, slice(None)), order="C")
        elif issparse(M):
            Y = np.ascontiguousarray((M.T @ self.P).T)
        else:
            Y = self.P.T @ M
        Y += offset
        return Y


def for_blocks(task: Callable[[slice, Array], Any], M: Array, block: int | None) -> None:
    """Call ``task(columns, M[:, columns])`` for blocks of columns in float64, on threads."""
    n = M.shape[1]
    if block is not None and (not isinstance(block, Integral) or block < 1):
        raise InputError(f"block must be a number of columns, at least 1, got {block!r}")
    if block is None:
        block = _default_block(M)

    def on_slice(start: int, stop: int) -> None:
        columns = slice(start, stop)
        # NaN and infinity raise an error later: no warnings on the way.
        with np.errstate(invalid="ignore", over="ignore"):
            part = M[:, columns]
            if issparse(M):
                part = part.astype(np.float64)
            else:
                part = np.asarray(part, dtype=np.float64)
            task(columns, part)

    with single_threaded_blas():
        for_slices(on_slice, n, block)


def _default_block(M: Array) -> int:
    """Return how many columns a thread works on at a time."""
    if issparse(M):
        return 512
    # 2 MiB of float64: it stays in cache, and the calls from Python cost little beside the work.
    entries = 1 << 18
    columns: int = min(max(entries // M.shape[0], 64), 4096)
    return columns


def check_pair(U: ArrayLike, M: ArrayLike) -> tuple[Array, Array, type]:
    """Return U in float64, M without reading it, and the dtype of what is computed from them."""
    U = as_matrix(U, "U")
    M = as_matrix(M, finite=False, sparse=True)
    if U.shape[0] != M.shape[0]:
        raise InputError(f"U and M must have equally many rows, got shapes {U.shape} and {M.shape}")
    return np.asarray(U, dtype=np.float64), M, np.result_type(U.dtype, M.dtype).type


def check_start(H0: ArrayLike | None, shape: tuple[int, int]) -> Array | None:
    """Return the start as a matrix of the given shape, or None."""
    if H0 is None:
        return None
    H0 = as_matrix(H0, "H0", finite=False)
    if H0.shape != shape:
        raise InputError(f"H0 must have shape {shape}, got {H0.shape}")
    return H0


def check_range(sizes: list[tuple[float, float]], dtype: np.dtype[Any]) -> None:
    """Raise if a dtype cannot represent coefficients, given the largest of each block."""
    solved = max((size[0] for size in sizes), default=0.0)
    largest = max((size[1] for size in sizes), default=0.0)
    limits = np.finfo(dtype)
    too_small = solved > 0 and largest < float(limits.smallest_subnormal)
    if too_small or largest > float(limits.max):
        raise InputError(
            f"the coefficients leave the range of {dtype}, got {largest:.1g} as the largest one; "
            "scale U or M"
        )


def check_out(out: Array | None, shape: tuple[int, int], dtype: type) -> Array:
    """Return ``out`` if it can take the result, or a new array."""
    if out is None:
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray) or out.dtype.kind != "f":
        found = getattr(out, "dtype", type(out))
        raise TypeError(f"out must be an array of floating-point numbers, got {found}")
    if out.shape != shape:
        raise InputError(f"out must have shape {shape}, got {out.shape}")
    return out


def column_residuals(
    U: ArrayLike, M: ArrayLike, H: ArrayLike, *, block: int | None = None
) -> Array:
    """Return ‖m_j − U h_j‖₂ for every column, without holding M − U H.

    The residual itself is formed, a block of columns at a time in float64. The faster formula
    ‖m‖² − 2 hᵀUᵀm + hᵀUᵀU h loses all digits below 1e-8 ‖m‖. It is used only for sparse columns
    whose residual is at least 1e-3 ‖m‖.

    Parameters
    ----------
    U : (m, r) array_like
    M : (m, n) array_like or sparse array
        May be a ``np.memmap``.
    H : (r, n) array_like
    block : int, optional
        How many columns a thread reads at a time; by default about 2 MiB of float64.

    Returns
    -------
    (n,) ndarray of float64

    Examples
    --------
    >>> from selfdict.abundances import column_residuals
    >>> column_residuals([[1.0], [0.0]], [[2.0, 0.0], [0.0, 3.0]], [[2.0, 0.0]])
    array([0., 3.])
    """
    U, M, _ = check_pair(U, M)
    H = as_matrix(H, "H", finite=False)
    if H.shape != (U.shape[1], M.shape[1]):
        raise InputError(f"H must have shape {(U.shape[1], M.shape[1])}, got {H.shape}")
    norms = np.empty(M.shape[1])

    def task(columns: slice, m: Array) -> None:
        h = H[:, columns]
        squares = _squares(U, m, h)
        norms[columns] = np.sqrt(squares)
        # Squares that have left the range, or lost digits below it; zero is such a one, too.
        unusual = np.flatnonzero(~((squares > 2.0**-900) & (squares < np.inf)))
        if unusual.size:
            norms[columns][unusual] = _scaled_norms(U, m[:, unusual], h[:, unusual])

    for_blocks(task, M, block)
    if not np.isfinite(norms).all():
        raise InputError("M or H contains NaN or infinity, or values too large to compute with")
    return norms


def _squares(U: Array, M: Any, H: Array) -> Array:
    """Return ‖m_j − U h_j‖² of dense or sparse columns."""
    if issparse(M):
        return _sparse_squares(U, M, H)
    residual = M - U @ H
    squares: Array = np.einsum("ij,ij->j", residual, residual)
    return squares


def _scaled_norms(U: Array, M: Any, H: Array) -> Array:
    """Return ‖m_j − U h_j‖ of columns of any size."""
    # Divided by powers of two, so that the largest of all entries of a column and of what is
    # subtracted from it is about one.
    atoms = unusual_exponent(U)
    parts = column_exponents(H) + atoms
    exponents = np.maximum(column_exponents(M), parts)
    U = times_power_of_two(U, -atoms)
    M = times_powers_of_two(dense_columns(M, slice(None)), -exponents)
    H = times_powers_of_two(H.astype(np.float64), atoms - exponents)
    residual = M - U @ H
    # A residual may be much smaller than what it is the difference of.
    further = column_exponents(residual)
    residual = times_powers_of_two(residual, -further)
    squares = np.einsum("ij,ij->j", residual, residual)
    return times_powers_of_two(np.sqrt(squares), exponents + further)


def _sparse_squares(U: Array, M: Any, H: Array) -> Array:
    """Return ‖m_j − U h_j‖² of sparse columns: by products, or explicitly where these cancel."""
    norms = squared_norms(M)
    mixed = np.einsum("jk,kj->j", M.T @ U, H)
    fitted = np.einsum("kj,kj->j", (U.T @ U) @ H, H)
    squares: Array = norms - 2 * mixed + fitted
    # Below this share of ‖m‖², too many digits have cancelled.
    for j in np.flatnonzero(squares < 1e-6 * norms):
        residual = dense_columns(M, [j])[:, 0] - U @ H[:, j]
        squares[j] = residual @ residual
    return squares
