"""The iteration of Algorithm 1: what it carries along, a step, and when to stop."""

import math
from typing import Any

import numpy as np
import scipy.linalg

from selfdict._validation import Array
from selfdict.kernels.device.choose import to_numpy
from selfdict.kernels.iteration import iterate
from selfdict.kernels.product import gemm_address
from selfdict.kernels.threads import n_threads, on_threads
from selfdict.model.certificate import best_scaling, loss_bound
from selfdict.model.screening import row_scores
from selfdict.model.solution import Progress, Solution, Status
from selfdict.solvers.problem import Problem, Target

ALPHA_0 = 0.05
CHECK_EVERY = 25  # iterations between two looks at the gap, each of which costs about half an iteration
ROW_BYTES, COLUMNS = 2048, 512  # rows of a slice times the size of a number, and columns, at most


class Iterate:
    """The state of Algorithm 1: the two last projected points Y, their residuals, α and μ."""

    device: Any = None
    Y: Any  # arrays here, tensors on a device
    Y_old: Any
    R: Any
    R_old: Any
    E: Any
    t: Any  # the gates of Y
    t_old: Any
    trace: float  # Σ t_i
    penalty: float  # Σ p_i t_i
    square: float  # Σ s_j R_ij²

    def __init__(self, problem: Problem, L: float, target: Target | None, start: Array | None) -> None:
        self.problem, self.target, self.mu = problem, target, problem.mu
        self.loss = None if problem.loss.quadratic else problem.loss
        n, d = len(problem.w), len(problem.v)
        both = problem.M if problem.D is None else np.hstack([problem.M, problem.D])
        # only products of columns enter a squared loss, so a tall M gives way to the triangle of its QR factorisation
        if self.loss is None and both.shape[0] > both.shape[1]:
            both = scipy.linalg.qr(both, mode="r", check_finite=False)[0][: both.shape[1]]
        # the same, if the columns of M are the atoms
        self.M, self.D = np.ascontiguousarray(both[:, :n]), np.ascontiguousarray(both[:, -d:])
        self.gate = -1 if problem.D is None else n - 1
        self.gemm = gemm_address(both.dtype)
        self.step_size = 1 / L if L > 0 else 0.0
        self.alpha, self.beta, self.restarted = ALPHA_0, 0.0, False
        self._allocate(start)
        self._begin()
        self.sigma, self.direction = 0.1, 0
        self.gap = np.inf
        self.history: dict[str, list[float]] = {k: [] for k in ("objective", "mu", "residual", "trace", "restart")}
        self._record(self.objective)

    def _allocate(self, start: Array | None) -> None:
        """Make the two points, both at the start (zero by default), and room for their residuals."""
        (d, n), dtype = (self.D.shape[1], self.M.shape[1]), self.M.dtype
        self.Y, self.Y_old = np.empty((2, d, n), dtype=dtype)
        self.Y[:] = self.Y_old[:] = 0.0 if start is None else start
        self.t = (np.diagonal(self.Y) if self.gate < 0 else self.Y[:, self.gate]).copy()
        self.t_old = self.t.copy()
        self.R, self.R_old, self.E = (np.zeros_like(self.M) for _ in range(3))
        self.weight = self.problem.s if self.loss is None else np.ones_like(self.problem.s)
        rows, self.columns = _even(d, ROW_BYTES // dtype.itemsize), _even(n, COLUMNS)
        self.row_slices, self.column_slices = -(-d // rows), -(-n // self.columns)
        self.room = np.empty((min(n_threads(), self.row_slices), rows, n), dtype=dtype)

    def _begin(self) -> None:
        """Make the residual of the start."""
        self._share(0.0, rows_done=self.row_slices)

    def step(self, target_due: bool) -> None:
        """Take one iteration of Algorithm 1."""
        if target_due:
            self._steer()
        beta = self.beta
        alpha = (math.sqrt(self.alpha**4 + 4 * self.alpha**2) - self.alpha**2) / 2
        self.beta = self.alpha * (1 - self.alpha) / (self.alpha**2 + alpha)
        self.alpha = alpha
        self._advance(beta)
        # two restarts in a row would be plain gradient steps for ever
        objective = self.objective
        self.restarted = not self.restarted and objective > self.history["objective"][-1]
        if self.restarted:
            self._restart()
        self._record(objective)

    def _restart(self) -> None:
        """Forget the extrapolation."""
        self.alpha, self.beta = ALPHA_0, 0.0
        np.multiply(self._slope(self.R), self.problem.s, out=self.E)

    @property
    def objective(self) -> float:
        return 0.5 * self.square + self.mu * self.penalty

    @property
    def diagonal(self) -> Array:
        """The diagonal of the current point, or its gates."""
        gates: Array = self.t
        return gates

    def _advance(self, beta: float) -> None:
        """Y ← P_Ω(X − ∇F(X)/L) at X = Y + β(Y − Y_old), with its residual and what goes with it."""
        self._share(beta, rows_done=0)

    def _share(self, beta: float, rows_done: int) -> None:
        """Let the threads share an iteration of which some slices of rows are done: with all of them, the point stays.

        E is the residual extrapolated for the next iteration; for another loss, ψ of it, and twice the loss stands for
        the square.
        """
        problem = self.problem
        turns, squares = np.array([0, rows_done, rows_done, 0, 0]), np.empty(self.column_slices)
        arguments = (
            *(turns, self.room, squares, self.gemm, self.M, self.D),
            *(self.Y, self.Y_old, self.t, self.t_old, self.R, self.R_old, self.E),
            *(beta, self.beta, self.step_size, self.mu),
            *(problem.p, problem.w, self.weight, self.gate, self.columns),
        )
        self.trace, self.penalty, self.square = on_threads(lambda leads: iterate(leads, *arguments), len(self.room))
        self.Y, self.Y_old, self.t, self.t_old = self.Y_old, self.Y, self.t_old, self.t
        self.R, self.R_old = self.R_old, self.R
        if self.loss is not None:
            np.multiply(self._slope(self.E), problem.s, out=self.E)
            self.square = 2 * self.loss.total(self.R, problem.s)

    def _slope(self, R: Array) -> Array:
        """Return ψ(R), the derivative of the loss."""
        return R if self.loss is None else self.loss.gradient(R)

    def _steer(self) -> None:
        """Move μ towards the target; the step halves when the direction turns."""
        if self.target is None:
            return
        direction = 1 if self._attained() >= 1 else -1
        if self.direction == -direction:
            self.sigma /= 2
        self.direction = direction
        self.mu *= 1 + direction * self.sigma

    def _attained(self) -> float:
        """Return above 1 where μ is too small: trace over target, or target over residual."""
        kind, value = self.target or ("trace", np.nan)
        if kind == "trace":
            return self.trace / value
        return value / np.sqrt(self.square) if self.square > 0 else np.inf

    def _record(self, objective: float) -> None:
        values = objective, self.mu, math.sqrt(self.square), self.trace, float(self.restarted)
        for key, value in zip(self.history, values, strict=True):
            self.history[key].append(value)

    def outcome(self, tol: float) -> Status | None:
        """Return how to end, if it is time: certified and on target, or no longer falling."""
        if self.target is not None and abs(self._attained() - 1) > 1e-3:
            return None
        psi = self._slope(to_numpy(self.R).astype(np.float64, copy=False))
        s, penalty = self.problem.s.astype(np.float64), self.mu * self.problem.p.astype(np.float64)
        theta = psi * s
        linear = float(np.einsum("ij,ij->", theta, self.M, dtype=np.float64))
        D, v = None, None
        if self.problem.D is not None:
            D, v = self.D, np.full(self.D.shape[1], float(self.problem.w[-1]))
        scores = row_scores(self.M, theta, self.problem.w.astype(np.float64), D, v, place=self.device)
        if self.loss is None:
            bound = best_scaling(linear, self.square, scores, penalty)[1]
        else:
            bound = loss_bound(self.loss, psi, s, linear, scores, penalty)
        objective = self.objective
        self.gap = max(0.0, (objective - bound) / objective) if objective > 0 else 0.0
        if self.gap <= tol:
            return Status.CONVERGED
        past = self.history["objective"][-4 * CHECK_EVERY :]
        rounding = 10 * np.finfo(self.M.dtype).eps
        if self.target is None and len(past) == 4 * CHECK_EVERY and max(past) - min(past) <= rounding * objective:
            return Status.STALLED
        return None

    def progress(self, k: int, seconds: float) -> Progress:
        """Return the snapshot for the callback."""
        last = {key: values[-1] for key, values in self.history.items()}
        return Progress(
            k,
            last["objective"],
            self.gap,
            seconds,
            self.mu,
            last["residual"],
            last["trace"],
            int(np.count_nonzero(self.diagonal)),
        )

    def solution(self, status: Status) -> Solution:
        """Return the current point, not certified yet."""
        problem, support = self.problem, np.flatnonzero(self.diagonal)
        del self.Y_old, self.R_old, self.E  # make room for the copy of the open rows
        history = {key: np.asarray(values) for key, values in self.history.items()}
        coef, columns = self._rows(support), slice(None)
        if self.gate >= 0:  # the gates leave, and the atoms get back their size
            columns = slice(self.gate)
            coef = coef[:, columns] * (problem.w[-1] / problem.v[support, None])
        return Solution(
            support=support,
            coef=coef,
            diagonal=self.diagonal.copy(),
            objective=self.objective,
            mu=self.mu,
            weights=problem.w[columns],
            p=problem.p,
            sample_weight=problem.sample_weight,
            loss=problem.loss,
            n_iter=len(history["objective"]) - 1,
            status=status,
            history=history,
        )

    def _rows(self, support: Array) -> Array:
        """Return some rows of the current point."""
        rows: Array = self.Y[support]
        return rows


def _even(n: int, at_most: int) -> int:
    """Return the length of slices that cut n into an even number of equal parts: two threads end together."""
    return -(-n // (2 * -(-n // (2 * at_most))))
