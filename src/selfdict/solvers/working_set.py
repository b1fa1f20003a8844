"""Model (6) for whole scenes, certified: a working set of rows, Newton's method on their gates.

:class:`SearchData` takes the columns that count out of a problem, and :class:`Search` is the state
of the search for its optimum. On samples of the columns, and then on all of them, a
:class:`Descent` minimises over the gates of the working set (:class:`Gates`) and looks at the other
rows (:class:`Screening`): scores tell which of them should open, and bound the optimum.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_scalar
from selfdict.compute.device import Device, choose_device
from selfdict.compute.threads import single_threaded_blas
from selfdict.model.losses import Loss
from selfdict.model.problem import Problem, Target
from selfdict.model.solution import (
    Callback,
    Solution,
    Status,
    as_history,
    consistent_bound,
    relative_gap,
)
from selfdict.solvers.base import Feature, Solver
from selfdict.solvers.descent import SAMPLE_TOL, Descent, meet_target
from selfdict.solvers.gates import Gates
from selfdict.solvers.search import Point, Search, SearchData, Stop


@dataclass(frozen=True)
class WorkingSet(Solver):
    """The certified solver for whole scenes, which opens few rows of X and solves for these alone.

    A working set of rows is solved by Newton's method on their diagonal entries. The other rows are
    screened in blocks; those that would lower the objective join, and rows that close leave. Large
    scenes are solved on samples of their columns first, which finds most of the rows. The dual
    bound is that of all rows and columns, in float64. No n×n array is stored, and the residual of
    sparse data is not formed. Without any penalty (μ = 0 and ν = 0) the identity is returned.

    Parameters
    ----------
    tol : float
        Stop when the certified relative gap is at most ``tol``. With 0 there is no early stop: the
        solver continues until no row violates the optimality conditions or the objective no longer
        falls.
    max_seconds : float, optional
        Time limit; the point found by then is certified, which takes another pass over MᵀM.
    device : {None, "cpu", "cuda"}, optional
        The device for screening rows and fitting columns, nearly all of the work; see
        :doc:`/large-data`. By default that of the data.

    Examples
    --------
    >>> from selfdict import Problem, WorkingSet
    >>> problem = Problem([[1.0, 0.0, 0.5, 0.7], [0.0, 1.0, 0.5, 0.3]], mu=0.1)
    >>> solution = WorkingSet(tol=1e-6).solve(problem)
    >>> solution.support, solution.gap <= 1e-6
    (array([0, 1]), True)
    """

    tol: float = 1e-3
    max_seconds: float | None = None
    device: Device = None

    name: ClassVar[str] = "working_set"
    takes: ClassVar[frozenset[Feature]] = frozenset(Feature) - {
        Feature.GENERAL_LOSS,
        Feature.CONSTRAINT,
    }

    def __post_init__(self) -> None:
        as_scalar(self.tol, "tol")
        if self.max_seconds is not None:
            as_scalar(self.max_seconds, "max_seconds")

    def _solve(
        self, problem: Problem, start: Solution | None, callback: Callback | None
    ) -> Solution:
        device = problem.data_device
        if self.device is not None:
            device = choose_device(self.device, problem.M)
        data = SearchData.of(problem, device)
        search = Search(data, problem.require_mu(), float(self.tol), self.max_seconds, callback)
        # nothing to explain, or nothing to pay for explaining each point by itself
        if len(data.column_indices) == 0 or (search.price == 0 and problem.D is None):
            return _identity(problem, search)
        if start is not None:
            t = np.clip(start.diagonal[data.row_indices].astype(np.float64), 0.0, 1.0)
            search.point = Point(np.flatnonzero(t > 0), t[t > 0])
        # threads of BLAS would go on spinning after a product, beside ours
        with single_threaded_blas():
            gates, status = _run(search, problem.target, warm=start is not None)
            open_rows = data.open_rows(gates)
            del gates  # makes room for the residual
            return _solution(problem, search, *open_rows, status)


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
    smooth: float = 0.0,
    X0: ArrayLike | Solution | None = None,
    tol: float = 1e-3,
    max_seconds: float | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
    device: Device = None,
) -> Solution:
    """Minimise ½‖M − MX‖_F² + μ pᵀdiag(X) over X ∈ Ω, model (6), with a certificate.

    This is ``WorkingSet(tol, max_seconds, device).solve(Problem(M, mu, …), X0, callback)``: see
    :class:`WorkingSet` for the method and :class:`Problem` for the model.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        The data, one point per column.
    mu : float
        The penalty μ ≥ 0. See :func:`mu_heuristic`.
    D, p, w, sample_weight, loss, target, smooth, random_state
        As in :class:`Problem`. The loss must be quadratic; a target is met to 1e-3 relative.
    X0 : Solution or (n, n) array_like, optional
        The start: its open rows with their diagonal entries. The columns are fitted again. With D,
        a Solution.
    tol, max_seconds, device
        As in :class:`WorkingSet`.
    callback : callable, optional
        Called with a :class:`~selfdict.model.Progress` after each step, also while a sample is
        solved (as iteration 0); the solver stops if it returns a true value.

    Returns
    -------
    Solution
        The best point found, certified. ``history`` has ``objective``, ``dual_bound``, ``gap``,
        ``mu``, ``n_active`` and ``seconds``; for one μ the objective never rises and the bound
        never falls.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import working_set
    >>> M = np.array([[1.0, 0.0, 0.5, 0.7], [0.0, 1.0, 0.5, 0.3]])
    >>> solution = working_set(M, 0.1, tol=1e-6)
    >>> solution.support, solution.gap <= 1e-6
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
    return WorkingSet(tol, max_seconds, device).solve(problem, X0, callback)


