"""Projected Newton on the gates: model (6) on a working set of rows.

For fixed gates t = diag(X) of the working set, the columns of X decouple into small bounded
least-squares problems (:mod:`selfdict.kernels.gates`). Their sum f(t) is convex, continuously
differentiable and piecewise quadratic in as many variables as there are atoms: Newton's method on
the box [0, 1]^k ends in a few steps.
"""

from collections.abc import Callable

import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import for_slices
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.gates import FREE, GATE, ZERO, curvature, fit_columns
from selfdict.kernels.sparse import dense_columns
from selfdict.model.sparse import SparseResidual

_ARMIJO = 1e-4
_MAX_STEPS = 100  # then rows are screened, and it may go on
_BLIND = (
    100  # steps that a working set may take where the objective has too few digits to show them
)
_SHORTEST = 1e-9  # step length at which the objective is taken to be flat in this precision
_RIDGE = (
    1e-10  # on the Hessian, relative to its mean diagonal: atoms may be duplicates of each other
)


class Gates:
    """A working set: its atoms, their gates, and columns of M fitted to them.

    Everything is scaled to w = 1: atoms and columns are those of M/w, and column j weighs s_j w_j².
    Atoms of another dictionary are scaled to v = 1; none of the columns is then tied to its gate.

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
    gram : (n, n) ndarray or None
        The products of all columns scaled to w = 1, if they are known and all are fitted to columns
        of M.

    Attributes
    ----------
    atoms, t : (k,) ndarray
        Columns of the dictionary, and their gates: for D = M the diagonal of X.
    Z, state : (l, k) ndarray
        The fitted columns in the coordinates z_ij = x_ij v_i/w_j, and where each entry sits.
    fit, gradient : float, (k,) ndarray
        ½Σ s‖m − Mx‖² of these columns, and its derivatives by the gates.
    """

    def __init__(
        self,
        M: Array,
        w: Array,
        s: Array,
        columns: Array | None = None,
        D: Array | None = None,
        v: Array | None = None,
        gram: Array | None = None,
    ) -> None:
        self.tied, self.columns, self.gram = D is None, columns, gram
        self.D, self.v = (M, w) if D is None or v is None else (D, v)
        self.Y, self.scale, self.s = (
            (M, w, s) if columns is None else (M[:, columns], w[columns], s[columns])
        )
        self.weight = self.s * self.scale**2
        self.squares = self.s * squared_norms(self.Y)
        self.square = float(self.squares.sum())
        n = len(self.scale)
        self.atoms, self.t = np.empty(0, np.int64), np.empty(0)
        self.G, self.C, self.Z = np.empty((0, 0)), np.empty((n, 0)), np.empty((n, 0))
        self.state = np.empty((n, 0), np.int8)
        self.own = self._own()
        self.fit, self.gradient = 0.5 * self.square, np.empty(0)
        self.curved: tuple[Array, Array] | None = (
            None  # the states and the second derivatives asked for last
        )
        self.blind = 0  # steps too short for the objective to show
        self.slice = max(250, -(-n // 64))  # columns a thread works on at a time

    def open(self, atoms: Array, t: Array) -> None:
        """Start with these atoms at these gates: fit all columns."""
        self.change(np.zeros(len(self.atoms), bool), atoms)
        self.t = t
        self.evaluate(t)

    def change(self, keep: Array, new: Array) -> None:
        """Keep the atoms of a mask, which holds all that are open, and add new ones with closed gates.

        The fit remains what it is, and so does its gradient at the atoms kept.
        """
        n, old, added = len(self.scale), int(keep.sum()), len(new)
        self.atoms = np.concatenate([self.atoms[keep], new])
        self.t = np.concatenate([self.t[keep], np.zeros(added)])
        if self.gram is None:
            D = self.dictionary()
            self.G = D.T @ D
        else:
            self.G = self.gram[np.ix_(self.atoms, self.atoms)]
        # one after the other, so that the old array is free before the next new one is made
        self.C = _exchange(self.C, keep, added)
        self.Z = _exchange(self.Z, keep, added)
        self.state = _exchange(self.state, keep, added)
        self.own, self.curved = self._own(), None

        def task(start: int, stop: int) -> Array:
            if self.gram is None:
                C = self.Y[:, start:stop].T.astype(np.float64, copy=False) @ D[:, old:]
                C /= self.scale[start:stop, None]
            else:
                C = self.gram[new, start:stop].T
            self.C[start:stop, old:] = C
            g = C - self.Z[start:stop, :old] @ self.G[:old, old:]
            at_gate = (g > 0) | (self.own[start:stop, None] == np.arange(old, old + added))
            self.state[start:stop, old:][at_gate] = GATE
            return np.asarray(-self.weight[start:stop] @ np.where(at_gate, g, 0.0))

        self.gradient = np.concatenate([self.gradient[keep], sum(for_slices(task, n, self.slice))])

    def _own(self) -> Array:
        """Return the atom that each column itself is, or −1."""
        n = len(self.scale)
        own = np.full(n, -1)
        if self.tied and self.columns is None:
            own[self.atoms] = np.arange(len(self.atoms))
        elif self.columns is not None and self.tied:
            place = np.minimum(np.searchsorted(self.columns, self.atoms), n - 1)
            here = self.columns[place] == self.atoms
            own[place[here]] = np.flatnonzero(here)
        return own

    def dictionary(self) -> Array:
        """Return the atoms scaled to w = 1, (m, k)."""
        return np.asarray(dense_columns(self.D, self.atoms) / self.v[self.atoms], dtype=np.float64)

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

    def evaluate(self, t: Array) -> None:
        """Fit all columns at the gates t."""
        sums = sum(
            for_slices(
                lambda a, b: fit_columns(
                    self.G, self.C, self.weight, t, self.own, self.Z, self.state, a, b
                ),
                len(self.scale),
                self.slice,
            )
        )
        self.fit, self.gradient = 0.5 * self.square + float(sums[0]), sums[1:]

    def hessian(self) -> Array:
        """Return the second derivatives at the gates evaluated last."""
        moved = np.arange(len(self.scale))
        if (
            self.curved is not None
        ):  # where no entry of a column has come to or left its gate, its part is as before
            state, H = self.curved
            moved = np.flatnonzero((self.state != state).any(axis=1))
        if 2 * len(moved) < len(self.scale):
            H = H + self._curvature(self.state, moved) - self._curvature(state, moved)
        else:
            H = self._curvature(self.state)
        self.curved = self.state.copy(), H
        return H

    def _curvature(self, state: Array, columns: Array | None = None) -> Array:
        """Return the part of some columns, or of all, in the second derivatives."""
        weight = self.weight
        if columns is not None:
            weight, state = weight[columns], state[columns]
        parts = for_slices(
            lambda a, b: curvature(self.G, weight, state, a, b), len(weight), self.slice
        )
        return np.asarray(sum(parts, start=np.zeros(self.G.shape)))

    def newton(
        self, penalty: Array, tolerance: float, check: Callable[[], None] | None = None
    ) -> float:
        """Minimise f(t) = fit + penaltyᵀt until the projected gradient is ≤ ``tolerance``, if 100 steps do; return f.

        The objective never rises, but by rounding errors. ``check`` is called before each step and
        may raise.
        """
        f = self.fit + float(penalty @ self.t)
        rounding = 10 * np.finfo(float).eps * self.square
        for _ in range(_MAX_STEPS):
            g = self.gradient + penalty
            stuck = ((self.t <= 0) & (g > 0)) | ((self.t >= 1) & (g < 0))
            if np.abs(np.where(stuck, 0.0, g)).max(initial=0.0) <= tolerance:
                return f
            if check is not None:
                check()
            step = newton_target(self.hessian(), g, self.t) - self.t
            slope, length, state = float(g @ step), 1.0, self.state.copy()
            if slope >= 0.0:
                return f
            while True:
                t = np.clip(self.t + length * step, 0.0, 1.0)
                self.evaluate(t)
                f_new = self.fit + float(penalty @ t)
                change = f_new - f
                blind = (
                    abs(change) <= rounding
                )  # f has too few digits to tell; its derivatives have more
                if blind and self.blind < _BLIND:
                    change = 0.5 * float((g + self.gradient + penalty) @ (t - self.t))
                if change <= _ARMIJO * length * slope:
                    break
                self.state[:] = state  # a better start for the columns than where this step has led
                length /= 3
                if length < _SHORTEST:
                    self.evaluate(self.t)
                    return f
            self.blind += int(blind)
            self.t, f = t, f_new
            if -change <= (np.finfo(float).eps * f if self.blind < _BLIND else rounding):
                break
        return f


def _exchange(A: Array, keep: Array, added: int) -> Array:
    """Keep some columns of A and append zeros (ZERO, for a state)."""
    out = np.zeros((len(A), int(keep.sum()) + added), A.dtype)
    out[:, : len(out.T) - added] = A[:, keep]
    return out


def newton_target(H: Array, g: Array, t: Array) -> Array:
    """Minimise gᵀ(x − t) + ½(x − t)ᵀH(x − t) over the box [0, 1]^k."""
    k = len(t)
    B = H + (_RIDGE * np.trace(H) / k + np.finfo(float).tiny) * np.eye(k)
    x, state = t.copy(), np.where(t <= 0, ZERO, np.where(t >= 1, GATE, FREE)).astype(np.int8)
    fit_columns(
        B, (B @ t - g)[None], np.ones(1), np.ones(k), np.array([-1]), x[None], state[None], 0, 1
    )
    return x
