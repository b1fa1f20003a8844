"""Block by block: how ``nnls`` and ``fcls`` solve many columns, and the residuals that are left."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_floats, as_matrix, check_columns, largest_size
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.active_set import active_set
from selfdict.kernels.columns import dense_columns, squared_norms

# With Σx = 1, the largest entry of y: further away than float64 has digits, the solution is that
# for a point infinitely far away in the same direction.
_FAR = 2.0**60


class ColumnSolver:
    """Solve min ‖y − R x‖ over x ≥ 0 for y = Pᵀm + offset and many columns m."""

    def __init__(self, R: Array, P: Array | None, offset: Array, *, simplex: bool) -> None:
        # R (q, r) has columns that are zero or of norm about one.
        self.Rt = np.ascontiguousarray(R.T)
        self.G = R.T @ R
        # P (m, q) maps a column of M to the rows of R; None: these are the rows of M.
        self.P = P
        if P is not None:
            self.P = np.ascontiguousarray(P)
        self.offset = offset
        self.simplex = simplex  # whether Σx = 1 must hold
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

    def __call__(self, M: Array, H0: Array | None = None) -> Array:
        """Return solutions (n, r) for the columns of M (m, n); where H0 is positive, they start."""
        Y = self._right_hand_sides(M)
        if self.simplex:
            Y /= np.maximum(np.abs(Y).max(axis=0) / _FAR, 1.0)
        warm = H0 is not None
        if H0 is None:
            X = np.empty((M.shape[1], len(self.Rt)))
        else:
            X = np.array(H0.T, dtype=np.float64, order="C")
        active_set(self.Rt, self.G, self.guess, self.shift, Y, X, self.simplex, self.stable, warm)
        return X

    def _right_hand_sides(self, M: Array) -> Array:
        """Return the columns y for the columns of M."""
        if self.P is None:
            Y = np.array(dense_columns(M, slice(None)), order="C")
        elif issparse(M):
            Y = np.ascontiguousarray((M.T @ self.P).T)
        else:
            Y = self.P.T @ M
        Y += self.offset[:, None]
        return Y


def fit_columns(
    solver: ColumnSolver, M: Array, H0: Array | None, dtype: type, scale: Array | float = 1.0
) -> Array:
    """Return the solutions for all columns of M divided by ``scale``, as columns, in a dtype."""
    H: Array = np.empty((len(solver.Rt), M.shape[1]), dtype=dtype)

    def task(columns: slice, m: Array) -> None:
        start = None
        if H0 is not None:
            start = H0[:, columns]
        H[:, columns] = (solver(m, start) / scale).T

    _for_blocks(task, M)
    return H


def _for_blocks(task: Callable[[slice, Array], Any], M: Array) -> None:
    """Call ``task(columns, M[:, columns])`` for blocks of columns in float64, on threads.

    Here, where they are read, the values of M are checked.
    """

    def on_slice(start: int, stop: int) -> None:
        columns = slice(start, stop)
        part = M[:, columns]
        _check(part, start)
        if issparse(M):
            part = part.astype(np.float64)
        else:
            part = np.asarray(part, dtype=np.float64)
        task(columns, part)

    columns_per_block = 512
    if not issparse(M):
        # 2 MiB of float64: it stays in cache, and the calls from Python cost little beside the work
        columns_per_block = min(max((1 << 18) // M.shape[0], 64), 4096)
    with single_threaded_blas():
        for_slices(on_slice, M.shape[1], columns_per_block)


def _check(part: Array, start: int) -> None:
    """Refuse columns that cannot be computed with; norms, which cost less, tell the others."""
    squares = squared_norms(part)
    limit = largest_size(part.dtype) ** 2
    # the largest entry is at most the norm, and at least the norm over √m
    is_sound = (squares <= limit) & (squares * limit >= part.shape[0])
    if not is_sound.all():
        check_columns(part, first=start)


def check_pair(U: ArrayLike, M: ArrayLike) -> tuple[Array, Array, type]:
    """Return U in float64, M without reading it, and the dtype of what is computed from them."""
    U = as_matrix(U, "U")
    M = as_floats(M, sparse=True)
    if U.shape[0] != M.shape[0]:
        raise InputError(f"U and M must have equally many rows, got shapes {U.shape} and {M.shape}")
    return np.asarray(U, dtype=np.float64), M, np.result_type(U.dtype, M.dtype).type


def check_start(H0: ArrayLike | None, shape: tuple[int, int]) -> Array | None:
    """Return the start as a matrix of the given shape, or None."""
    if H0 is None:
        return None
    H0 = as_floats(H0, "H0")
    if H0.shape != shape:
        raise InputError(f"H0 must have shape {shape}, got {H0.shape}")
    return H0


def column_residuals(U: ArrayLike, M: ArrayLike, H: ArrayLike) -> Array:
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
    H = as_floats(H, "H")
    if H.shape != (U.shape[1], M.shape[1]):
        raise InputError(f"H must have shape {(U.shape[1], M.shape[1])}, got {H.shape}")
    norms = np.empty(M.shape[1])

    def task(columns: slice, m: Array) -> None:
        norms[columns] = np.sqrt(_squares(U, m, H[:, columns]))

    _for_blocks(task, M)
    if not np.isfinite(norms).all():
        raise InputError("H contains NaN, infinity or values too large to compute with")
    return norms


def _squares(U: Array, M: Any, H: Array) -> Array:
    """Return ‖m_j − U h_j‖² of dense or sparse columns."""
    if issparse(M):
        return _sparse_squares(U, M, H)
    residual = M - U @ H
    squares: Array = np.einsum("ij,ij->j", residual, residual)
    return squares


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
