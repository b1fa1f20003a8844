"""The data of a problem as the search uses it: without zero columns, weights in float64."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.dual import dot_error
from selfdict.model.problem import Problem
from selfdict.model.score_bounds import ScoreBounds
from selfdict.model.screening import PositiveSums, gram, screener
from selfdict.solvers.gates import Gates
from selfdict.solvers.view import View

# up to this many points with at least this many features, all n×n products are held
GRAM_POINTS = 2000
GRAM_FEATURES = 100


@dataclass(frozen=True, eq=False)
class SearchData:
    """A problem with the squared loss, restricted to columns and atoms that are not zero.

    Attributes
    ----------
    M, D : (m, n) and (m, d) ndarray
        Data and dictionary; D is None for M itself.
    w, s : (n,) ndarray of float64
        Positive weights of Ω; weights of the residual.
    v, p : (d,) ndarray of float64
        Positive weights of the atoms, and of their gates.
    columns, rows : ndarray of int
        Which columns and which atoms of the problem these are; the others are zero in X.
    square, constant : float
        Σ_j s_j ‖m_j‖² of the whole problem, and half of the part of it that lies in columns with
        w = 0, which no X can explain.
    device : torch.device or None
        Where rows are screened.
    positive_sums : callable
        :func:`selfdict.model.screening.positive_sums` for these atoms, on that device.
    bounds : ScoreBounds or None
        Bounds that save most of these sums; None for sparse data.
    """

    M: Array
    D: Array | None
    w: Array
    s: Array
    v: Array
    p: Array
    columns: Array
    rows: Array
    square: float
    constant: float
    device: Any
    positive_sums: PositiveSums
    bounds: ScoreBounds | None

    @classmethod
    def of(cls, problem: Problem, device: Any) -> "SearchData":
        """Take what counts out of a problem with a quadratic loss."""
        form = problem.squared_form
        columns = np.flatnonzero(problem.w > 0)
        rows = np.flatnonzero(problem.v > 0)
        M = form.M
        if columns.size < problem.n_points:
            M = M[:, columns]
        D = None
        atoms = M
        if form.D is not None:
            D = form.D[:, rows]
            atoms = D
        v = problem.v[rows].astype(np.float64)
        bounds = None
        if device is None and not issparse(atoms):
            bounds = ScoreBounds(atoms, v)
        squares = form.s.astype(np.float64) * squared_norms(form.M)
        return cls(
            M=M,
            D=D,
            w=problem.w[columns].astype(np.float64),
            s=form.s[columns].astype(np.float64),
            v=v,
            p=problem.p[rows].astype(np.float64),
            columns=columns,
            rows=rows,
            square=float(squares.sum()),
            # a sum of its own: the difference of two large sums would leave rounding errors; from
            # below, since it is part of the bound
            constant=0.5 * math.fsum(squares[problem.w == 0]) * (1 - dot_error(form.M.shape[0])),
            device=device,
            positive_sums=screener(atoms, v, device),
            bounds=bounds,
        )

    @property
    def n_columns(self) -> int:
        """The number of columns that are not zero."""
        return len(self.w)

    def bounds_pay(self, gates: Gates) -> bool:
        """Whether bounds save time when all rows are screened for the columns of a working set."""
        if self.bounds is None:
            return False
        return self.bounds.pay(len(self.v), len(gates.scale), len(self.M))

    @cached_property
    def gram(self) -> Array | None:
        """The products of all points, where these are few and of many features, else None."""
        if self.D is not None or self.device is not None or issparse(self.M):
            return None
        if self.n_columns > GRAM_POINTS or self.M.shape[0] < GRAM_FEATURES:
            return None
        return gram(self.M, self.w)

    def view(self, gates: Gates, penalty: Array, gram: Array | None = None) -> View:
        """Return the view of a fitted working set at the penalties μp."""
        return View(gates, penalty, self.positive_sums, gram, self.device, self.bounds)

    def gates(self, columns: Array | None = None, use_gram: bool = True) -> Gates:
        """Return an empty working set for all columns, or for a sample that stands for all."""
        if columns is None:
            gram = None
            if use_gram:
                gram = self.gram
            return Gates(self.M, self.w, self.s, None, self.D, self.v, gram)
        stands_for = self.n_columns / len(columns)
        return Gates(self.M, self.w, self.s * stands_for, columns, self.D, self.v)
