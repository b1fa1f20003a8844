"""What ``nnls`` and ``fcls`` share: checks, and the columns of M, a block at a time, through the kernel."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.threads import for_slices
from selfdict.kernels.active_set import active_set
from selfdict.kernels.sparse import dense_columns

_BLOCK_ENTRIES = (
    1 << 18
)  # 2 MiB of float64: it stays in cache, and the call from Python costs little beside it
_SPARSE_COLUMNS = 512  # of a block of sparse columns, which stays sparse
_GRAM_CONDITION = 1e3  # the Gram form squares it, and 1e-16 · 1e6 leaves ten digits


class ColumnSolver:
    """Solve min ‖y − R x‖ over x ≥ 0, with Σx = 1 if ``simplex``, for y = Pᵀm + offset and many columns m.

    Parameters
    ----------
    R : (q, r) ndarray of float64
        Its columns are zero or of norm about one.
    P : (m, q) ndarray of float64, optional
        Takes a column of M to the rows of R; by default these are the rows of M.
    offset : (q,) ndarray of float64
        What is added there.
    simplex : bool
        Whether Σx = 1 must hold.

    Attributes
    ----------
    condition : float
        The condition number of the nonzero columns of R.
    """

    def __init__(self, R: Array, P: Array | None, offset: Array, *, simplex: bool) -> None:
        self.Rt, self.G = np.ascontiguousarray(R.T), R.T @ R
        self.P = None if P is None else np.ascontiguousarray(P)
        self.offset, self.simplex = offset, simplex
        nonzero = R.any(axis=0)
        singular = np.linalg.svd(R[:, nonzero], compute_uv=False)
        independent = len(singular) == nonzero.sum() and np.all(singular > 0)
        self.condition = (
            float(np.max(singular[:1] / singular, initial=1.0)) if independent else np.inf
        )
        self.stable = self.condition >= _GRAM_CONDITION
        # without x ≥ 0 the solution is affine in y: x = guess y + shift
        self.guess, self.shift = np.zeros(R.shape[::-1]), np.zeros(R.shape[1])
        self.guess[nonzero] = np.linalg.pinv(R[:, nonzero])
        if simplex:
            direction = self.guess @ self.guess.sum(axis=0)  # (RᵀR)⁻¹ 1
            self.shift = direction / direction.sum()
            self.guess -= np.outer(self.shift, self.guess.sum(axis=0))

    def __call__(self, M: Array, H0: Array | None = None) -> Array:
        """Return the (n, r) solutions for the columns of M (m, n), from where ``H0`` (r, n) is positive."""
        if self.P is None:
            Y = np.array(dense_columns(M, slice(None)), order="C")
        else:
            Y = np.ascontiguousarray((M.T @ self.P).T) if issparse(M) else self.P.T @ M
        Y += self.offset[:, None]
        if not np.isfinite(Y).all():
            raise InputError("M contains NaN or infinity, or values too large to compute with")
        warm = H0 is not None
        X = (
            np.empty((M.shape[1], len(self.Rt)))
            if H0 is None
            else np.array(H0.T, dtype=np.float64, order="C")
        )
        active_set(self.Rt, self.G, self.guess, self.shift, Y, X, self.simplex, self.stable, warm)
        return X


def for_blocks(task: Callable[[slice, Array], Any], M: Array, block: int | None) -> None:
    """Call ``task(columns, M[:, columns])``, in float64, for blocks of columns and on several threads."""
    m, n = M.shape
    if block is not None and (not isinstance(block, Integral) or block < 1):
        raise InputError(f"block must be a number of columns, at least 1, got {block!r}")
    size = block or (_SPARSE_COLUMNS if issparse(M) else min(max(_BLOCK_ENTRIES // m, 64), 4096))

    def on_slice(start: int, stop: int) -> None:
        columns = slice(start, stop)
        with np.errstate(
            invalid="ignore", over="ignore"
        ):  # what is not finite will be an error, not a warning
            block = M[:, columns]
            task(
                columns,
                block.astype(np.float64) if issparse(M) else np.asarray(block, dtype=np.float64),
            )

    with single_threaded_blas():
        for_slices(on_slice, n, size)


def check_pair(U: ArrayLike, M: ArrayLike) -> tuple[Array, Array, type]:
    """Return U as float64, M unread, and the dtype of what is computed from them."""
    U, M = as_matrix(U, "U"), as_matrix(M, finite=False, sparse=True)
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


def check_out(out: Array | None, shape: tuple[int, int], dtype: type) -> Array:
    """Return ``out`` if it can take the result, or a new array."""
    if out is None:
        return np.empty(shape, dtype=dtype)
    if not isinstance(out, np.ndarray) or out.dtype.kind != "f":
        raise TypeError(
            f"out must be an array of floating-point numbers, got {getattr(out, 'dtype', type(out))}"
        )
    if out.shape != shape:
        raise InputError(f"out must have shape {shape}, got {out.shape}")
    return out
