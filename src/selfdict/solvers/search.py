"""The search behind :func:`selfdict.working_set`: samples of columns, a working set of rows, screening, the bound."""

import time
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._validation import Array
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns
from selfdict.model.certificate import best_scaling
from selfdict.model.problem import Problem, Target
from selfdict.model.screening import PositiveSums, gram, gram_sums, screener
from selfdict.model.solution import Callback, Progress, Status
from selfdict.peers.spa import spa
from selfdict.solvers.newton_gates import Gates
from selfdict.solvers.steering import find_penalty

SMALL = 2000  # columns that need no sample, and rows that are screened all at each step
FEW, MANY = (
    2000,
    100,
)  # points up to which, and features from which on, the products of all points are held
SAMPLING = 8  # a sample is so many times smaller than what it stands for, the likely rows than all
SAMPLE_TOL = 1e-2  # gap to which a sample is solved: its optimum is not the scene's
START = 10  # atoms of the first working set
ADD = 30  # atoms to add, if not half as many as are open
INNER = 0.3  # the gradient on the working set goes down to this part of the worst violation outside
ROUNDING = 1e-10  # violations below this part of the penalty count as none
ROUGH = 1e-2  # gap down to which rows are screened in float32: far from the optimum, which ones join matters little
ROUGH_ROUNDING = 1e-5
TARGET_TOL = 1e-3  # relative
PARALLEL = 1e-12  # 1 − cosine below which two columns count as multiples
IDLE = 5  # steps without progress before the search gives up
SLOW, SLOWLY = 100, 0.01  # and steps in which the gap must fall by this part


class Stop(Exception):
    """Raised between two steps when the time is up or the callback asks for the end."""

    def __init__(self, status: Status) -> None:
        self.status = status


