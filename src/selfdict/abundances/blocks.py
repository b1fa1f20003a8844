"""What ``nnls`` and ``fcls`` share: checks of their input, and the solution block by block."""

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


class ColumnSolver:
    """Solve min ‖y − R x‖ over x ≥ 0 for y = Pᵀm + offset and many columns m.

    Parameters
    ----------
    R : (q, r) ndarray of float64
        Its columns are zero or of norm about one.
    P : (m, q) ndarray of float64, optional
        Maps a column of M to the rows of R; by default these are the rows of M.
    offset : (q,) ndarray of float64
        Added to the mapped column.
    simplex : bool
        Whether Σx = 1 must hold.

    Attributes
    ----------
    condition : float
        The condition number of the nonzero columns of R.
    stable : bool
        Whether the stable form of :mod:`selfdict.kernels.active_set` is used, or the Gram form.
    """

    def __init__(self, R: Array, P: Array | None, offset: Array, *, simplex: bool) -> None:
        self.Rt = np.ascontiguousarray(R.T)
        self.G = R.T @ R
        self.P = P
        if P is not None:
            self.P = np.ascontiguousarray(P)
        self.offset = offset
        self.simplex = simplex
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
        """Return the solutions (n, r) for the columns of M (m, n).

        If given, ``H0`` (r, n) is the start: the entries that are positive there are free at first.
        """
        if self.P is None:
            Y = np.array(dense_columns(M, slice(None)), order="C")
        elif issparse(M):
            Y = np.ascontiguousarray((M.T @ self.P).T)
        else:
            Y = self.P.T @ M
        Y += self.offset[:, None]
        # Tested on Y, which is smaller than M: NaN and infinity in M, or an overflow, show there.
        if not np.isfinite(Y).all():
            raise InputError("M contains NaN or infinity, or values too large to compute with")
        warm = H0 is not None
        if H0 is None:
            X = np.empty((M.shape[1], len(self.Rt)))
        else:
            X = np.array(H0.T, dtype=np.float64, order="C")
        active_set(self.Rt, self.G, self.guess, self.shift, Y, X, self.simplex, self.stable, warm)
        return X


def for_blocks(task: Callable[[slice, Array], Any], M: Array, block: int | None) -> None:
    """Call ``task(columns, M[:, columns])`` for blocks of columns, on several threads.

    The columns are passed in float64. ``block`` is their number, None for the default.
    """
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
