"""Algorithm 1 of the paper: the fast gradient method for model (6)."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, eigsh

from selfdict._errors import InputError
from selfdict._validation import Array, as_scalar
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.device import choose_device, to_numpy
from selfdict.model.certificate import certify
from selfdict.model.losses import Loss
from selfdict.model.omega import project_omega
from selfdict.model.problem import Problem, Target, check_target
from selfdict.model.solution import Callback, Solution, Status
from selfdict.solvers.device_gradient import DeviceIterate
from selfdict.solvers.iterate import CHECK_EVERY, Iterate


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
    target_every: int | None = 10,
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

    The method restarts whenever the objective has risen, as the authors' program does. An iteration
    costs the products Mᵀ(·) and M(·) and little else; it holds two n×n arrays, so n is bounded by
    memory (n ≲ 20,000).

    Parameters
    ----------
    M : (m, n) array_like
        The data, a point a column; float32 is computed in float32. Entries may be negative.
    mu : float
        The penalty μ ≥ 0; with ``target`` its first value, > 0. See :func:`mu_heuristic`.
    D : (m, d) array_like, optional
        A dictionary with gates, as in :func:`working_set`; by default M itself.
    p : (n,) or (d,) array_like, optional
        Positive weights of the diagonal, or of the gates. By default ones, or 1 + 0.01(u − ½) with
        u uniform if ``random_state`` is given.
    w : (n,) array_like, optional
        Weights of Ω; by default the ℓ1 norms of the columns of M.
    sample_weight : (n,) array_like, optional
        Weights s_j ≥ 0 of the columns in the residual ½ Σ_j s_j ‖m_j − M x_j‖².
    loss : "squared" or Loss
        What stands for ½‖M − MX‖_F²: :class:`Weighted`, :class:`Huber`, :class:`PseudoHuber` or one
        of your own.
    target : ("residual", eps) or ("trace", value), optional
        Steer μ until ‖M − MX‖_F (in general: the root of twice the loss) is ``eps``, or the trace
        of X is ``value``.
    target_every : int or None
        Change μ every so many iterations; None: at each restart, of which there may be none.
    X0 : (n, n) array_like or Solution, optional
        Where to start; by default X = 0. It is projected onto Ω. With D, a Solution.
    lipschitz : float, optional
        The constant L; by default σ_max(M)² max_j s_j times that of the loss. With D, σ_max is that
        of the atoms scaled to the mean of w.
    max_iter, max_seconds : int, float, optional
        Limits on the iterations and on the time.
    tol : float
        Stop when the certified relative gap is at most ``tol`` (and the target is met to 1e-3), or
        when the objective has stopped falling. 0 means: no early stop.
    random_state : int, Generator or None
        Seed of the default p.
    callback : callable, optional
        Called with a :class:`~selfdict.model.Progress` after each iteration; a true result stops.
    device : {None, "cpu", "cuda"}, optional
        Where the two n×n arrays lie and the iterations are taken; see :doc:`/gpu`. With D they are
        taken on the CPU.

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
    _check_range(problem.M)
    if problem.D is not None:
        problem = _with_gates(problem)
    target = check_target(target, problem.mu)
    tol = as_scalar(tol, "tol")
    if target_every is not None and target_every < 1:
        raise InputError(f"target_every must be at least 1, got {target_every}")
    if max_iter < 0:
        raise InputError(f"max_iter must not be negative, got {max_iter}")
    if max_seconds is not None:
        max_seconds = as_scalar(max_seconds, "max_seconds")
    if lipschitz is None:
        lipschitz = squared_norm(problem.M if problem.D is None else problem.D) * float(
            problem.s.max()
        )
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


def _check_range(M: Array) -> None:
    """Refuse data whose squares, as large as gradients are, leave the range of its dtype."""
    largest, limits = float(np.abs(M).max()), np.finfo(M.dtype)
    least, most = float(limits.tiny / limits.eps), float(limits.max * limits.eps)
    if largest > 0 and not least < largest * largest < most:
        raise InputError(
            f"the squares of the entries of M leave the range of {M.dtype}, got {largest:.1g} as the largest entry; "
            "scale M or use working_set"
        )


def _iterate(
    state: Iterate,
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


def _new_state(
    place: Any, problem: Problem, L: float, target: Target | None, start: Array | None
) -> Iterate:
    """Return the state of the iteration, on the CPU or on a device; with a dictionary always on the CPU."""
    if place is None or problem.D is not None:
        return Iterate(problem, L, target, start)
    return DeviceIterate(problem, L, target, start, place)


def _with_gates(problem: Problem) -> Problem:
    """Return the problem with the gates as a last column of X: a point m = 0 that no residual counts.

    With atoms scaled to the ℓ1 norm ω, the mean of w, the constraints read ω X_ij ≤ w_j t_i: those
    of Ω, for rows whose own entry is the last one and has the weight ω.
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
        raise InputError(f"X0 must have shape {expected}, got {X.shape}")
    if problem.D is None:
        return project_omega(X, problem.w)
    if not isinstance(X0, Solution):
        raise TypeError(
            f"X0 must be a Solution when there is a dictionary D, got {type(X0).__name__}"
        )
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
