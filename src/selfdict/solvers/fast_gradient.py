"""Algorithm 1 of the paper: the fast gradient method for model (6)."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from selfdict._validation import as_count, as_scalar
from selfdict.compute.deadline import Deadline
from selfdict.compute.threads import single_threaded_blas
from selfdict.model.certificate import with_certificate
from selfdict.model.losses import Loss
from selfdict.model.problem import Problem, Target
from selfdict.model.solution import Callback, Solution, Status
from selfdict.solvers.base import Feature, Solver
from selfdict.solvers.iteration import CHECK_EVERY, GradientData, Iteration


@dataclass(frozen=True)
class FastGradient(Solver):
    """Algorithm 1 of the paper, for any loss: two products and a projection per iteration.

    The method restarts whenever the objective rises, as the authors' program does. It stores two
    n×n arrays, so it is for up to about ten thousand points.

    Parameters
    ----------
    tol : float
        Stop when the certified relative gap is at most ``tol`` (and the target is met to 1e-3), or
        when the objective no longer falls. With 0 there is no early stop.
    max_iter : int
        Limit on the iterations.
    max_seconds : float, optional
        Time limit.
    target_every : int or None
        With a target, the number of iterations between changes of μ. With None, μ changes at each
        restart, if there is one.

    Examples
    --------
    >>> from selfdict import FastGradient, Problem
    >>> problem = Problem([[1.0, 0.0, 0.5, 0.7], [0.0, 1.0, 0.5, 0.3]], mu=0.1)
    >>> FastGradient(max_iter=500).solve(problem).gap <= 1e-3
    True
    """

    tol: float = 1e-3
    max_iter: int = 1000
    max_seconds: float | None = None
    target_every: int | None = 10

    name: ClassVar[str] = "fast_gradient"
    takes: ClassVar[frozenset[Feature]] = frozenset(Feature) - {
        Feature.SPARSE,
        Feature.CONSTRAINT,
        Feature.GENERAL_PENALTY,
        Feature.GPU,
    }

    def __post_init__(self) -> None:
        as_scalar(self.tol, "tol")
        as_count(self.max_iter, "max_iter", minimum=0)
        if self.max_seconds is not None:
            as_scalar(self.max_seconds, "max_seconds")
        if self.target_every is not None:
            as_count(self.target_every, "target_every")

    def _solve(
        self, problem: Problem, start: Solution | None, callback: Callback | None
    ) -> Solution:
        # products are taken inside slices, which share the threads already; and BLAS on several
        # threads does not always return the same bits
        with single_threaded_blas():
            iteration = Iteration(problem, GradientData.of(problem), start)
            try:
                status = self._iterate(iteration, callback)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            return with_certificate(iteration.solution(status))

    def _iterate(self, iteration: Iteration, callback: Callback | None) -> Status:
        """Step until something says to stop; return what."""
        started = time.perf_counter()
        deadline = Deadline(self.max_seconds)
        for k in range(1, self.max_iter + 1):
            steers = iteration.restarted
            if self.target_every is not None:
                steers = k > 1 and (k - 1) % self.target_every == 0
            iteration.step(steers)
            # tol = 0 asks for the plain method, without the cost of a certificate on the way
            if self.tol > 0 and k % CHECK_EVERY == 0:
                outcome = iteration.outcome(self.tol)
                if outcome is not None:
                    return outcome
            seconds = time.perf_counter() - started
            if callback is not None and callback(iteration.progress(k, seconds)):
                return Status.STOPPED_BY_CALLBACK
            if deadline.passed:
                return Status.MAX_SECONDS
        return Status.MAX_ITER


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
    smooth: float = 0.0,
    target_every: int | None = 10,
    X0: ArrayLike | Solution | None = None,
    max_iter: int = 1000,
    max_seconds: float | None = None,
    tol: float = 1e-3,
    random_state: Any = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise ½‖M − MX‖_F² + μ pᵀdiag(X) over X ∈ Ω, model (6), by Algorithm 1 of the paper.

    This is ``FastGradient(tol, max_iter, …).solve(Problem(M, mu, …), X0, callback)``: see
    :class:`FastGradient` for the method and :class:`Problem` for the model.

    Parameters
    ----------
    M : (m, n) array_like
        The data, one point per column; float32 is computed in float32. Entries may be negative.
    mu : float
        The penalty μ ≥ 0. See :func:`mu_heuristic`.
    D, p, w, sample_weight, loss, target, smooth, random_state
        As in :class:`Problem`.
    X0 : (n, n) array_like or Solution, optional
        The start; by default X = 0. It is projected onto Ω. With D, a Solution.
    tol, max_iter, max_seconds, target_every
        As in :class:`FastGradient`.
    callback : callable, optional
        Called with a :class:`~selfdict.model.Progress` after each iteration; the solver stops if it
        returns a true value.

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
    problem = Problem(
        M,
        mu,
        D=D,
        w=w,
        p=p,
        sample_weight=sample_weight,
        loss=loss,
        target=target,
        smooth=smooth,
        random_state=random_state,
    )
    return FastGradient(tol, max_iter, max_seconds, target_every).solve(problem, X0, callback)