class Search:
    """The state of a search: the best point as (atoms, gates), the bound for the current μ, and the history."""

    def __init__(
        self,
        problem: Problem,
        tol: float,
        max_seconds: float | None,
        callback: Callback | None,
        place: Any = None,
    ) -> None:
        self.tol, self.callback, self.place = tol, callback, place
        self.started = time.perf_counter()
        self.deadline = np.inf if max_seconds is None else self.started + max_seconds
        self.valid = np.flatnonzero(problem.w > 0)  # the other columns of X are zero
        everything = len(self.valid) == len(problem.w)
        self.M = problem.M if everything else problem.M[:, self.valid]
        self.w, self.s = (
            vector[self.valid].astype(np.float64) for vector in (problem.w, problem.s)
        )
        self.rows = np.flatnonzero(problem.v > 0)  # and so are the other rows
        self.v, self.p = (vector[self.rows].astype(np.float64) for vector in (problem.v, problem.p))
        self.D = None if problem.D is None else problem.D[:, self.rows]
        self.positive_sums = screener(self.M if self.D is None else self.D, self.v, place)
        squares = problem.s.astype(np.float64) * squared_norms(problem.M)
        square = float(squares.sum())
        self.constant = 0.5 * float(squares[problem.w == 0].sum())
        self.point = (
            np.empty(0, np.int64),
            np.empty(0),
        )  # replaced as one: an interruption finds it whole
        self.likely: Array | None = None  # rows that may open; None: any
        self.set_mu(problem.mu)
        self.objective, self.residual, self.trace = 0.5 * square, float(np.sqrt(square)), 0.0
        names = ("objective", "dual_bound", "gap", "mu", "n_active", "seconds")
        self.history: dict[str, list[float]] = {name: [] for name in names}

    def set_mu(self, mu: float) -> None:
        """Take another μ; the bound starts anew from that of θ = 0."""
        self.mu, self.penalty, self.bound = mu, mu * self.p, self.constant
        self.tolerance = INNER * mu * float(self.p.mean()) if len(self.p) else 0.0

    @cached_property
    def gram(self) -> Array | None:
        """The products of all points, where these are few and of many features: n×n numbers."""
        few = (
            len(self.w) <= FEW
            and self.M.shape[0] >= MANY
            and self.D is None
            and not issparse(self.M)
        )
        return gram(self.M, self.w) if few and self.place is None else None

    @property
    def gap(self) -> float:
        """The certified relative gap of the current point."""
        return (
            max(0.0, (self.objective - self.bound) / self.objective) if self.objective > 0 else 0.0
        )

    def solve(self, target: Target | None, warm: bool) -> tuple[Gates, Status]:
        """Go through the samples of the columns (unless ``warm``) to all of them; return these and how it ended."""
        for columns in [] if warm else samples(len(self.valid)):
            self.steer(self.open_gates(columns), target)
        gates = self.open_gates(None)
        return gates, self.steer(gates, target)

    def open_gates(self, columns: Array | None) -> Gates:
        """Return the working set at the current point for the given columns.

        The first atoms come from SPA, those of another dictionary from the first screening.
        """
        share = 1.0 if columns is None else len(self.valid) / len(columns)
        gram = self.gram if columns is None else None
        gates = Gates(self.M, self.w, self.s * share, columns, self.D, self.v, gram)
        atoms, t = self.point
        if len(atoms) == 0 and gates.tied:
            first = spa(gates.Y, min(START, *gates.Y.shape), allow_fewer=True)
            atoms, t = first if columns is None else columns[first], np.full(len(first), 0.5)
        gates.open(atoms, t)
        return gates

    def steer(self, gates: Gates, target: Target | None) -> Status:
        """Solve for the columns of ``gates``, at the current μ or at the one that meets the target."""
        whole = gates.columns is None
        tol = self.tol if whole else max(self.tol, SAMPLE_TOL)
        if target is None:
            return self.descend(gates, tol)
        kind, value = target
        status, accuracy = Status.MAX_ITER, TARGET_TOL if whole else SAMPLE_TOL

        def excess(mu: float, thorough: bool = False) -> float:
            nonlocal status
            if mu != self.mu:
                if abs(np.log(mu / self.mu)) > 0.1:  # other rows become likely
                    self.likely = None
                self.set_mu(mu)
            self.tolerance = (
                0.01 * INNER * accuracy * mu
            )  # the quantity itself is wanted, not only the objective
            status = self.descend(gates, min(tol, 0.1 * accuracy), thorough)
            attained = self.trace / value if kind == "trace" else value / max(self.residual, 1e-300)
            return float(np.log(max(attained, 1e-300)))

        first = self.mu
        met = find_penalty(excess, first, 0.5 * accuracy)
        if (
            whole and abs(excess(self.mu, thorough=True)) > accuracy and met
        ):  # more rows have opened
            met = find_penalty(lambda mu: excess(mu, thorough=True), self.mu, accuracy)
        if not whole and not met:  # a sample may be too small for the target
            self.set_mu(first)
        return status if met else Status.MAX_ITER

    def descend(self, gates: Gates, tol: float, thorough: bool = True) -> Status:
        """Newton on the working set, screening, new atoms: until the gap is at most ``tol``.

        As long as a likely row violates optimality only these are screened. When none does, all
        rows are (unless not ``thorough``), which gives a dual bound: on all columns of M, the
        certificate.
        """
        whole = gates.columns is None
        constant = self.constant if whole else 0.0
        bound, best, idle = 0.0, np.inf, 0
        mark, slow = np.inf, 0
        gap = 1.0  # as far as the rows screened last tell
        while True:
            gates.newton(self.penalty[gates.atoms], self.tolerance, lambda: self.keep(gates))
            self.keep(gates)
            rows, rough = self.likely, whole and gap > ROUGH
            view = self.look(gates, self.gram if rough else None)
            objective = view.objective + constant
            scores, lower = view.screen(rows, rough)
            new, violation = worst(scores, self.penalty, rows, gates, rough)
            gap = (objective - constant - lower) / max(objective, np.finfo(float).tiny)
            if (rough or rows is not None) and (len(new) == 0 or gap <= 0.3 * tol):
                if not thorough:
                    return Status.CONVERGED
                rows, rough = None, False
                if view.gram is not None:
                    view = self.look(gates)
                    objective = view.objective + constant
                scores, lower = view.screen(None, rough)
                new, violation = worst(scores, self.penalty, None, gates, rough)
            if rows is None and not rough:
                bound = max(bound, lower + constant)
                if whole:
                    self.bound = max(self.bound, bound)
            if (
                rows is None
            ):  # far from the optimum the scores say little about which rows will open
                near = objective - constant - lower < 0.3 * objective
                self.likely = likely_rows(scores / self.penalty) if near else None
            if whole:
                self.record()
            self.report(len(gates.atoms))
            if rows is None and not rough and objective - bound <= tol * objective:
                return Status.CONVERGED
            idle = idle + 1 if objective >= best * (1 - 1e-14) else 0
            best = min(best, objective)
            slow = slow + 1 if mark - objective < SLOWLY * (mark - bound) else 0
            mark = mark if slow else objective
            share = min(
                1.0, len(new) / ADD
            )  # where few rows join these may be the last: solve for them well
            self.tolerance = INNER * share * violation if len(new) else 0.01 * self.tolerance
            if idle >= IDLE or slow >= SLOW or self.tolerance < 1e-15 * self.mu:
                return Status.STALLED
            gates.change(gates.t > 0, new)

    def look(self, gates: Gates, gram: Array | None = None) -> "View":
        """Return the view of a working set, and take note of what it tells of the point."""
        view = View(gates, self.penalty, self.positive_sums, gram)
        self.residual, self.trace = float(np.sqrt(view.quadratic)), float(gates.t.sum())
        if gates.columns is None:
            self.objective = view.objective + self.constant
        return view

    def keep(self, gates: Gates) -> None:
        """Keep the point that a working set has reached; stop if the time is up."""
        self.point = gates.atoms, gates.t
        if time.perf_counter() > self.deadline:
            raise Stop(Status.MAX_SECONDS)

    def record(self) -> None:
        """Add the current point to the history."""
        seconds = time.perf_counter() - self.started
        values = self.objective, self.bound, self.gap, self.mu, len(self.point[0]), seconds
        length = min(
            map(len, self.history.values())
        )  # an interruption may have left some of them longer
        for name, value in zip(self.history, values, strict=True):
            self.history[name][length:] = [value]

    def report(self, n_active: int) -> None:
        """Tell the callback; stop if it says so."""
        seconds = time.perf_counter() - self.started
        step = len(self.history["objective"]) - 1
        if self.callback is not None and self.callback(
            Progress(
                step,
                self.objective,
                self.gap,
                seconds,
                self.mu,
                self.residual,
                self.trace,
                n_active,
            )
        ):
            raise Stop(Status.STOPPED_BY_CALLBACK)

    def certify(self) -> Gates:
        """Fit all columns to the point kept last and bound it, whatever state the search was left in."""
        for atoms, t in (self.point, (self.point[0][:0], self.point[1][:0])):
            gates = Gates(self.M, self.w, self.s, None, self.D, self.v)
            gates.open(atoms, t)
            view = View(gates, self.penalty, self.positive_sums)
            self.point, self.objective = (atoms, t), view.objective + self.constant
            if (
                self.objective <= self.history["objective"][0]
            ):  # else X = 0 is better than what a sample has led to
                break
        self.bound = max(self.bound, view.screen(None, rough=False)[1] + self.constant)
        self.record()
        return gates


