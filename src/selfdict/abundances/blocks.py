"""What ``nnls`` and ``fcls`` share: the columns of M, a block at a time, through the active-set kernel."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix
from selfdict.kernels.active_set import active_set
from selfdict.kernels.threads import for_slices

_BLOCK_ENTRIES = 1 << 20  # 8 MiB of float64: large for BLAS, small for the cache
_SLICE = 512
_GRAM_CONDITION = 1e3  # the Gram form squares it, and 1e-16 · 1e6 still leaves ten digits


class ColumnSolver:
    """Solve min ‖y − R x‖ over x ≥ 0, and Σx = 1 if ``simplex``, where y = Pᵀm + offset, for blocks of columns m.

    Parameters
    ----------
    R : (q, r) ndarray of float64
        Its columns are zero or of norm about one.
    P : (m, q) ndarray of float64
    offset : (q,) ndarray of float64
    simplex : bool
    """

    def __init__(self, R: Array, P: Array, offset: Array, *, simplex: bool) -> None:
        self.R, self.P, self.offset, self.simplex = R, P, offset, simplex
        nonzero = R.any(axis=0)
        singular = np.linalg.svd(R[:, nonzero], compute_uv=False)
        self.stable = len(singular) < nonzero.sum() or not np.all(_GRAM_CONDITION * singular > singular[:1])
        self.A = np.ascontiguousarray(R.T) if self.stable else R.T @ R
        # without x ≥ 0 the solution is affine in y: x = guess y + shift
        self.guess, self.shift = np.zeros(R.shape[::-1]), np.zeros(R.shape[1])
        self.guess[nonzero] = np.linalg.pinv(R[:, nonzero])
        if simplex:
            direction = self.guess @ self.guess.sum(axis=0)  # (RᵀR)⁻¹ 1
            self.shift = direction / direction.sum()
            self.guess -= np.outer(self.shift, self.guess.sum(axis=0))

    def __call__(self, M: Array, X0: Array | None = None) -> Array:
        """Return the (n, r) solutions for the columns of M (m, n), starting at ``X0`` (n, r), which is overwritten."""
        Y = M.T @ self.P
        Y += self.offset
        if not np.isfinite(Y).all():
            raise ValueError("M contains NaN or infinity, or values too large to compute with")
        X = Y @ self.guess.T + self.shift if X0 is None else X0
        D = Y if self.stable else Y @ self.R
        accept = X0 is None and not self.stable

        def task(start: int, stop: int) -> None:
            active_set(self.A, D, X, self.simplex, self.stable, accept, start, stop)

        for_slices(task, X.shape[0], _SLICE)
        return X


def check_pair(U: ArrayLike, M: ArrayLike) -> tuple[Array, Array, type]:
    """Return U as float64, M unread, and the dtype of what is computed from them."""
    U, M = as_matrix(U, "U"), as_matrix(M, finite=False)
    if U.shape[0] != M.shape[0]:
        raise ValueError(f"U and M must have equally many rows, got shapes {U.shape} and {M.shape}")
    return np.asarray(U, dtype=np.float64), M, np.result_type(U, M).type


def check_start(H0: ArrayLike | None, shape: tuple[int, int]) -> Array | None:
    """Return the start as a matrix of the given shape, or None."""
    if H0 is None:
        return None
    H0 = as_matrix(H0, "H0", finite=False)
    if H0.shape != shape:
        raise ValueError(f"H0 must have shape {shape}, got {H0.shape}")
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
        raise ValueError(f"out must have shape {shape}, got {out.shape}")
    return out


def column_blocks(M: Array, block: int | None) -> Iterator[tuple[slice, Array]]:
    """Yield slices of columns and these columns of M as float64."""
    m, n = M.shape
    size = max(_SLICE, _BLOCK_ENTRIES // m) if block is None else block
    if size < 1:
        raise ValueError(f"block must be at least 1 column, got {block}")
    for start in range(0, n, size):
        columns = slice(start, min(start + size, n))
        yield columns, np.asarray(M[:, columns], dtype=np.float64)
