"""A working set of model (6): its atoms, their gates, and the fit of the columns to them.

The sum of the fits of all columns is convex, continuously differentiable and piecewise quadratic in
the gates t, as many variables as there are atoms; :mod:`selfdict.solvers.newton` minimises it.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.columns.protocol import Columns


class Gates:
    """A working set: its atoms, their gates, and the columns fitted to them.

    ``atoms`` and ``t`` (k,) are columns of the dictionary and their gates: for D = M the diagonal
    of X. ``fit`` is ½Σ s‖m − Mx‖² of the columns, ``gradient`` (k,) its derivatives by the gates.
    ``exact`` forbids products of all points, which lose digits.
    """

    def __init__(self, columns: Columns, exact: bool = False) -> None:
        self.columns = columns
        self.fitted = columns.fit(exact)
        self.atoms = np.empty(0, np.int64)
        self.t = np.empty(0)
        self.fit = 0.5 * columns.square
        self.gradient = np.empty(0)

    def open(self, atoms: Array, t: Array) -> None:
        """Start with these atoms at these gates: fit all columns."""
        self.fitted.set_atoms(atoms, np.zeros(len(self.atoms), bool))
        # most entries end at zero: from there a column needs fewer exchanges than from its gates
        self.fitted.start_from_zero()
        self.atoms = atoms
        self.t = t
        self.evaluate(t)

    def change(self, kept: Array, new: Array) -> None:
        """Keep the atoms of a mask, which includes all open ones, and add new ones, closed.

        The fit remains what it is, and so does its gradient at the atoms kept.
        """
        self.atoms = np.concatenate([self.atoms[kept], new])
        self.t = np.concatenate([self.t[kept], np.zeros(len(new))])
        self.fitted.set_atoms(self.atoms, kept)
        of_new = self.fitted.gradient_of_new(int(kept.sum()), self.t)
        self.gradient = np.concatenate([self.gradient[kept], of_new])

    def evaluate(self, t: Array) -> None:
        """Fit all columns at the gates t."""
        sums = self.fitted.evaluate(t)
        self.fit = 0.5 * self.columns.square + float(sums[0])
        self.gradient = sums[1:]

    def hessian(self) -> Array:
        """Return the second derivatives at the gates evaluated last."""
        return self.fitted.hessian()
