"""Whole scenes, with a proof: model (6) by a working set of rows and Newton's method on their gates."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_scalar
from selfdict.compute.blas import single_threaded_blas
from selfdict.compute.device import choose_device, to_numpy
from selfdict.model.certificate import squared_residuals
from selfdict.model.losses import Loss
from selfdict.model.problem import Problem, Target, check_target
from selfdict.model.solution import Callback, Solution, Status
from selfdict.solvers.newton_gates import Gates
from selfdict.solvers.search import Search, Stop


def working_set(
    M: ArrayLike,
    mu: float,
    *,
    D: ArrayLike | None = None,
    p: ArrayLike | None = None,
    w: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    loss: Loss | str = "squared",
    target: Target | None = None,
    X0: ArrayLike | Solution | None = None,
    tol: float = 1e-3,
    max_seconds: float | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
    device: Any = None,
) -> Solution:
    """Minimise ½‖M − MX‖_F² + μ pᵀdiag(X) over X ∈ Ω, model (6), for many points, with a certificate.

    At the optimum few rows of X are open. A working set of rows is solved by Newton's method on
    their diagonal entries; the other rows are screened in blocks, those that would lower the
    objective join, and rows that close leave. Large scenes are solved on samples of their columns
    first, which finds most of the rows. The dual bound is that of all rows and columns of M, in
    float64. For more than 2,000 points n×n numbers are never held.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        The data, a point a column. Entries may be negative. Sparse data is not made dense: see the
        notes.
    mu : float
        The penalty μ ≥ 0; with ``target`` its first value, > 0. See :func:`mu_heuristic`.
    D : (m, d) array_like, optional
        A dictionary; by default M itself. With D, X is d×n and each atom d_i has a gate t_i instead
        of X_ii: min ½‖M − DX‖_F² + μ pᵀt over 0 ≤ t_i ≤ 1, 0 ≤ ‖d_i‖₁ X_ij ≤ t_i w_j. ``diagonal``
        then holds the gates.
    p : (n,) or (d,) array_like, optional
        Positive weights of the diagonal, or of the gates. By default ones, or 1 + 0.01(u − ½) with
        u uniform if ``random_state`` is given.
    w : (n,) array_like, optional
        Weights of Ω; by default the ℓ1 norms of the columns of M.
    sample_weight : (n,) array_like, optional
        Weights s_j ≥ 0 of the columns in the residual ½ Σ_j s_j ‖m_j − M x_j‖².
    loss : "squared", Squared or Weighted
        What stands for ½‖M − MX‖_F². Other losses need :func:`fast_gradient`.
    target : ("residual", eps) or ("trace", value), optional
        Look for the μ at which ‖M − MX‖_F (in general: the root of twice the loss) is ``eps``, or
        the trace of X is ``value``, to 1e-3 relative.
    X0 : Solution or (n, n) array_like, optional
        Where to start: its open rows with their diagonal entries. The columns are fitted anew. With
        D, a Solution.
    tol : float
        Stop when the certified relative gap is at most ``tol``. 0 means: no early stop, go on until
        no row violates the optimality conditions or the objective no longer falls.
    max_seconds : float, optional
        Time limit; what has been found then is certified, which takes another pass over MᵀM.
    random_state : int, Generator or None
        Seed of the default p.
    callback : callable, optional
        Called with a :class:`~selfdict.model.Progress` after each step, also while a sample is
        solved (as iteration 0); a true result stops.
    device : {None, "cpu", "cuda"}, optional
        Where rows are screened, which is most of the work for a large scene; see :doc:`/gpu`.

    Returns
    -------
    Solution
        The best point found, certified. ``history`` has ``objective``, ``dual_bound``, ``gap``,
        ``mu``, ``n_active`` and ``seconds``; for one μ the objective never rises and the bound
        never falls.

    Notes ----- For μ = 0 the identity is optimal and is returned at once: n×n numbers in that case.
    With D all gates open.

    The residual of sparse M is not formed: what is needed of it comes from products of M with the
    open rows and of columns of M with each other, a few rows at a time. Sparse M takes no other
    dictionary and no other loss.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import working_set
    >>> M = np.array([[1.0, 0.0, 0.5, 0.7], [0.0, 1.0, 0.5, 0.3]])
    >>> solution = working_set(M, 0.1, tol=1e-6)
    >>> solution.support, solution.gap <= 1e-6
    (array([0, 1]), True)
    """
    place = choose_device(device, M)
    problem = Problem.check(
        to_numpy(M), mu, p, w, sample_weight, random_state, to_numpy(D), loss, sparse=True
    )
    problem.need_squares("working_set")
    target = check_target(target, problem.mu)
    limit = None if max_seconds is None else as_scalar(max_seconds, "max_seconds")
    search = Search(problem, as_scalar(tol, "tol"), limit, callback, place)
    search.record()
    if len(search.valid) == 0 or (problem.mu == 0 and problem.D is None):
        search.objective = search.bound  # M X = M in every column that counts
        search.record()
        open_ = np.ones(len(search.valid))
        return _solution(problem, search, search.valid, open_, np.diag(open_), Status.CONVERGED)
    if X0 is not None:
        search.point = _start(X0, search.rows, problem)
    with single_threaded_blas():  # its threads would go on spinning after a product, beside ours
        gates, status = _search(search, target, warm=X0 is not None)
        rows = np.flatnonzero(gates.t > 0)
        rows = rows[np.argsort(gates.atoms[rows])]
        atoms = gates.atoms[rows]
        X = gates.Z[:, rows].T * (search.w / search.v[atoms, None])
        return _solution(problem, search, search.rows[atoms], gates.t[rows], X, status)


def _search(search: Search, target: Target | None, warm: bool) -> tuple[Gates, Status]:
    """Return the last working set, fitted to all columns and certified, and how the search ended."""
    try:
        if search.mu == 0:
            search.point = np.arange(len(search.rows)), np.ones(len(search.rows))
            return search.certify(), Status.CONVERGED
        return search.solve(target, warm)
    except Stop as stop:
        return search.certify(), stop.status
    except KeyboardInterrupt:
        return search.certify(), Status.INTERRUPTED


def _start(X0: ArrayLike | Solution, rows: Array, problem: Problem) -> tuple[Array, Array]:
    """Return the open rows of X0, as positions in ``rows``, with their diagonal entries."""
    if problem.D is not None and not isinstance(X0, Solution):
        raise TypeError(
            f"X0 must be a Solution, which has gates, when there is a dictionary D, got {type(X0).__name__}"
        )
    given = X0 if isinstance(X0, Solution) else Solution.from_matrix(X0)
    if given.diagonal.shape != problem.v.shape:
        atoms = "M" if problem.D is None else "D"
        raise InputError(
            f"X0 belongs to {given.diagonal.shape[0]} points, {atoms} has {len(problem.v)}"
        )
    t = np.clip(given.diagonal[rows].astype(np.float64), 0.0, 1.0)
    return np.flatnonzero(t > 0), t[t > 0]


def _solution(
    problem: Problem, search: Search, support: Array, t: Array, X: Array, status: Status
) -> Solution:
    """Return the rows X of the columns that count as a Solution in M's dtype, with its objective and the bound."""
    coef = np.zeros((len(support), len(problem.w)), dtype=problem.M.dtype)
    coef[:, search.valid] = X
    diagonal = np.zeros(len(problem.v), dtype=coef.dtype)
    diagonal[support] = t
    point = Solution(
        support=support,
        coef=coef,
        diagonal=diagonal,
        objective=search.objective,
        dual_bound=search.bound,
        mu=search.mu,
        weights=problem.w,
        p=problem.p,
        sample_weight=problem.sample_weight,
        loss=problem.loss,
        n_iter=len(search.history["objective"]) - 1,
        status=status,
        history={name: np.asarray(values) for name, values in search.history.items()},
    )
    # of the entries as they are returned: float32 may have rounded them
    square = float(problem.s.astype(np.float64) @ squared_residuals(problem.M, point, problem.D))
    objective = 0.5 * square + search.mu * float(
        problem.p.astype(np.float64) @ diagonal.astype(np.float64)
    )
    gap = max(0.0, (objective - search.bound) / objective) if objective > 0 else 0.0
    return replace(point, objective=objective, gap=gap)
