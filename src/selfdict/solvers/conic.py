"""The models of the paper solved exactly by an interior-point method, as a reference for n up to about 100."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict._validation import Array, as_scalar
from selfdict.model.certificate import certify
from selfdict.model.losses import Loss, Squared
from selfdict.model.omega import project_omega
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution, Status

MAX_POINTS = 300


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
    model: str = "omega",
    random_state: Any = None,
) -> Solution:
    """Solve a self-dictionary model exactly with Clarabel, through cvxpy (extra ``conic``).

    Give ``mu`` for the penalised model (6), a QP, or ``epsilon`` for a model with a bound on the
    residual:

    - ``model="omega"``: model (4), min pᵀdiag(X) s.t. ‖M − MX‖_F ≤ ε, X ∈ Ω, a second-order cone
      program;
    - ``model="trace"``: model (3), min pᵀdiag(X) s.t. Σ_j ‖m_j − M x_j‖₂ ≤ ε, X ≥ 0, X_ij ≤ X_ii ≤
      1;
    - ``model="l1inf"``: model (2), min Σ_i p_i max_j X_ij under the same residual, 0 ≤ X ≤ 1.

    Models (2) and (3) are meant for data whose columns sum to one. By Theorem 2 their optimal
    values agree.

    Parameters
    ----------
    M : (m, n) array_like
        The data, a point a column; n at most 300, since n² variables go to an interior-point
        method.
    mu, epsilon : float
        Exactly one of them.
    D : (m, d) array_like, optional
        A dictionary with gates, as in :func:`working_set`, for ``model="omega"``; d at most 300.
    p, w, sample_weight, random_state
        As in :func:`fast_gradient`; ``sample_weight`` belongs to model (6) alone.
    loss : "squared", Squared or Weighted
        What the residual costs in model (6). Other losses need :func:`fast_gradient`.
    model : {"omega", "trace", "l1inf"}
        Which set X is taken from.

    Returns
    -------
    Solution
        With ``status`` EXACT. For ``"omega"`` it carries our own certificate; for the other two
        ``dual_bound`` and ``gap`` stay unset.

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
    if model not in ("omega", "trace", "l1inf"):
        raise InputError(f'model must be "omega", "trace" or "l1inf", got {model!r}')
    if epsilon is None and model != "omega":
        raise InputError(f'model "{model}" takes epsilon, not mu')
    if D is not None and model != "omega":
        raise InputError(f'a dictionary D belongs to model "omega", got model "{model}"')
    problem = Problem.check(
        M, 0.0 if mu is None else mu, p, w, sample_weight, random_state, D, loss
    )
    problem.need_squares("conic")
    largest = max(len(problem.w), len(problem.v))
    if largest > MAX_POINTS:
        raise InputError(
            f"conic handles at most {MAX_POINTS} points, got {largest}; use working_set or fast_gradient"
        )
    if epsilon is not None:
        epsilon = as_scalar(epsilon, "epsilon")
        if problem.sample_weight is not None or not isinstance(problem.loss, Squared):
            raise InputError(
                "sample_weight and loss belong to the penalised model (6): give mu instead of epsilon"
            )
    X, t = _solve(problem, epsilon, model)
    point = Solution.from_matrix(
        X,
        diagonal=t,
        objective=float(problem.p @ (X.max(axis=1) if model == "l1inf" else t)),
        mu=np.nan if mu is None else problem.mu,
        weights=problem.w,
        p=problem.p,
        sample_weight=problem.sample_weight,
        loss=problem.loss,
        epsilon=epsilon,
        status=Status.EXACT,
    )
    return certify(M, point, D=D) if model == "omega" else point


def _solve(problem: Problem, epsilon: float | None, model: str) -> tuple[Array, Array]:
    """Build the program, solve it, and return a feasible X with its diagonal, or its gates."""
    cp = optional("cvxpy")
    d, n = len(problem.v), len(problem.w)
    w, v, p, s = (
        vector.astype(np.float64) for vector in (problem.w, problem.v, problem.p, problem.s)
    )
    scale = float(np.abs(problem.M).max()) or 1.0  # the solver's tolerances are absolute
    A = problem.M.astype(np.float64) / scale
    B = A
    if problem.D is not None:  # atoms of the size of the data, with coefficients to match
        unit = float(np.abs(problem.D).max()) or 1.0
        B, v, w = problem.D.astype(np.float64) / unit, v / unit, w / scale
    # only products of columns enter, so tall matrices give way to a triangle
    both = A if B is A else np.hstack([A, B])
    if both.shape[0] > both.shape[1]:
        both = np.asarray(np.linalg.qr(both, mode="r"))
        A, B = both[:, :n], both[:, -d:]
    X = cp.Variable((d, n), nonneg=True)
    R = A - B @ X
    gate = cp.diag(X) if problem.D is None else cp.Variable(d, nonneg=True)
    if model != "omega":
        v = w = np.ones(n)
    size = max(v.max(), w.max()) or 1.0
    v, w = v / size, w / size
    if model == "l1inf":
        constraints = [X <= 1]
    else:  # v_i X_ij ≤ w_j X_ii; with v = w = 1 that is X_ij ≤ X_ii of model (3)
        rows = cp.reshape(gate, (d, 1), order="C") @ w[None, :]
        constraints = [gate <= 1, cp.multiply(np.tile(v[:, None], n), X) <= rows]
        if (v == 0).any():
            constraints.append(X[np.flatnonzero(v == 0)] == 0)
    cost = p @ (cp.max(X, axis=1) if model == "l1inf" else gate)
    if epsilon is None:
        loss = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(s)[None, :] * np.ones((A.shape[0], 1)), R))
        cost = loss + problem.mu / scale**2 * cost
    else:
        norm = cp.norm(R, "fro") if model == "omega" else cp.sum(cp.norm(R, 2, axis=0))
        constraints.append(norm <= epsilon / scale)
    program = cp.Problem(cp.Minimize(cost), constraints)
    with warnings.catch_warnings():  # "may be inaccurate" is judged by our own certificate
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    if program.status == "infeasible":
        raise InputError(
            f"epsilon is too small: no X brings {'D' if problem.D is not None else 'M'} X so near to M"
        )
    if X.value is None:
        raise RuntimeError(f"Clarabel ended with status {program.status!r}")
    # what an interior-point method leaves slightly outside the set, or slightly above zero, goes
    if problem.D is not None:
        t = np.where(v > 0, np.clip(gate.value, 0.0, 1.0), 0.0)
        t[t < 1e-9] = 0.0
        bound = np.divide(t, v, out=np.zeros(d), where=v > 0)[:, None] * w
        return np.clip(X.value, 0.0, bound) * (scale / unit), t
    value = np.clip(X.value, 0.0, 1.0) if model == "l1inf" else project_omega(X.value, v)
    value[value.max(axis=1) < 1e-9] = 0.0
    return value, np.diagonal(value).copy()
