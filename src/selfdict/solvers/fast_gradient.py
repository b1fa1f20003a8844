"""Algorithm 1 of the paper: the fast gradient method for model (6)."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, eigsh

from selfdict._validation import Array, as_scalar
from selfdict.kernels.blas import single_threaded_blas
from selfdict.kernels.device.choose import choose_device, to_numpy
from selfdict.kernels.projection import gradient_step
from selfdict.kernels.residuals import subtract_and_extrapolate
from selfdict.kernels.threads import for_slices
from selfdict.model.certificate import best_scaling, certify, loss_bound
from selfdict.model.losses import Loss
from selfdict.model.omega import project_omega
from selfdict.model.screening import row_scores
from selfdict.model.solution import Callback, Progress, Solution, Status
from selfdict.solvers.problem import Problem, Target, check_target

ALPHA_0 = 0.05
CHECK_EVERY = 25  # iterations between two looks at the gap, each of which costs about half an iteration
ROWS, COLUMNS = 256, 512  # of a slice, at most: as few as products allow, so that V stays in cache


def fast_gradient(
    M: ArrayLike,
    mu: float,
    *,
    D: ArrayLike | None = None,
    p: ArrayLike | None = None,
    w: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    loss: Loss | str = "squared",
    target: Target | None = None,
    target_every: int | None = None,
    X0: ArrayLike | Solution | None = None,
    lipschitz: float | None = None,
    max_iter: int = 1000,
    max_seconds: float | None = None,
    tol: float = 1e-3,
    random_state: Any = None,
    callback: Callback | None = None,
    device: Any = None,
) -> Solution:
    """Minimise ½‖M − MX‖_F² + μ pᵀdiag(X) over X ∈ Ω, model (6), by Algorithm 1 of the paper.

    The method restarts whenever the objective has risen, as the authors' program does. An iteration costs
    the products Mᵀ(·) and M(·) and little else; it holds two n×n arrays, so n is bounded by memory (n ≲ 20,000).

    Parameters
    ----------
    M : (m, n) array_like
        The data, a point a column; float32 is computed in float32. Entries may be negative.
    mu : float
        The penalty μ ≥ 0; with ``target`` its first value. See :func:`mu_heuristic`.
    D : (m, d) array_like, optional
        A dictionary with gates, as in :func:`working_set`; by default M itself.
    p : (n,) or (d,) array_like, optional
        Positive weights of the diagonal, or of the gates. By default ones, or 1 + 0.01(u − ½) with u uniform if
        ``random_state`` is given.
    w : (n,) array_like, optional
        Weights of Ω; by default the ℓ1 norms of the columns of M.
    sample_weight : (n,) array_like, optional
        Weights s_j ≥ 0 of the columns in the residual ½ Σ_j s_j ‖m_j − M x_j‖².
    loss : "squared" or Loss
        What stands for ½‖M − MX‖_F²: :class:`Weighted`, :class:`Huber`, :class:`PseudoHuber` or one of your own.
    target : ("residual", eps) or ("trace", value), optional
        Steer μ until ‖M − MX‖_F (in general: the root of twice the loss) is ``eps``, or the trace of X is ``value``.
    target_every : int, optional
        Change μ every so many iterations; by default at each restart.
    X0 : (n, n) array_like or Solution, optional
        Where to start; by default X = 0. It is projected onto Ω. With D, a Solution.
    lipschitz : float, optional
        The constant L; by default σ_max(M)² max_j s_j times that of the loss. With D, σ_max is that of the atoms
        scaled to the mean of w.
    max_iter, max_seconds : int, float, optional
        Limits on the iterations and on the time.
    tol : float
        Stop when the certified relative gap is at most ``tol`` (and the target is met to 1e-3), or when the
        objective has stopped falling. 0 means: no early stop.
    random_state : int, Generator or None
        Seed of the default p.
    callback : callable, optional
        Called with a :class:`~selfdict.model.Progress` after each iteration; a true result stops.
    device : {None, "cpu", "cuda"}, optional
        Where the two n×n arrays lie and the iterations are taken; see :doc:`/gpu`. With D they are taken on the CPU.

    Returns
    -------
    Solution
        The last projected iterate, certified. ``history`` has ``objective``, ``mu``, ``residual``,
        ``trace`` and ``restart``.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import fast_gradient
    >>> M = np.array([[1.0, 0.0, 0.5, 0.7], [0.0, 1.0, 0.5, 0.3]])
    >>> solution = fast_gradient(M, 0.1)
    >>> np.sort(np.argsort(solution.diagonal)[-2:]), solution.gap <= 1e-3
    (array([0, 1]), True)
    """
    place = choose_device(device, M)
    M, D = to_numpy(M), to_numpy(D)
    problem = Problem.check(M, mu, p, w, sample_weight, random_state, D, loss)
    if problem.D is not None:
        problem = _with_gates(problem)
    target = check_target(target)
    tol = as_scalar(tol, "tol")
    if target_every is not None and target_every < 1:
        raise ValueError(f"target_every must be at least 1, got {target_every}")
    if max_iter < 0:
        raise ValueError(f"max_iter must not be negative, got {max_iter}")
    if lipschitz is None:
        lipschitz = squared_norm(problem.M if problem.D is None else problem.D) * float(problem.s.max())
        if not problem.loss.quadratic:
            lipschitz *= problem.loss.lipschitz
    L = as_scalar(lipschitz, "lipschitz")
    with single_threaded_blas():  # products are taken inside slices
        state = _new_state(place, problem, L, target, _start(X0, problem))
        try:
            status = _iterate(state, target_every, max_iter, max_seconds, tol, callback)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        return certify(M, state.solution(status), D=D, device=place)


def _iterate(
    state: "Iterate",
    target_every: int | None,
    max_iter: int,
    max_seconds: float | None,
    tol: float,
    callback: Callback | None,
) -> Status:
    """Step until something says to stop; return what."""
    started = time.perf_counter()
    for k in range(1, max_iter + 1):
        due = state.restarted if target_every is None else (k - 1) % target_every == 0 and k > 1
        state.step(due)
        if tol > 0 and k % CHECK_EVERY == 0 and (outcome := state.outcome(tol)) is not None:
            return outcome
        seconds = time.perf_counter() - started
        if callback is not None and callback(state.progress(k, seconds)):
            return Status.STOPPED_BY_CALLBACK
        if max_seconds is not None and seconds > max_seconds:
            return Status.MAX_SECONDS
    return Status.MAX_ITER


class Iterate:
    """The state of Algorithm 1: the two last projected points Y, their residuals, α and μ."""

    device: Any = None
    Y: Any  # arrays here, tensors on a device
    Y_old: Any
    R: Any
    R_old: Any
    E: Any

    def __init__(self, problem: Problem, L: float, target: Target | None, start: Array | None) -> None:
        self.problem, self.target, self.mu = problem, target, problem.mu
        self.loss = None if problem.loss.quadratic else problem.loss
        n, d = len(problem.w), len(problem.v)
        both = problem.M if problem.D is None else np.hstack([problem.M, problem.D])
        # only products of columns enter a squared loss, so a tall M gives way to the triangle of its QR factorisation
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
        self.history: dict[str, list[float]] = {k: [] for k in ("objective", "mu", "residual", "trace", "restart")}
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

        For another loss, E is ψ of the extrapolated residual and twice the loss stands for the square.
        """
        s = self.problem.s if self.loss is None else np.ones_like(self.problem.s)
        D, Y, rows = self.D, self.Y, np.flatnonzero(self.open)
        if rows.size < 0.8 * self.open.size:
            D, Y = D[:, rows], Y[rows]

        def task(start: int, stop: int) -> float:
            np.matmul(D, Y[:, start:stop], out=self.R[:, start:stop])
            return subtract_and_extrapolate(self.M, self.R, self.R_old, s, self.beta, self.E, start, stop)

        square = float(sum(for_slices(task, Y.shape[1], self.columns)))
        if self.loss is None:
            return square
        self.E = self._slope(self.E) * self.problem.s
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


