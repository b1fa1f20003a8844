"""Projected Newton on the gates: model (6) on a working set of rows.

For fixed gates t = diag(X) of the working set, the columns of X decouple into small bounded least-squares
problems (:mod:`selfdict.kernels.gates`). Their sum f(t) is convex, continuously differentiable and
piecewise quadratic in as many variables as there are atoms: Newton's method on the box [0, 1]^k ends in a few steps.
"""

from collections.abc import Callable

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.gates import FREE, GATE, ZERO, fit_columns, solve_column
from selfdict.kernels.sparse import dense_columns
from selfdict.kernels.threads import for_slices
from selfdict.model.sparse import SparseResidual

_ARMIJO = 1e-4
_SHORTEST = 1e-9  # step length at which the objective is taken to be flat in this precision
_RIDGE = 1e-10  # on the Hessian, relative to its mean diagonal: atoms may be duplicates of each other


class Gates:
    """A working set: its atoms, their gates, and columns of M fitted to them.

    Everything is scaled to w = 1: atoms and columns are those of M/w, and column j weighs s_j w_j². Atoms of another
    dictionary are scaled to v = 1; none of the columns is then tied to its gate.

    Parameters
    ----------
    M : (m, n) ndarray
        The data.
    w, s : (n,) ndarray of float64
        Positive weights of Ω; weights of the residual.
    columns : (l,) ndarray of int or None
        The columns to fit, increasing; None for all.
    D, v : (m, d) ndarray, (d,) ndarray of float64
        The dictionary and its positive weights; None for M and w.

    Attributes
    ----------
    atoms, t : (k,) ndarray
        Columns of the dictionary, and their gates: for D = M the diagonal of X.
    Z, state : (l, k) ndarray
        The fitted columns in the coordinates z_ij = x_ij v_i/w_j, and where each entry sits.
    """

    def __init__(
        self,
        M: Array,
        w: Array,
        s: Array,
        columns: Array | None = None,
        D: Array | None = None,
        v: Array | None = None,
    ) -> None:
        self.tied, self.columns = D is None, columns
        self.D, self.v = (M, w) if D is None or v is None else (D, v)
        self.Y, self.scale, self.s = (M, w, s) if columns is None else (M[:, columns], w[columns], s[columns])
        self.weight = self.s * self.scale**2
        self.square = float(self.s @ squared_norms(self.Y))
        n = len(self.scale)
        self.atoms, self.t = np.empty(0, np.int64), np.empty(0)
        self.G, self.C, self.Z = np.empty((0, 0)), np.empty((n, 0)), np.empty((n, 0))
        self.state = np.empty((n, 0), np.int8)
        self.own = np.full(n, -1)
        self.slice = max(250, -(-n // 64))  # columns a thread works on at a time

    def change(self, keep: Array, new: Array, t: Array | float = 0.0) -> None:
        """Keep the atoms of a mask and add new ones, with closed gates unless ``t`` is given."""
        n, added = len(self.scale), len(new)
        self.atoms = np.concatenate([self.atoms[keep], new])
        self.t = np.concatenate([self.t[keep], np.broadcast_to(t, added)])
        D = self.dictionary()
        self.G = D.T @ D
        # one after the other, so that the old array is free before the next new one is made
        self.C = np.hstack([self.C[:, keep], self._products(D[:, len(D.T) - added :])])
        self.Z = np.hstack([self.Z[:, keep], np.zeros((n, added))])
        self.state = np.hstack([self.state[:, keep], np.full((n, added), ZERO, np.int8)])
        self.own[:] = -1
        if not self.tied:
            return
        if self.columns is None:
            self.own[self.atoms] = np.arange(len(self.atoms))
        else:
            place = np.minimum(np.searchsorted(self.columns, self.atoms), n - 1)
            here = self.columns[place] == self.atoms
            self.own[place[here]] = np.flatnonzero(here)

    def dictionary(self) -> Array:
        """Return the atoms scaled to w = 1, (m, k)."""
        return np.asarray(dense_columns(self.D, self.atoms) / self.v[self.atoms], dtype=np.float64)

    def _products(self, D: Array) -> Array:
        """Return (Y/w)ᵀD, (l, k), in float64."""
        out = np.empty((len(self.scale), D.shape[1]))

        def task(start: int, stop: int) -> None:
            out[start:stop] = self.Y[:, start:stop].T.astype(np.float64, copy=False) @ D
            out[start:stop] /= self.scale[start:stop, None]

        for_slices(task, len(out), self.slice)
        return out

    def residual(self) -> Array:
        """Return M − D X on the fitted columns, (m, l), in float64."""
        D, R = self.dictionary(), np.empty(self.Y.shape)

        def task(start: int, stop: int) -> None:
            fitted = D @ (self.Z[start:stop] * self.scale[start:stop, None]).T
            np.subtract(self.Y[:, start:stop], fitted, out=R[:, start:stop])

        for_slices(task, len(self.scale), self.slice)
        return R

    def sparse_residual(self) -> SparseResidual:
        """Return the same of sparse data, which is not formed."""
        scale = self.scale[:, None]
        return SparseResidual.of(self.Y, self.dictionary(), self.Z * scale, self.C * scale)

    def evaluate(self, t: Array) -> tuple[float, Array, Array]:
        """Fit all columns at the gates t; return ½Σ s‖m − Mx‖² with its gradient and Hessian in t."""
        parts = for_slices(
            lambda a, b: fit_columns(self.G, self.C, self.weight, t, self.own, self.Z, self.state, a, b),
            len(self.scale),
            self.slice,
        )
        values, gradients, hessians = zip(*parts, strict=True)
        return 0.5 * self.square + sum(values), sum(gradients), sum(hessians)

    def newton(self, penalty: Array, tolerance: float, check: Callable[[], None] | None = None) -> float:
        """Minimise f(t) = fit + penaltyᵀt until the projected gradient is ≤ ``tolerance``; return f.

        The objective never rises. ``check`` is called before each step and may raise.
        """
        f, g, H = self._objective(self.t, penalty)
        rounding = np.finfo(float).eps * self.square
        while True:
            stuck = ((self.t <= 0) & (g > 0)) | ((self.t >= 1) & (g < 0))
            if np.abs(np.where(stuck, 0.0, g)).max(initial=0.0) <= tolerance:
                return f
            if check is not None:
                check()
            step = newton_target(H, g, self.t) - self.t
            slope, length = float(g @ step), 1.0
            if slope >= 0.0:
                return f
            while True:
                t = np.clip(self.t + length * step, 0.0, 1.0)
                f_new, g, H = self._objective(t, penalty)
                if f_new <= f + _ARMIJO * length * slope:
                    break
                length /= 4
                if length < _SHORTEST:
                    self.evaluate(self.t)
                    return f
            progress = f - f_new
            self.t, f = t, f_new
            if progress <= rounding:
                return f

    def _objective(self, t: Array, penalty: Array) -> tuple[float, Array, Array]:
        fit, gradient, hessian = self.evaluate(t)
        return fit + float(penalty @ t), gradient + penalty, hessian


def newton_target(H: Array, g: Array, t: Array) -> Array:
    """Minimise gᵀ(x − t) + ½(x − t)ᵀH(x − t) over the box [0, 1]^k."""
    k = len(t)
    B = H + (_RIDGE * np.trace(H) / k + np.finfo(float).tiny) * np.eye(k)
    x, state = t.copy(), np.where(t <= 0, ZERO, np.where(t >= 1, GATE, FREE)).astype(np.int8)
    work = np.empty(k, np.uintp), np.empty((k, k)), np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    solve_column(B, B @ t - g, np.ones(k), -1, x, state, *work)
    return x
