"""The iteration of Algorithm 1: what it carries along, a step, and when to stop."""

import numpy as np

from selfdict.compute.device import Device
from selfdict.model.certificate import residual_terms
from selfdict.model.feasibility import clip_to_gates
from selfdict.model.problem import Problem, Target
from selfdict.model.solution import Progress, Solution, Status, relative_gap
from selfdict.solvers.gradient_arrays import GradientArrays
from selfdict.solvers.gradient_data import GradientData

# iterations between two computations of the gap, each of which costs about half an iteration
CHECK_EVERY = 25


class Iteration:
    """The state of Algorithm 1: its arrays, the extrapolation, the penalty, and the history.

    ``data`` is the problem as arrays; ``device`` is where the gap is computed.
    """

    FIRST_ALPHA = 0.05  # that of the authors' program

    def __init__(
        self, problem: Problem, data: GradientData, arrays: GradientArrays, device: Device = None
    ) -> None:
        self.problem = problem
        self.data = data
        self.arrays = arrays
        self.device = device
        self.mu = problem.require_mu()
        self.penalty = problem.penalty
        self.alpha = self.FIRST_ALPHA
        self.beta = 0.0
        self.restarted = False
        self.square = arrays.update_residual(self.beta)
        self.gap = np.inf
        self.steering = Steering()
        names = ("objective", "mu", "residual", "trace", "restart")
        self.history: dict[str, list[float]] = {name: [] for name in names}
        self._record()

    def step(self, steer: bool) -> None:
        """Take one iteration of Algorithm 1; first move μ towards the target, if asked."""
        if steer and self.problem.target is not None:
            self.mu *= self.steering.factor(self.attained(self.problem.target))
            self.penalty = self.problem.penalty_at(self.mu)
        self.arrays.project(self.penalty, self.beta)
        # α_k from α_k² = (1 − α_k) α_{k−1}², and β_k as Algorithm 1 has it
        alpha = (np.sqrt(self.alpha**4 + 4 * self.alpha**2) - self.alpha**2) / 2
        self.beta = self.alpha * (1 - self.alpha) / (self.alpha**2 + alpha)
        self.alpha = alpha
        self.square = self.arrays.update_residual(self.beta)
        # two restarts in a row would be plain gradient steps for ever
        has_risen = self.objective > self.history["objective"][-1]
        self.restarted = not self.restarted and has_risen
        if self.restarted:
            self.alpha = self.FIRST_ALPHA
            self.beta = 0.0
            self.arrays.forget_extrapolation()
        self._record()

    @property
    def objective(self) -> float:
        """The objective of the current point."""
        return 0.5 * self.square + self.penalty.value(self.arrays.diagonal)

    def attained(self, target: Target) -> float:
        """Return above 1 where μ is too small: trace over target, or target over residual."""
        kind, value = target
        if kind == "trace":
            return float(self.arrays.diagonal.sum()) / value
        if self.square > 0:
            return float(value / np.sqrt(self.square))
        return np.inf

    def _record(self) -> None:
        values = {
            "objective": self.objective,
            "mu": self.mu,
            "residual": np.sqrt(self.square),
            "trace": float(self.arrays.diagonal.sum()),
            "restart": float(self.restarted),
        }
        for name, value in values.items():
            self.history[name].append(value)

    def outcome(self, tol: float) -> Status | None:
        """Return how to end, if it is time: certified and on target, or no longer falling."""
        target = self.problem.target
        # as long as μ moves, a small gap belongs to a penalty that is not wanted
        if target is not None and abs(self.attained(target) - 1) > 1e-3:
            return None
        # Rounding in the precision of the iterates may lift this bound above the objective. It only
        # says when to stop: the certificate of the last point is computed in float64.
        self.gap = relative_gap(self.objective, min(self._bound(), self.objective))
        if self.gap <= tol:
            return Status.CONVERGED
        if target is None and self._is_flat():
            return Status.STALLED
        return None

    def _bound(self) -> float:
        """Return the dual bound at the current residual."""
        data = self.data
        D = None
        v = None
        if data.gate_column is not None:
            D = data.D
            v = np.full(D.shape[1], float(data.w[-1]))
        terms = residual_terms(
            data.M,
            self.arrays.residual(),
            data.w.astype(np.float64),
            data.s.astype(np.float64),
            loss=data.loss,
            D=D,
            v=v,
            device=self.device,
        )
        return terms.bound(self.penalty)

    def _is_flat(self) -> bool:
        """Whether the objective has not changed beyond rounding in the last 100 iterations."""
        past = self.history["objective"][-4 * CHECK_EVERY :]
        rounding = 10 * np.finfo(self.data.M.dtype).eps
        if len(past) < 4 * CHECK_EVERY:
            return False
        return bool(max(past) - min(past) <= rounding * self.objective)

    def progress(self, iteration: int, seconds: float) -> Progress:
        """Return the snapshot for the callback."""
        return Progress(
            iteration=iteration,
            objective=self.history["objective"][-1],
            gap=self.gap,
            seconds=seconds,
            mu=self.mu,
            residual=self.history["residual"][-1],
            trace=self.history["trace"][-1],
            n_active=int(np.count_nonzero(self.arrays.diagonal)),
        )

    def solution(self, status: Status) -> Solution:
        """Return the current point, not certified yet."""
        diagonal = self.arrays.diagonal.copy()
        support = np.flatnonzero(diagonal)
        rows = self.arrays.rows(support)
        # an interruption may have left some of the lists longer than others
        length = min(len(values) for values in self.history.values())
        history = {name: np.asarray(values[:length]) for name, values in self.history.items()}
        problem = self.problem.with_mu(self.mu)
        coef = self.data.coefficients(rows, support)
        # projections end in Ω up to rounding errors in the precision of the data
        clip_to_gates(problem, support, diagonal[support], coef)
        return Solution(
            support=support,
            coef=coef,
            diagonal=diagonal,
            objective=self.objective,
            problem=problem,
            n_iter=length - 1,
            status=status,
            history=history,
        )


class Steering:
    """The authors' rule for μ: a step by a factor, which halves when the direction turns."""

    def __init__(self) -> None:
        self.size = 0.1
        self.direction = 0

    def factor(self, attained: float) -> float:
        """Return what to multiply μ by; ``attained`` is above 1 where μ is too small."""
        direction = -1
        if attained >= 1:
            direction = 1
        if self.direction == -direction:
            self.size /= 2
        self.direction = direction
        return 1 + direction * self.size
