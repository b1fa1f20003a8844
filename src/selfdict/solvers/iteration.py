"""The iteration of Algorithm 1: the data as it uses them, its state, a step, and when to stop.

Model (6) and dictionaries with gates are the same to it.
"""

from dataclasses import dataclass

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.linear_algebra import onto_common_span, onto_span, squared_norm
from selfdict.compute.threads import even_slices, for_slices
from selfdict.kernels.projection import gradient_step, subtract_and_extrapolate
from selfdict.model.certificate import residual_terms
from selfdict.model.losses import Loss
from selfdict.model.omega import clip_to_gates, project_omega
from selfdict.model.problem import Problem, Target
from selfdict.model.solution import Progress, Solution, Status, as_history, relative_gap

# iterations between two computations of the gap, each of which costs about half an iteration
CHECK_EVERY = 25
FIRST_ALPHA = 0.05  # that of the authors' program


@dataclass(frozen=True, eq=False)
class GradientData:
    """A problem as Algorithm 1 uses it.

    With a dictionary the gates are a last column of X: a point m = 0 that no residual counts. With
    atoms scaled to the ℓ1 norm ω, the mean of w, the constraints read ω X_ij ≤ w_j t_i: those of Ω,
    for rows whose own entry is the last one and has the weight ω.
    """

    # (q, n) and (q, d): data and atoms, the same array without a dictionary. q ≤ m: a tall M is
    # replaced by the triangle of its QR factorisation where only products of columns enter
    M: Array
    D: Array
    # (n,): weights of Ω and of the residual, with those of the gate column
    w: Array
    s: Array
    loss: Loss  # the squared one for every quadratic loss
    gate_column: int | None  # where the gates are; None: on the diagonal
    # (d,) and (n,): by how much atoms and columns were scaled. A point that counts s times is one
    # that is √s times as long, and the step is longer in these coordinates
    row_scale: Array
    column_scale: Array
    step_size: float  # 1/L

    @classmethod
    def of(cls, problem: Problem) -> "GradientData":
        """Prepare a problem; L is σ_max² max_j s_j, times the constant of the loss."""
        form = problem
        if problem.loss.quadratic:
            form = problem.squared_form
        D = form.D
        loss = form.loss
        # iterates have the precision of the data; what they lead to is certified in float64
        dtype = problem.M.dtype
        M = form.M.astype(dtype, copy=False)
        s = form.s.astype(dtype)
        w = problem.w.astype(dtype)
        column_scale = np.ones_like(s)
        if loss.quadratic and problem.sample_weight is not None and (s > 0).all():
            column_scale = np.sqrt(s)
            M = M * column_scale
            w = w * column_scale
            s = np.ones_like(s)
        row_scale = column_scale
        gate_column = None
        atoms = M
        if D is not None:
            omega = dtype.type(w.mean()) or dtype.type(1.0)
            v = problem.v.astype(dtype)
            row_scale = np.zeros_like(v)
            np.divide(omega, v, out=row_scale, where=v > 0)
            gate_column = problem.n_points
            # the gates are one more column: a point of zeros whose residual has no weight
            M = np.pad(M, ((0, 0), (0, 1)))
            atoms = D.astype(dtype, copy=False) * row_scale
            w = np.append(w, omega)
            s = np.append(s, dtype.type(0.0))
        lipschitz = squared_norm(atoms) * float(s.max()) * loss.lipschitz
        # projections need the squares of w, gradients those of the data
        limits = np.finfo(dtype)
        least = float(limits.tiny / limits.eps)
        most = float(limits.max * limits.eps)
        squared_weight = float(w.max()) ** 2
        if not (lipschitz <= most and (squared_weight == 0 or least <= squared_weight <= most)):
            raise InputError(
                f"the squares of the data or of w leave the range of {dtype}, got {lipschitz:.1g} "
                f"and {squared_weight:.1g}; scale them, pass data in double precision or use "
                "working_set"
            )
        step_size = 0.0
        if lipschitz > 0:
            step_size = 1 / lipschitz
        # only products of columns enter a squared loss; another loss needs the entries themselves
        if loss.quadratic and D is None:
            M = atoms = onto_span(M)
        elif loss.quadratic:
            M, atoms = onto_common_span(M, atoms)
        return cls(M, atoms, w, s, loss, gate_column, row_scale, column_scale, step_size)

    def start(self, start: Solution) -> Array:
        """Return a first point projected onto Ω, with a column of gates for a dictionary."""
        X = start.toarray().astype(self.M.dtype, copy=False) * self.column_scale
        scale = self.row_scale[:, None]
        X = np.divide(X, scale, out=np.zeros_like(X), where=scale > 0)
        if self.gate_column is None:
            return project_omega(X, self.w)
        rows = np.column_stack([X, start.diagonal.astype(X.dtype)])
        return project_omega(rows, self.w, np.full(len(X), self.gate_column))

    def coefficients(self, rows: Array, support: Array) -> Array:
        """Turn rows of the iterate into rows of X: without gates, for data as they were given."""
        # in place: there may be as many rows as points
        X = rows[:, : len(self.column_scale)]
        X *= self.row_scale[support, None]
        X /= self.column_scale
        return np.ascontiguousarray(X)