class View:
    """The residual of a working set's fit, or what the products of all points tell of it, ready for screening."""

    def __init__(
        self, gates: Gates, penalty: Array, positive_sums: PositiveSums, gram: Array | None = None
    ) -> None:
        self.gates, self.penalty, self.positive_sums, self.gram = (
            gates,
            penalty,
            positive_sums,
            gram,
        )
        self.sparse = gates.sparse_residual() if issparse(gates.Y) else None
        if gram is not None:
            inner = gates.squares - gates.weight * np.einsum("jk,jk->j", gates.C, gates.Z)
            self.quadratic = max(2 * gates.fit, 0.0)
        elif self.sparse is not None:
            inner, self.quadratic = gates.s * self.sparse.inner, float(gates.s @ self.sparse.square)
        else:
            R = gates.residual()
            inner, self.quadratic = (
                gates.s * np.einsum("ij,ij->j", R, gates.Y),
                float(gates.s @ squared_norms(R)),
            )
            R *= gates.s * gates.scale
            self.theta = R
        self.linear = float(inner.sum())
        if self.sparse is not None:
            self.linear -= float(gates.s @ self.sparse.rounding)
        self.objective = 0.5 * self.quadratic + float(penalty[gates.atoms] @ gates.t)
        self.own = inner if gates.tied and gates.columns is None else None

    def screen(self, rows: Array | None, rough: bool) -> tuple[Array, float]:
        """Return the scores of the rows, and the best dual value as far as these rows are concerned."""
        gates = self.gates
        dtype = (
            np.float32 if rough or gates.columns is not None else np.float64
        )  # a sample is no proof anyway
        if self.gram is not None:
            scores = gram_sums(self.gram, gates.C, gates.Z, gates.weight)
        elif self.sparse is not None:
            scores = self.sparse.positive_sums(gates.D, gates.v, gates.s * gates.scale, rows)
        else:
            scores = self.positive_sums(self.theta, rows, dtype)
        which = slice(None) if rows is None else rows
        if self.own is not None:
            scores += np.minimum(self.own[which], 0.0)
        return scores, best_scaling(self.linear, self.quadratic, scores, self.penalty[which])[1]


def samples(n: int) -> list[Array]:
    """Return samples of the n columns, the smallest first: one column out of each run of 8, of 64, …"""
    rng = np.random.default_rng(0)
    runs = []
    size = n
    while size > SMALL:
        size = -(-size // SAMPLING)
        edges = np.linspace(0, n, size + 1).astype(np.int64)
        runs.append(edges[:-1] + (rng.random(size) * np.diff(edges)).astype(np.int64))
    return runs[::-1]


def likely_rows(ratio: Array) -> Array | None:
    """Return the rows nearest to opening, in order, an eighth of all; None if there are few anyway."""
    n = len(ratio)
    return None if n <= SMALL else np.sort(np.argpartition(-ratio, n // SAMPLING)[: n // SAMPLING])


def worst(
    scores: Array, penalty: Array, rows: Array | None, gates: Gates, rough: bool
) -> tuple[Array, float]:
    """Return the screened rows with closed gates that violate optimality most, and the largest violation.

    Of rows that are multiples of each other only the first is taken: the others would share its
    gate.
    """
    rows = np.arange(len(penalty)) if rows is None else rows
    is_open = gates.t > 0
    violation = np.where(np.isin(rows, gates.atoms[is_open]), -np.inf, scores - penalty[rows])
    count = max(ADD, int(is_open.sum()) // 2)
    order = np.argsort(-violation, kind="stable")[: 4 * count]
    order = order[violation[order] > (ROUGH_ROUNDING if rough else ROUNDING) * penalty[rows[order]]]
    D = dense_columns(gates.D, rows[order]).astype(np.float64)
    D /= np.maximum(np.sqrt(squared_norms(D)), np.finfo(float).tiny)
    same = np.triu(D.T @ D > 1 - PARALLEL, 1).any(axis=0)
    order = order[~same][:count]
    return rows[order], float(violation[order].max(initial=0.0))
