"""Models (4) and (6) solved exactly by an interior-point method, for n up to about 100."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._imports import optional
from selfdict._validation import Array
from selfdict.compute.linear_algebra import onto_common_span, onto_span
from selfdict.model.certificate import with_certificate
from selfdict.model.losses import Loss
from selfdict.model.omega import clip_to_gates
from selfdict.model.problem import Problem
from selfdict.model.solution import Callback, Solution, Status
from selfdict.solvers.base import Feature, Solver


@dataclass(frozen=True)
class Conic(Solver):
    """Exact solution by Clarabel, an interior-point method (extra ``conic``), for few points.

    A problem with ``mu`` is model (6), a QP. A problem with ``epsilon`` is model (4), min pᵀdiag(X)
    s.t. ‖M − MX‖_F ≤ ε and X ∈ Ω, a second-order cone program.

    Examples
    --------
    >>> from selfdict import Conic, Problem
    >>> problem = Problem([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], epsilon=0.1)
    >>> round(Conic().solve(problem).objective, 3)
    1.859
    """

    name: ClassVar[str] = "conic"
    max_points: ClassVar[float] = 300  # n² variables go to an interior-point method
    takes: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.DICTIONARY,
            Feature.SAMPLE_WEIGHT,
            Feature.WEIGHTED_LOSS,
            Feature.RESIDUAL_TARGET,
            Feature.CONSTRAINT,
            Feature.SMOOTH,
        }
    )

    def _solve(
        self, problem: Problem, start: Solution | None, callback: Callback | None
    ) -> Solution:
        if problem.target is not None:  # a residual of at most eps is model (4)
            problem = problem.changed(mu=None, epsilon=problem.target[1], target=None)
        X, t = ConicProgram(problem).solve()
        point = Solution.from_matrix(X, problem, diagonal=t, status=Status.EXACT)
        # the program is solved in another unit, from which rounding errors are left
        clip_to_gates(problem, point.support, point.diagonal[point.support], point.coef)
        return with_certificate(point)


def conic(
    M: ArrayLike,
    *,
    mu: float | None = None,
    epsilon: float | None = None,
    D: ArrayLike | None = None,
    p: ArrayLike | None = None,
    w: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    loss: Loss | str = "squared",
    smooth: float = 0.0,
    random_state: Any = None,
) -> Solution:
    """Solve a self-dictionary model exactly with Clarabel, through cvxpy (extra ``conic``).

    This is ``Conic().solve(Problem(M, mu, epsilon=epsilon, …))``: see :class:`Problem`.

    Parameters
    ----------
    M : (m, n) array_like
        The data, one point per column; n at most 300, because the interior-point method has n²
        variables.
    mu, epsilon : float
        Exactly one of them: the penalty of model (6), or the bound of model (4).
    D, p, w, sample_weight, loss, smooth, random_state
        As in :class:`Problem`; the loss must be quadratic, and d at most 300.

    Returns
    -------
    Solution
        With ``status`` EXACT and a certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import conic
    >>> M = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    >>> round(conic(M, epsilon=0.1).objective, 3)
    1.859
    """
    if (mu is None) == (epsilon is None):
        raise InputError(f"give either mu or epsilon, got mu={mu!r} and epsilon={epsilon!r}")
    problem = Problem(
        M,
        mu,
        epsilon=epsilon,
        D=D,
        w=w,
        p=p,
        sample_weight=sample_weight,
        loss=loss,
        smooth=smooth,
        random_state=random_state,
    )
    return Conic().solve(problem)


class ConicProgram:
    """A problem as a convex program of cvxpy, in units in which data and atoms are of size one."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        form = problem.squared_form
        # the tolerances of the solver are absolute
        self.scale = _largest(form.M)
        self.unit = self.scale
        A = form.M.astype(np.float64) / self.scale
        B = A
        w = problem.w.astype(np.float64)
        v = problem.v.astype(np.float64)
        if form.D is not None:
            # atoms of the size of the data, with coefficients to match
            self.unit = _largest(form.D)
            B = form.D.astype(np.float64) / self.unit
            v = v / self.unit
            w = w / self.scale
        size = max(v.max(), w.max()) or 1.0
        self.v = v / size
        self.w = w / size
        self.s = form.s.astype(np.float64)
        # only products of columns enter, so that tall matrices give way to a triangle
        if form.D is None:
            self.A = onto_span(A)
            self.B = self.A
        else:
            self.A, self.B = onto_common_span(A, B)

    def solve(self) -> tuple[Array, Array]:
        """Return X, to be clipped to its gates, and these; rows with tiny gates are zero."""
        cp = optional("cvxpy")
        d = self.problem.n_atoms
        X = cp.Variable((d, self.problem.n_points), nonneg=True)
        if self.problem.D is None:
            gate = cp.diag(X)
        else:
            gate = cp.Variable(d, nonneg=True)
        objective, constraints = self._objective(cp, X, gate)
        constraints += self._omega(cp, X, gate)
        program = cp.Problem(cp.Minimize(objective), constraints)
        with warnings.catch_warnings():
            # whether it is inaccurate, our own certificate judges
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            for tol in (1e-11, 1e-9):  # the finer one is out of reach for some programs
                try:
                    program.solve(
                        solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol
                    )
                    break
                except cp.error.SolverError as error:
                    failure = error
            else:
                # numbers over many orders of magnitude are too much for it
                raise RuntimeError("Clarabel found no solution; use working_set") from failure
        if program.status == "infeasible":
            raise InputError("epsilon is too small: no feasible X has so small a residual")
        if X.value is None:
            raise RuntimeError(f"Clarabel ended with status {program.status!r}")
        # an interior-point method leaves entries slightly outside the set, and slightly above zero
        t = np.where(self.v > 0, np.clip(np.ravel(gate.value), 0.0, 1.0), 0.0)
        t[t < 1e-9] = 0.0
        return np.where(t[:, None] > 0, X.value, 0.0) * (self.scale / self.unit), t

    def _objective(self, cp: Any, X: Any, gate: Any) -> tuple[Any, list[Any]]:
        """Return the objective, and the constraint on the residual if there is one."""
        problem = self.problem
        roots = np.sqrt(self.s)[None, :] * np.ones((self.A.shape[0], 1))
        R = cp.multiply(roots, self.A - self.B @ X)
        if problem.epsilon is None:
            penalty = problem.penalty  # a quadratic one
            squares = 0.5 * penalty.curvature(np.zeros(1))[0] * cp.sum_squares(gate)
            cost = penalty.slope @ gate + squares
            return 0.5 * cp.sum_squares(R) + cost / self.scale**2, []
        epsilon = problem.epsilon / self.scale
        # its tolerances are absolute: a little inside, so that X is feasible for ε itself
        epsilon -= min(1e-10, 0.5 * epsilon)
        return problem.p.astype(np.float64) @ gate, [cp.norm(R, "fro") <= epsilon]

    def _omega(self, cp: Any, X: Any, gate: Any) -> list[Any]:
        """Return the constraints v_i X_ij ≤ w_j X_ii."""
        d = self.problem.n_atoms
        rows = cp.reshape(gate, (d, 1), order="C") @ self.w[None, :]
        factors = np.tile(self.v[:, None], self.problem.n_points)
        constraints = [gate <= 1, cp.multiply(factors, X) <= rows]
        if (self.v == 0).any():
            constraints.append(X[np.flatnonzero(self.v == 0)] == 0)
        return constraints


def _largest(A: Array) -> float:
    """Return the largest absolute entry, 1 for zeros."""
    return float(np.abs(A).max()) or 1.0
