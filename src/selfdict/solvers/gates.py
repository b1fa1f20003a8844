"""A working set of model (6), and projected Newton on its gates.

The sum of the fits of all columns is convex, continuously differentiable and piecewise quadratic in
the gates t, as many variables as there are atoms. So is f(t) = ½Σ s‖m − Mx(t)‖² + Σ_i π_i(t_i),
with the penalties π of the gates, and Newton's method on the box [0, 1]^k ends in a few steps. Each
step solves a quadratic program in k variables, with the same bounded solver as a column.
"""

from collections.abc import Callable

import numpy as np

from selfdict._validation import Array
from selfdict.columns.protocol import Columns
from selfdict.kernels.gates import FREE, GATE, ZERO, fit_columns
from selfdict.model.penalties import Penalty


class Gates:
    """A working set: its atoms, their gates, and the columns fitted to them.

    ``atoms`` and ``t`` (k,) are columns of the dictionary and their gates: for D = M the diagonal
    of X. ``fit`` is ½Σ s‖m − Mx‖² of the columns, ``gradient`` (k,) its derivatives by the gates.
    """

    # steps that may be judged by derivatives, where the objective has too few digits to show them;
    # without a limit, rounding errors could be followed for ever
    MAX_HIDDEN_STEPS = 100

    def __init__(self, columns: Columns, atoms: Array, t: Array) -> None:
        self.columns = columns
        self.atoms = atoms
        self.t = t
        self.fitted = columns.fit(atoms)
        self.hidden_steps = 0  # so far
        self.evaluate(t)

    def evaluate(self, t: Array) -> None:
        """Fit all columns at the gates t."""
        sums = self.fitted.evaluate(t)
        self.fit = 0.5 * self.columns.square + float(sums[0])
        self.gradient = sums[1:]

    def change(self, kept: Array, new: Array) -> None:
        """Keep the atoms of a mask, which includes all open ones, and add new ones, closed.

        The fit remains what it is, and so does its gradient at the atoms kept.
        """
        of_new = self.fitted.change(kept, new)
        self.atoms = np.concatenate([self.atoms[kept], new])
        self.t = np.concatenate([self.t[kept], np.zeros(len(new))])
        self.gradient = np.concatenate([self.gradient[kept], of_new])

    def open_positions(self) -> Array:
        """Return where the open gates are, ordered by their atoms."""
        is_open = np.flatnonzero(self.t > 0)
        return is_open[np.argsort(self.atoms[is_open])]

    def minimise(self, penalty: Penalty, tolerance: float, before_step: Callable[[], None]) -> None:
        """Minimise f by Newton's method until its projected gradient is at most ``tolerance``.

        f never rises, but by rounding errors. ``before_step`` is called before each step and may
        raise.
        """
        f = self.fit + penalty.value(self.t)
        for _ in range(100):  # then rows are screened, and it may go on
            gradient = self.gradient + penalty.gradient(self.t)
            if largest_free(gradient, self.t) <= tolerance:
                return
            before_step()
            hessian = self.fitted.hessian() + np.diag(penalty.curvature(self.t))
            step = box_minimiser(hessian, gradient, self.t) - self.t
            # no descent direction is left but rounding errors
            if float(gradient @ step) >= 0.0:
                return
            taken = self._line_search(f, gradient, step, penalty)
            if taken is None:
                return
            f, decrease = taken
            negligible = self._rounding()
            if self.hidden_steps < self.MAX_HIDDEN_STEPS:
                negligible = float(np.finfo(float).eps) * f
            if decrease <= negligible:
                return

    def _line_search(
        self, f: float, gradient: Array, step: Array, penalty: Penalty
    ) -> tuple[float, float] | None:
        """Shorten the step until f falls enough; return f and the decrease, None if never."""
        self.fitted.save_state()
        slope = float(gradient @ step)
        length = 1.0
        while length >= 1e-9:  # below, the objective is flat in this precision
            t = np.clip(self.t + length * step, 0.0, 1.0)
            self.evaluate(t)
            f_new = self.fit + penalty.value(t)
            change = f_new - f
            is_hidden = abs(change) <= self._rounding()
            if is_hidden and self.hidden_steps < self.MAX_HIDDEN_STEPS:
                # f has too few digits to tell; the derivatives at both ends have more
                mean_gradient = 0.5 * (gradient + self.gradient + penalty.gradient(t))
                change = float(mean_gradient @ (t - self.t))
            if change <= 1e-4 * length * slope:  # Armijo's rule
                self.hidden_steps += int(is_hidden)
                self.t = t
                return f_new, -change
            # the old state is a better start for the columns than where this step has led
            self.fitted.restore_state()
            length /= 3
        self.evaluate(self.t)
        return None

    def _rounding(self) -> float:
        """How much rounding errors may change the objective."""
        return 10 * float(np.finfo(float).eps) * self.columns.square


def largest_free(gradient: Array, t: Array) -> float:
    """Return the largest derivative along which t can move inside [0, 1]^k."""
    is_stuck = ((t <= 0) & (gradient > 0)) | ((t >= 1) & (gradient < 0))
    return float(np.abs(np.where(is_stuck, 0.0, gradient)).max(initial=0.0))


def box_minimiser(H: Array, gradient: Array, t: Array) -> Array:
    """Minimise gᵀ(x − t) + ½(x − t)ᵀH(x − t) over the box [0, 1]^k."""
    # A little more curvature, because atoms may be duplicates of each other. Each gate gets its own
    # share: that of a column much longer than others would hold all other gates where they are.
    curvature = np.maximum(np.diagonal(H), 0.0)
    ridge = 1e-10 * curvature + 1e-16 * curvature.mean() + np.finfo(float).tiny
    B = H.copy()
    np.fill_diagonal(B, curvature + ridge)
    # in units in which all curvatures are one, as the tolerance of a column is one for all entries
    unit = 1 / np.sqrt(np.diagonal(B))
    x = t / unit
    state = np.full(len(t), FREE, dtype=np.int8)
    state[t <= 0] = ZERO
    state[t >= 1] = GATE
    # one column of the bounded least-squares problem with the Gram matrix B, whose gates are 1
    fit_columns(
        B * unit * unit[:, None],
        ((B @ t - gradient) * unit)[None],
        np.ones(1),
        1 / unit,
        np.array([-1]),
        x[None],
        state[None],
    )
    return np.asarray(np.clip(x * unit, 0.0, 1.0))