def _new_state(place: Any, problem: Problem, L: float, target: Target | None, start: Array | None) -> Iterate:
    """Return the state of the iteration, on the CPU or on a device; with a dictionary always on the CPU."""
    if place is None or problem.D is not None:
        return Iterate(problem, L, target, start)
    from selfdict.solvers.device_gradient import DeviceIterate

    return DeviceIterate(problem, L, target, start, place)


def _with_gates(problem: Problem) -> Problem:
    """Return the problem with the gates as a last column of X: a point m = 0 that no residual counts.

    With atoms scaled to the ℓ1 norm ω, the mean of w, the constraints read ω X_ij ≤ w_j t_i: those of Ω, for rows whose
    own entry is the last one and has the weight ω.
    """
    omega = problem.M.dtype.type(problem.w.mean()) or problem.M.dtype.type(1.0)
    size = np.divide(omega, problem.v, out=np.zeros_like(problem.v), where=problem.v > 0)
    return replace(
        problem,
        M=np.pad(problem.M, ((0, 0), (0, 1))),
        D=problem.D * size,
        w=np.append(problem.w, omega),
        s=np.append(problem.s, problem.s.dtype.type(0.0)),
    )


def _start(X0: ArrayLike | Solution | None, problem: Problem) -> Array | None:
    """Return the first feasible point as a dense matrix, None for zero."""
    d, n, dtype = len(problem.v), len(problem.w), problem.M.dtype
    if X0 is None:
        return None
    X = np.asarray(X0.toarray() if isinstance(X0, Solution) else X0, dtype=dtype)
    expected = (d, n if problem.D is None else n - 1)
    if X.shape != expected:
        raise ValueError(f"X0 must have shape {expected}, got {X.shape}")
    if problem.D is None:
        return project_omega(X, problem.w)
    if not isinstance(X0, Solution):
        raise TypeError(f"X0 must be a Solution when there is a dictionary D, got {type(X0).__name__}")
    rows = np.column_stack([X * (problem.v / problem.w[-1])[:, None], X0.diagonal]).astype(dtype)
    return project_omega(rows, problem.w, np.full(d, n - 1))


def squared_norm(M: Array) -> float:
    """Return σ_max(M)², from above: exactly for a small side, else by Lanczos steps plus their residual."""
    small = M if M.shape[0] <= M.shape[1] else M.T
    side = small.shape[0]
    if side <= 600:
        small = small.astype(np.float64, copy=False)
        gram = small @ small.T
        top = float(scipy.linalg.eigvalsh(gram, subset_by_index=[side - 1, side - 1])[0])
        return max(top, 0.0) * (1 + (1e-14 if M.dtype == np.float64 else 1e-6))
    operator = LinearOperator((side, side), matvec=lambda v: small @ (small.T @ v), dtype=M.dtype)
    start = np.random.default_rng(0).random((side,)).astype(M.dtype)
    values, vectors = eigsh(operator, k=1, v0=start, tol=1e-4)
    v = vectors[:, 0]
    return float(values[0] + np.linalg.norm(operator @ v - values[0] * v))
