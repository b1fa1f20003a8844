"""Nonnegative least squares with one matrix for many columns, block by block."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array, check_columns, largest_size
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.active_set import active_set
from selfdict.kernels.columns import dense_columns, products_and_norms, squared_norms
from selfdict.kernels.pivoting import MOST_UNKNOWNS, Tables, block_pivoting

# With Σx = 1, the largest entry of y: further away than float64 has digits, the solution is that
# for a point infinitely far away in the same direction.
_FAR = 2.0**60
# Products give ‖m − U h‖² up to 1e-16 of ‖m‖² + (Σ_k ‖u_k‖ h_k)². Below this share of that there
# are not enough digits.
_SMALL_SHARE = 5e-7


class ColumnSolver:
    """Solve min ‖y − R x‖ over x ≥ 0 for y = Pᵀm + offset and many columns m."""

    def __init__(self, R: Array, P: Array | None, offset: Array, *, simplex: bool) -> None:
        # R (q, r) has columns that are zero or of norm about one.
        self.Rt = np.ascontiguousarray(R.T)
        self.G = R.T @ R
        # P (m, q) maps a column of M to the rows of R; None: these are the rows of M, then others.
        self.P = P
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
        self.pivots = P is not None and len(self.G) <= MOST_UNKNOWNS
        self.pivots = self.pivots and not (simplex or self.stable)
        if self.pivots:
            # Rᵀy, all that is needed of y, takes its place.
            self.P = P @ R
            self.offset = offset @ R
            self.guess = self.guess @ self.guess.T
            self.Rt = np.eye(len(self.G))
        if self.P is not None:
            self.P = np.ascontiguousarray(self.P.T)
        # Tables that no thread is using.
        self._tables: list[Tables] = []

    def products(self, M: Array, start: int, stop: int) -> tuple[Array, Array]:
        """Return Pᵀm (q, n) and ‖m‖² (n,) for a range of the columns m of M."""
        if self.P is not None:
            return products_and_norms(self.P, M, start, stop)
        part = M[:, start:stop]
        products = np.zeros((len(self.offset), stop - start))
        products[: M.shape[0]] = dense_columns(part, slice(None))
        return products, squared_norms(part)

    def solve(self, products: Array, H0: Array | None = None) -> Array:
        """Return solutions (n, r) for Pᵀm (q, n); where H0 is positive, they start."""
        Y = products + self.offset[:, None]
        if self.simplex:
            Y /= np.maximum(np.abs(Y).max(axis=0) / _FAR, 1.0)
        warm = H0 is not None
        if H0 is None:
            X = np.empty((Y.shape[1], len(self.G)))
        else:
            X = np.array(H0.T, dtype=np.float64, order="C")
        if not self.pivots:
            self._by_active_sets(Y, X, warm)
            return X
        left = self._by_pivoting(Y, X, warm)
        if left.any():
            rest = X[left]
            self._by_active_sets(np.ascontiguousarray(Y[:, left]), rest, warm=True)
            X[left] = rest
        return X

    def _by_active_sets(self, Y: Array, X: Array, warm: bool) -> None:
        simplex = self.simplex
        active_set(self.Rt, self.G, self.guess, self.shift, Y, X, simplex, self.stable, warm)

    def _by_pivoting(self, C: Array, X: Array, warm: bool) -> Array:
        """Solve what block pivoting can, and return which problems it leaves."""
        try:
            tables = self._tables.pop()
        except IndexError:
            tables = Tables(len(self.G))
        left = block_pivoting(self.G, C, X, warm, tables)
        self._tables.append(tables)
        return left


class Fit(NamedTuple):
    """Coefficients of columns and what they leave of them."""

    H: Array  # (r, n)
    squared_norms: Array  # (n,): ‖m_j‖²
    squared_residuals: Array  # (n,): ‖m_j − U h_j‖²; zeros if they were not asked for
    weighted_squares: Array  # (n,): the same of weighted rows


def fit_columns(
    solver: ColumnSolver,
    U: Array,
    M: Array,
    dtype: type,
    scale: Array,
    H0: Array | None,
    with_residuals: bool,
    weights: Array | None,
) -> Fit:
    """Fit all columns of M; the coefficients of U are solutions divided by ``scale`` (r, 1).

    ``weights`` (m,) are those that the solver gives to the rows.
    """
    n = M.shape[1]
    squares = np.zeros(n)
    weighted = squares
    if weights is not None:
        weighted = np.zeros(n)
    fit = Fit(np.empty((len(solver.G), n), dtype), np.empty(n), squares, weighted)
    Ut = np.ascontiguousarray(U.T)
    weighted_Ut = Ut
    if weights is not None:
        weighted_Ut = Ut * weights**2

    def task(start: int, stop: int) -> None:
        columns = slice(start, stop)
        products, norms = solver.products(M, start, stop)
        check_part(M, start, stop, norms)
        first = None
        if H0 is not None:
            first = H0[:, columns]
        H = np.ascontiguousarray(solver.solve(products, first).T) / scale
        fit.H[:, columns] = H
        fit.squared_norms[columns] = norms
        if not with_residuals:
            return
        part = M[:, columns]
        if solver.pivots:
            products *= scale
        else:  # its products are not those with U
            products, _ = products_and_norms(weighted_Ut, M, start, stop)
        if weights is not None:
            plain, weighted_norms = products_and_norms(Ut, M, start, stop, weights)
            squares = _squares(weighted_norms, products, weighted_Ut @ U, H)
            squares = with_digits(squares, weighted_norms, U, part, H, weights)
            fit.weighted_squares[columns] = squares
            products = plain
        squares = _squares(norms, products, Ut @ U, H)
        fit.squared_residuals[columns] = with_digits(squares, norms, U, part, H)

    for_parts(task, M)
    return fit


def _squares(norms: Array, products: Array, gram: Array, H: Array) -> Array:
    """Return ‖m − U h‖² of columns by the products Uᵀm and UᵀU."""
    return np.asarray(norms + ((gram @ H - 2 * products) * H).sum(axis=0))


def for_parts(task: Callable[[int, int], Any], M: Array) -> None:
    """Call ``task(start, stop)`` for ranges of the columns of M, on threads."""
    columns_per_part = 512
    if not issparse(M):
        # 4 MiB of float64: it stays in cache, and the calls from Python cost little beside the work
        columns_per_part = min(max((1 << 19) // M.shape[0], 64), 4096)
    with single_threaded_blas():
        for_slices(task, M.shape[1], columns_per_part)


def check_part(M: Array, start: int, stop: int, squares: Array) -> None:
    """Refuse columns of M that cannot be computed with, by their squared norms."""
    # The largest entry is at most the norm, and at least the norm over √m.
    limit = largest_size(M.dtype) ** 2
    is_sound = (squares <= limit) & (squares * limit >= M.shape[0])
    if not is_sound.all():
        check_columns(M[:, start:stop], first=start)


def with_digits(
    squares: Array, norms: Array, U: Array, M: Array, H: Array, weights: Array | None = None
) -> Array:
    """Return squared residuals of columns M; those that are small are formed once more, from M."""
    lengths = np.sqrt(squared_norms(U))
    if weights is not None:
        lengths = np.sqrt(squared_norms(U * weights[:, None]))
    sizes = norms + (lengths @ np.abs(H)) ** 2
    few: Any = np.flatnonzero(squares <= _SMALL_SHARE * sizes)
    if few.size == 0:
        return squares
    if few.size == squares.size:
        few = slice(None)
    residuals = dense_columns(M, few).astype(np.float64) - U @ H[:, few]
    if weights is not None:
        residuals *= weights[:, None]
    squares[few] = np.einsum("ij,ij->j", residuals, residuals)
    return squares
