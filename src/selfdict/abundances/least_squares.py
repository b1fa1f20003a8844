"""Nonnegative least squares for many columns, with sums that are free, near one, or equal to one.

All are solved exactly, block by block, by the active sets of one kernel.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_floats, as_matrix, check_columns, largest_size
from selfdict.compute.deadline import Deadline, predicted_seconds
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.active_set import active_set
from selfdict.kernels.columns import dense_columns, squared_norms

MANY_ENDMEMBERS = 30  # a fit of a single column by more of them takes milliseconds
# With Σx = 1, the largest entry of y: further away than float64 has digits, the solution is that
# for a point infinitely far away in the same direction.
_FAR = 2.0**60


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
        result. Only the positions of its positive entries matter.

    Returns
    -------
    (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64. The computation is in
        float64.

    Notes
    -----
    The columns of U are scaled to norm about one and reduced to a triangular matrix by QR. If its
    condition number is below 1e3, the active-set method works on its Gram matrix, otherwise on the
    triangular matrix itself, which does not square the condition number. From 1e5 on it works on U
    without the reduction, which is slower, but such a U would magnify the rounding errors of the
    reduction. If the solution is not unique, as with duplicates in U, one of the solutions is
    returned.

    Results agree with ``scipy.optimize.nnls`` to 1e-9 up to a condition number of 1e6. Beyond that
    both are less accurate, and these results are closer to the solution in exact arithmetic.

    Examples
    --------
    >>> from selfdict import nnls
    >>> nnls([[1.0, 1.0], [0.0, 1.0]], [[3.0, 1.0], [1.0, 2.0]])
    array([[2. , 0. ],
           [1. , 1.5]])
    """
    return soft_sum(U, M, 0.0, H0)


def soft_sum(U: ArrayLike, M: ArrayLike, stiffness: float, H0: ArrayLike | None = None) -> Array:
    """Return the H ≥ 0 that minimises ‖M − U H‖² + λ a² Σ_j (Σ_i H_ij − 1)².

    The unit a is the length of the longest column of U, so λ ≥ 0, the stiffness, has none. λ = 0 is
    :func:`nnls`, λ = ∞ is :func:`fcls`.
    """
    if math.isinf(stiffness):
        return fcls(U, M, H0=H0)
    U, M, dtype = _check_pair(U, M)
    r = U.shape[1]
    H0 = _check_start(H0, (r, M.shape[1]))
    norms = np.linalg.norm(U, axis=0)
    # The nearest powers of two, which divide without rounding.
    exponents = np.round(np.log2(norms, out=np.zeros_like(norms), where=norms > 0))
    scale = np.exp2(exponents)
    stacked = U / scale
    # A row of constants below U and below every pixel draws the sums to one.
    constants = np.zeros(0)
    if stiffness > 0:
        constants = np.full(1, math.sqrt(stiffness) * norms.max())
        stacked = np.vstack([U, np.full(r, constants[0])]) / scale
    Q, R = np.linalg.qr(stacked)
    R[:, ~stacked.any(axis=0)] = 0.0
    solver = _ColumnSolver(R, Q[: len(U)], constants @ Q[len(U) :], simplex=False)
    # Up to this condition number, the reduction by QR leaves ten digits.
    if solver.condition > 1e5:
        offset = np.concatenate([np.zeros(len(U)), constants])
        solver = _ColumnSolver(stacked, None, offset, simplex=False)
    return _fit_columns(solver, M, H0, dtype, scale)


