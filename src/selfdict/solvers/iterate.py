"""The iteration of Algorithm 1: what it carries along, a step, and when to stop."""

from typing import Any

import numpy as np
import scipy.linalg

from selfdict._validation import Array
from selfdict.compute.device import to_numpy
from selfdict.compute.threads import for_slices
from selfdict.kernels.projection import gradient_step
from selfdict.kernels.residuals import subtract_and_extrapolate
from selfdict.model.certificate import best_scaling, loss_bound
from selfdict.model.problem import Problem, Target
from selfdict.model.screening import row_scores
from selfdict.model.solution import Progress, Solution, Status

ALPHA_0 = 0.05
CHECK_EVERY = (
    25  # iterations between two looks at the gap, each of which costs about half an iteration
)
ONE_SLICE = 256
ROWS, COLUMNS = 256, 512  # of a slice, at most: as few as products allow, so that V stays in cache


class Iterate:
    """The state of Algorithm 1: the two last projected points Y, their residuals, α and μ."""

    device: Any = None
    Y: Any  # arrays here, tensors on a device
    Y_old: Any
    R: Any
    R_old: Any
    E: Any

    def __init__(
        self, problem: Problem, L: float, target: Target | None, start: Array | None
    ) -> None:
        self.problem, self.target, self.mu = problem, target, problem.mu
        self.loss = None if problem.loss.quadratic else problem.loss
        n, d = len(problem.w), len(problem.v)
        both = problem.M if problem.D is None else np.hstack([problem.M, problem.D])
        # only products of columns enter a squared loss, so a tall M gives way to the triangle of
        # its QR factorisation
        if self.loss is None and both.shape[0] > both.shape[1]:
            both = scipy.linalg.qr(both, mode="r", check_finite=False)[0][: both.shape[1]]
        self.M, self.D = both[:, :n], both[:, -d:]  # the same, if the columns of M are the atoms
        self.gate = -1 if problem.D is None else n - 1
        self.rows, self.columns = _even(d, ROWS), _even(n, COLUMNS)
        self.free: list[Array] = []  # slices of V that no thread works on
        self.step_size = 1 / L if L > 0 else 0.0
        self.alpha, self.beta, self.restarted = ALPHA_0, 0.0, False
        self._allocate(start)
        self.square = self._residual()
        self.sigma, self.direction = 0.1, 0
        self.gap = np.inf
        self.history: dict[str, list[float]] = {
            k: [] for k in ("objective", "mu", "residual", "trace", "restart")
        }
        self._record()

    def _allocate(self, start: Array | None) -> None:
        """Make the two points, both at the start (zero by default), and room for their residuals."""
        shape = self.D.shape[1], self.M.shape[1]
        self.Y = np.zeros(shape, dtype=self.M.dtype) if start is None else start
        self.Y_old = self.Y.copy()
        self.open: Array = np.asarray(self.Y.any(axis=1))
        self.open_old = self.open.copy()
        self.R, self.R_old, self.E = (np.zeros_like(self.M, order="C") for _ in range(3))

    def step(self, target_due: bool) -> None:
        """Take one iteration of Algorithm 1."""
        if target_due:
            self._steer()
        self._project()
        alpha = (np.sqrt(self.alpha**4 + 4 * self.alpha**2) - self.alpha**2) / 2
        self.beta = self.alpha * (1 - self.alpha) / (self.alpha**2 + alpha)
        self.alpha = alpha
        self.R, self.R_old = self.R_old, self.R
        self.square = self._residual()
        # two restarts in a row would be plain gradient steps for ever
        self.restarted = not self.restarted and self.objective > self.history["objective"][-1]
        if self.restarted:
            self._restart()
        self._record()

    def _restart(self) -> None:
        """Forget the extrapolation."""
        self.alpha, self.beta = ALPHA_0, 0.0
        np.multiply(self._slope(self.R), self.problem.s, out=self.E)

    @property
    def objective(self) -> float:
        return 0.5 * self.square + self.mu * float(self.problem.p @ self.diagonal)

    @property
    def diagonal(self) -> Array:
        """The diagonal of the current point, or its gates."""
        return np.diagonal(self.Y) if self.gate < 0 else self.Y[:, self.gate]

    def _residual(self) -> float:
        """Put M − DY into R, using the open rows of Y alone, and extrapolate it into E; return its weighted square.

        For another loss, E is ψ of the extrapolated residual and twice the loss stands for the
        square.
        """
        s = self.problem.s if self.loss is None else np.ones_like(self.problem.s)
        D, Y, rows = self.D, self.Y, np.flatnonzero(self.open)
        if rows.size < 0.8 * self.open.size:
            D, Y = D[:, rows], Y[rows]

        def task(start: int, stop: int) -> float:
            np.matmul(D, Y[:, start:stop], out=self.R[:, start:stop])
            return subtract_and_extrapolate(
                self.M, self.R, self.R_old, s, self.beta, self.E, start, stop
            )

        square = float(sum(for_slices(task, Y.shape[1], self.columns)))
        if self.loss is None:
            return square
        np.multiply(self._slope(self.E), self.problem.s, out=self.E)
        return 2 * self.loss.total(self.R, self.problem.s)

    def _slope(self, R: Array) -> Array:
        """Return ψ(R), the derivative of the loss."""
        return R if self.loss is None else self.loss.gradient(R)

    def _project(self) -> None:
        """Y_old ← P_Ω(X − ∇F(X)/L) at the extrapolated X, a slice of rows at a time; then swap."""
        D, n, dtype = self.D, self.M.shape[1], self.M.dtype
        penalty = dtype.type(self.mu) * self.problem.p

        def task(start: int, stop: int) -> None:
            V = self.free.pop() if self.free else np.empty((self.rows, n), dtype=dtype)
            np.matmul(D[:, start:stop].T, self.E, out=V[: stop - start])
            gradient_step(
                V[: stop - start],
                self.Y,
                self.Y_old,
                self.open,
                self.open_old,
                self.beta,
                self.step_size,
                penalty,
                self.problem.w,
                start,
                self.gate,
            )
            self.free.append(V)

        for_slices(task, D.shape[1], self.rows)
        self.Y, self.Y_old = self.Y_old, self.Y
        self.open, self.open_old = self.open_old, self.open

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
            return float(self.diagonal.sum()) / value
        return value / np.sqrt(self.square) if self.square > 0 else np.inf

    def _record(self) -> None:
        values = (
            self.objective,
            self.mu,
            np.sqrt(self.square),
            float(self.diagonal.sum()),
            float(self.restarted),
        )
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
        scores = row_scores(
            self.M, theta, self.problem.w.astype(np.float64), D, v, place=self.device
        )
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
        if (
            self.target is None
            and len(past) == 4 * CHECK_EVERY
            and max(past) - min(past) <= rounding * objective
        ):
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
        length = min(
            map(len, self.history.values())
        )  # an interruption may have left some of them longer
        history = {key: np.asarray(values[:length]) for key, values in self.history.items()}
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
    """Return the length of slices that cut n into an even number of equal parts: two threads end together.

    What is done before another thread is awake is not cut.
    """
    return n if n <= ONE_SLICE else -(-n // (2 * -(-n // (2 * at_most))))