def _run(search: Search, target: Target | None, warm: bool) -> tuple[Gates, Status]:
    """Return the last working set, fitted to all columns and certified, and how it ended."""
    n_rows = len(search.data.row_indices)
    n_columns = len(search.data.column_indices)
    try:
        # without a penalty all gates of a dictionary may open
        if search.price == 0:
            every = np.arange(n_rows)
            search.point = Point(every, np.ones(len(every)))
            return search.certify(), Status.CONVERGED
        # a warm start has found most rows already, which is what samples are for
        if not warm:
            if n_rows > 2 * search.small:
                search.likely = np.arange(0, n_rows, 8)
            for columns in samples(n_columns, search.small):
                solve_columns(search, columns, target)
        return solve_columns(search, None, target)
    except Stop as stop:
        return search.certify(), stop.status
    except KeyboardInterrupt:
        return search.certify(), Status.INTERRUPTED


def samples(n: int, small: int) -> list[Array]:
    """Return samples of the n columns, the smallest first: one out of each run of 16, of 256, …"""
    every = 16
    rng = np.random.default_rng(0)
    found = []
    size = n
    while size > small:
        size = -(-size // every)
        found.append(spread_sample(n, size, rng))
    return found[::-1]


def spread_sample(n: int, size: int, rng: np.random.Generator) -> Array:
    """Return one random index out of each of ``size`` runs of n columns."""
    edges = np.linspace(0, n, size + 1).astype(np.int64)
    return np.asarray(edges[:-1] + (rng.random(size) * np.diff(edges)).astype(np.int64))


def solve_columns(
    search: Search, columns: Array | None, target: Target | None
) -> tuple[Gates, Status]:
    """Solve for a sample of the columns, or for all: at the current μ, or for a target."""
    gates = _open_gates(search, columns)
    if target is not None:
        return gates, meet_target(search, gates, target)
    tol = search.tol
    if columns is not None:
        tol = max(tol, SAMPLE_TOL)
    return gates, Descent(search, gates, tol, thorough=True).run()


def _open_gates(search: Search, columns: Array | None) -> Gates:
    """Return the working set at the current point for the given columns.

    The first atoms come from SPA, those of another dictionary from the first screening.
    """
    fitted = search.data.columns
    if columns is not None:
        fitted = fitted.take(columns)
    point = search.point
    if len(point.atoms) == 0:
        first = fitted.first_atoms(10)
        first = first[np.isfinite(search.penalty.slope[first])]  # rows may be closed by their price
        t = np.full(len(first), 0.5)  # half open: Newton moves them in either direction
        point = Point(first, t)
    is_open = point.t > 0  # those that the search has closed would only take memory
    return Gates(fitted, point.atoms[is_open], point.t[is_open])


def _identity(problem: Problem, search: Search) -> Solution:
    """Return the identity on the columns that count: there M X = M, which is optimal for μ = 0."""
    search.objective = search.bound
    search.record()
    every = search.data.column_indices
    t = np.ones(len(every))
    return _solution(problem, search, every, t, np.diag(t), Status.CONVERGED)


def _solution(
    problem: Problem, search: Search, support: Array, t: Array, X: Array, status: Status
) -> Solution:
    """Return the rows X of the columns that count as a Solution, with bound and history."""
    stored = search.data.solution(problem.with_mu(search.mu), support, t, X)
    point = stored.solution
    bound = consistent_bound(search.bound, point.objective, stored.rounding)
    gap = relative_gap(point.objective, bound)
    if status is Status.CONVERGED and gap > max(search.tol, 1e-12):
        status = Status.STALLED  # entries rounded to single precision are further from the optimum
    return replace(
        point,
        dual_bound=bound,
        n_iter=len(search.history) - 1,
        status=status,
        history=as_history(search.history),
        scores=search.scores_of(stored),
    )