def fcls(
    U: ArrayLike, M: ArrayLike, *, at_most: bool = False, H0: ArrayLike | None = None
) -> Array:
    """Return the H ≥ 0 with columns that sum to one which minimises ‖M − U H‖_F.

    Each column is solved exactly.

    Parameters
    ----------
    U : (m, r) array_like
        The endmembers. More columns than rows, duplicates and a zero column (shade) are allowed.
    M : (m, n) array_like or sparse array
        One pixel per column; a ``np.memmap`` is read a block of columns at a time.
    at_most : bool
        Let the sums be at most one instead: the projection onto the hull of U and the origin that
        SNPA uses. A column equals that of ``nnls`` if the latter has a sum of at most one, else
        that of ``fcls``.
    H0 : (r, n) array_like, optional
        A start, such as the solution of a nearby problem. It saves time and does not change the
        result. Only the positions of its positive entries matter.

    Returns
    -------
    (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64. The computation is in
        float64.

    Notes
    -----
    Under Σh = 1, subtracting one endmember from U and M and appending a row of ones to both does
    not change the solution. Affinely independent columns of U then become linearly independent, and
    the active sets work as for ``nnls``, with one multiplier for the sum. No penalty weight is
    involved.

    Examples
    --------
    >>> from selfdict import fcls
    >>> fcls([[1.0, 0.0], [0.0, 1.0]], [[0.75, 2.0], [0.25, 0.0]])
    array([[0.75, 1.  ],
           [0.25, 0.  ]])
    >>> fcls([[1.0, 0.0], [0.0, 1.0]], [[0.25, 2.0], [0.25, 0.0]], at_most=True)
    array([[0.25, 1.  ],
           [0.25, 0.  ]])
    """
    U, M, dtype = _check_pair(U, M)
    r = U.shape[1]
    H0 = _check_start(H0, (r, M.shape[1]))
    if at_most:  # the slack is the abundance of one more endmember, the origin
        U = np.column_stack([U, np.zeros(len(U))])
        if H0 is not None:
            H0 = np.vstack([H0, 1.0 - H0.sum(axis=0)])
    # The endmember in the middle. The mean itself would not do: if all endmembers are equal, it
    # differs from them by rounding.
    origin = U[:, np.linalg.norm(U - U.mean(axis=1, keepdims=True), axis=0).argmin()]
    centred = U - origin[:, None]
    scale = np.linalg.norm(centred, axis=0).max()
    if not scale > 0:  # all endmembers are equal
        scale = 1.0
    Q, R = np.linalg.qr(np.vstack([centred / scale, np.ones(U.shape[1])]))
    # The right-hand side (m − origin) / scale with a one below, reduced by Qᵀ: Pᵀm + offset.
    P = Q[:-1] / scale
    solver = _ColumnSolver(R, P, Q[-1] - origin @ P, simplex=True)
    return _fit_columns(solver, M, H0, dtype)[:r]


class _ColumnSolver:
    """Solve min ‖y − R x‖ over x ≥ 0 for y = Pᵀm + offset and many columns m."""

    def __init__(self, R: Array, P: Array | None, offset: Array, *, simplex: bool) -> None:
        # R (q, r) has columns that are zero or of norm about one.
        self.Rt = np.ascontiguousarray(R.T)
        self.G = R.T @ R
        # P (m, q) maps a column of M to the rows of R; None: these are the rows of M, then others.
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
            Y = np.zeros((len(self.offset), M.shape[1]))
            Y[: M.shape[0]] = dense_columns(M, slice(None))
        elif issparse(M):
            Y = np.ascontiguousarray((M.T @ self.P).T)
        else:
            Y = self.P.T @ M
        Y += self.offset[:, None]
        return Y


def _fit_columns(
    solver: _ColumnSolver, M: Array, H0: Array | None, dtype: type, scale: Array | float = 1.0
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

    The values of M are checked here, when they are read.
    """

    def on_slice(start: int, stop: int) -> None:
        columns = slice(start, stop)
        part = M[:, columns]
        # Norms, which cost less, tell which columns can be computed with: the largest entry is at
        # most the norm, and at least the norm over √m.
        squares = squared_norms(part)
        limit = largest_size(part.dtype) ** 2
        is_sound = (squares <= limit) & (squares * limit >= part.shape[0])
        if not is_sound.all():
            check_columns(part, first=start)
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


def _check_pair(U: ArrayLike, M: ArrayLike) -> tuple[Array, Array, type]:
    """Return U in float64, M without reading it, and the dtype of what is computed from them."""
    U = as_matrix(U, "U")
    M = as_floats(M, sparse=True)
    if U.shape[0] != M.shape[0]:
        raise InputError(f"U and M must have equally many rows, got shapes {U.shape} and {M.shape}")
    return np.asarray(U, dtype=np.float64), M, np.result_type(U.dtype, M.dtype).type


def _check_start(H0: ArrayLike | None, shape: tuple[int, int]) -> Array | None:
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
    U, M, _ = _check_pair(U, M)
    H = as_floats(H, "H")
    if H.shape != (U.shape[1], M.shape[1]):
        raise InputError(f"H must have shape {(U.shape[1], M.shape[1])}, got {H.shape}")
    norms = np.empty(M.shape[1])

    def task(columns: slice, m: Array) -> None:
        if issparse(m):
            squares = _sparse_squares(U, m, H[:, columns])
        else:
            residual = m - U @ H[:, columns]
            squares = np.einsum("ij,ij->j", residual, residual)
        norms[columns] = np.sqrt(squares)

    _for_blocks(task, M)
    if not np.isfinite(norms).all():
        raise InputError("H contains NaN, infinity or values too large to compute with")
    return norms


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


def affords_fits(deadline: Deadline, n_fits: int, U: Array, M: Any) -> bool:
    """Whether there is time to fit all columns of M by those of U several times."""
    if deadline.left is None:
        return True
    if deadline.passed and U.shape[1] >= MANY_ENDMEMBERS:
        return False  # even a prediction takes long
    return deadline.affords(n_fits * predicted_seconds(lambda columns: nnls(U, columns), M))