class Iteration:
    """The state of Algorithm 1: the last two points, the extrapolation, the penalty, the history.

    Y is the current projected point and Y_old the one before; R = M − DY and R_old are their
    residuals. β extrapolates from the old point through the current one.
    """

    def __init__(self, problem: Problem, data: GradientData, start: Solution | None) -> None:
        self.problem = problem
        self.data = data
        self.mu = problem.require_mu()
        self.penalty = problem.penalty
        d = data.D.shape[1]
        n = data.M.shape[1]
        # as few slices as products allow, so that a slice of V stays in cache
        self.rows_per_slice = even_slices(d, 256)
        self.columns_per_slice = even_slices(n, 512)
        self.spare_slices: list[Array] = []  # slices of V that no thread uses at present
        self.Y = np.zeros((d, n), dtype=data.M.dtype)
        if start is not None:
            self.Y = data.start(start)
        self.Y_old = self.Y.copy()
        self.open: Array = np.asarray(self.Y.any(axis=1))
        self.open_old = self.open.copy()
        self.R = np.zeros_like(data.M, order="C")
        self.R_old = np.zeros_like(self.R)
        self.E = np.zeros_like(self.R)  # ψ of the extrapolated residual, times s
        self.alpha = FIRST_ALPHA
        self.beta = 0.0
        self.restarted = False
        self.square = self._update_residual()
        self.gap = np.inf
        # of the authors' rule for μ: the size of its steps, and the direction of the last one
        self.steering_size = 0.1
        self.steering_direction = 0
        self.history: list[dict[str, float]] = []
        self._record()

    @property
    def diagonal(self) -> Array:
        """The diagonal of Y, or its gates."""
        if self.data.gate_column is None:
            return np.diagonal(self.Y)
        return self.Y[:, self.data.gate_column]

    @property
    def objective(self) -> float:
        """The objective of the current point."""
        return 0.5 * self.square + self.penalty.value(self.diagonal)

    def step(self, steer: bool) -> None:
        """Take one iteration of Algorithm 1; first move μ towards the target, if asked."""
        if steer and self.problem.target is not None:
            self._steer(self.problem.target)
        self._project()
        # α_k from α_k² = (1 − α_k) α_{k−1}², and β_k as Algorithm 1 has it
        alpha = (np.sqrt(self.alpha**4 + 4 * self.alpha**2) - self.alpha**2) / 2
        self.beta = self.alpha * (1 - self.alpha) / (self.alpha**2 + alpha)
        self.alpha = alpha
        self.square = self._update_residual()
        # two restarts in a row would be plain gradient steps for ever
        has_risen = self.objective > self.history[-1]["objective"]
        self.restarted = not self.restarted and has_risen
        if self.restarted:
            self.alpha = FIRST_ALPHA
            self.beta = 0.0
            np.multiply(self.data.loss.gradient(self.R), self.data.s, out=self.E)
        self._record()

    def _steer(self, target: Target) -> None:
        """Change μ by a factor, which comes nearer to 1 when the direction turns."""
        direction = -1
        if self.attained(target) >= 1:
            direction = 1
        if self.steering_direction == -direction:
            self.steering_size /= 2
        self.steering_direction = direction
        self.mu *= 1 + direction * self.steering_size
        self.penalty = self.problem.penalty_at(self.mu)

    def _project(self) -> None:
        """Take a projected gradient step from the point extrapolated by β; it becomes Y."""
        data = self.data
        n = data.M.shape[1]
        dtype = data.M.dtype
        # a penalty beyond the range closes all rows as well as the largest number does
        largest = float(np.finfo(dtype).max) / 16
        slope = np.minimum(self.penalty.slope, largest).astype(dtype)
        # the weight of the square of a gate in the projection, for a quadratic penalty
        weight = 1.0 + data.step_size * float(self.penalty.curvature(np.zeros(1))[0])
        gate = -1  # for the kernel: on the diagonal
        if data.gate_column is not None:
            gate = data.gate_column

        def task(start: int, stop: int) -> None:
            if self.spare_slices:
                V = self.spare_slices.pop()
            else:
                V = np.empty((self.rows_per_slice, n), dtype=dtype)
            np.matmul(data.D[:, start:stop].T, self.E, out=V[: stop - start])
            gradient_step(
                V[: stop - start],
                self.Y,
                self.Y_old,
                self.open,
                self.open_old,
                self.beta,
                data.step_size,
                slope,
                weight,
                data.w,
                start,
                gate,
            )
            self.spare_slices.append(V)

        for_slices(task, data.D.shape[1], self.rows_per_slice)
        self.Y, self.Y_old = self.Y_old, self.Y
        self.open, self.open_old = self.open_old, self.open
        self.R, self.R_old = self.R_old, self.R

    def _update_residual(self) -> float:
        """Compute the residual of Y and extrapolate it; return its weighted square, or 2·loss."""
        data = self.data
        s = data.s
        if not data.loss.quadratic:
            s = np.ones_like(data.s)
        D = data.D
        Y = self.Y
        rows = np.flatnonzero(self.open)
        # the copy of the open rows pays where a fifth of them is closed
        if rows.size < 0.8 * self.open.size:
            D = D[:, rows]
            Y = Y[rows]

        def task(start: int, stop: int) -> float:
            np.matmul(D, Y[:, start:stop], out=self.R[:, start:stop])
            square: float = subtract_and_extrapolate(
                data.M, self.R, self.R_old, s, self.beta, self.E, start, stop
            )
            return square

        square = float(sum(for_slices(task, Y.shape[1], self.columns_per_slice)))
        if data.loss.quadratic:
            return square
        np.multiply(data.loss.gradient(self.E), data.s, out=self.E)
        return 2 * data.loss.total(self.R, data.s)

    def attained(self, target: Target) -> float:
        """Return above 1 where μ is too small: trace over target, or target over residual."""
        kind, value = target
        if kind == "trace":
            return float(self.diagonal.sum()) / value
        if self.square > 0:
            return float(value / np.sqrt(self.square))
        return np.inf

    def _record(self) -> None:
        # appended as one, so that an interruption finds it whole
        self.history.append(
            {
                "objective": self.objective,
                "mu": self.mu,
                "residual": float(np.sqrt(self.square)),
                "trace": float(self.diagonal.sum()),
                "restart": float(self.restarted),
            }
        )

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
        w = data.w.astype(np.float64)
        v = w
        D = None
        if data.gate_column is not None:
            D = data.D
            v = np.full(D.shape[1], w[-1])
        terms = residual_terms(
            data.M,
            self.R.astype(np.float64, copy=False),
            w,
            data.s.astype(np.float64),
            v,
            D,
            loss=data.loss,
        )
        return terms.bound(self.penalty)

    def _is_flat(self) -> bool:
        """Whether the objective has not changed beyond rounding in the last 100 iterations."""
        past = [values["objective"] for values in self.history[-4 * CHECK_EVERY :]]
        rounding = 10 * np.finfo(self.data.M.dtype).eps
        if len(past) < 4 * CHECK_EVERY:
            return False
        return bool(max(past) - min(past) <= rounding * self.objective)

    def progress(self, iteration: int, seconds: float) -> Progress:
        """Return the snapshot for the callback."""
        last = self.history[-1]
        return Progress(
            iteration=iteration,
            objective=last["objective"],
            gap=self.gap,
            seconds=seconds,
            mu=self.mu,
            residual=last["residual"],
            trace=last["trace"],
            n_active=int(np.count_nonzero(self.diagonal)),
        )

    def solution(self, status: Status) -> Solution:
        """Return the current point, not certified yet."""
        diagonal = self.diagonal.copy()
        objective = self.objective
        support = np.flatnonzero(diagonal)
        del self.Y_old, self.R_old, self.E  # make room for the copy of the open rows
        problem = self.problem.with_mu(self.mu)
        coef = self.data.coefficients(self.Y[support], support)
        del self.Y  # makes room for the certificate
        # projections end in Ω up to rounding errors in the precision of the data
        clip_to_gates(problem, support, diagonal[support], coef)
        return Solution(
            support=support,
            coef=coef,
            diagonal=diagonal,
            objective=objective,
            problem=problem,
            n_iter=len(self.history) - 1,
            status=status,
            history=as_history(self.history),
        )
