"""What is proven about groups of rows: that they suffice, that each is needed, and what is closed.

The certificate of a solution is about weights. Let G_1, …, G_r be groups of rows of X.

- *Enough*: the optimum with only the rows of the groups open is at most x % above the bound for all
  rows. So nothing but these groups is at most x % worse than the best use of everything.
- *Needed*: the dual bound with all rows but those of G_k is y % above the objective reached with
  all of them. So without rows like these no weights whatsoever come within y %.
- *Closed*: the dual is strongly concave. With the gap g = objective − D(θ), its maximiser θ* has
  Σ_j ‖θ*_j − θ_j‖²/s_j ≤ 2g, and the score of row i differs by at most
  (‖d_i‖₂/v_i) √(Σ_j s_j w_j²) √(2g) between the two. A row whose score stays below its penalty by
  more than that is zero at every optimum.
- *Limit*: no r spectra whatsoever have a smaller relative error than the truncated SVD of rank r.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_indices
from selfdict.compute.sums import second_moments
from selfdict.kernels.column_norms import squared_norms
from selfdict.model.certificate import (
    certify,
    dense_terms,
    lengths,
    problem_of,
    residual,
    sparse_terms,
)
from selfdict.model.dual import DualTerms, best_scaling, dot_error
from selfdict.model.features import UnsupportedError
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution
from selfdict.reductions.weighting import weighted_columns
from selfdict.solvers.working_set import WorkingSet


@dataclass(frozen=True)
class Proof:
    """Bounds on what groups of rows can do, each of them rigorous.

    Attributes
    ----------
    enough : float
        Using only these groups is at most this much worse, relative to the best use of all rows.
    needed : (r,) ndarray of float
        Without group k no weights come within this much of the objective that was reached, relative
        to it; 0 if nothing is proven.
    limit : float
        No r spectra whatsoever have a smaller relative error ‖M − WH‖_F/‖M‖_F.
    closed : (d,) ndarray of bool
        Rows that are zero at every optimum of the problem.
    solution : Solution
        The solution that was refined for this, with its gap.
    groups : tuple of r ndarrays of int
        The rows of each group.
    """

    enough: float
    needed: Array
    limit: float
    closed: Array
    solution: Solution
    groups: tuple[Array, ...]

    @property
    def sentence(self) -> str:
        """What is proven, for a person."""
        share = 100 * float(self.closed.mean())
        smallest = 100 * float(self.needed.min())
        largest = 100 * float(self.needed.max())
        return (
            f"These {len(self.groups)} groups suffice, within {100 * self.enough:.2g} % of the "
            "best use of all candidates. Without one of them the objective rises by at least "
            f"{smallest:.2g} to {largest:.2g} %. {share:.1f} % of all candidates are proven to "
            "play no part."
        )


def prove_groups(
    solution: Solution,
    groups: Any,
    *,
    tol: float = 1e-6,
    max_seconds: float | None = None,
) -> Proof:
    """Prove how far some groups of rows suffice, and how far each of them is needed.

    Parameters
    ----------
    solution : Solution
        Of model (6) with a quadratic loss, with its problem.
    groups : sequence of r array_likes of int
        Disjoint groups of rows of X, none of them empty.
    tol : float
        The gap to which the problem is solved for this; a smaller one closes more rows.
    max_seconds : float, optional
        Time limit of each of the r + 2 solves; what they prove by then is used.

    Returns
    -------
    Proof

    Examples
    --------
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M, _, pure = make_mixtures(20, 100, 3, noise=0.01, random_state=0)
    >>> solution = selfdict.working_set(M, selfdict.mu_heuristic(M, 3))
    >>> proof = selfdict.prove_groups(solution, [[k] for k in pure])
    >>> bool(proof.enough < 0.5), bool((proof.needed > 0).all())
    (True, True)
    """
    problem = problem_of(solution)
    if not problem.loss.quadratic:
        raise UnsupportedError(f"a proof needs a quadratic loss, got {problem.loss!r}")
    mu = problem.require_mu()
    checked = _checked_groups(groups, problem.n_atoms)
    solver = WorkingSet(tol=tol, max_seconds=max_seconds)
    if solution.gap > tol:
        # the last steps of the solver are what closes rows
        refined = solver.solve(problem.changed(mu=mu, target=None), start=solution)
        if refined.gap <= solution.gap:
            solution = refined
    # these bounds are percentages: the last digits of their solves would prove nothing more
    solver = replace(solver, tol=max(tol, 2e-4))
    return Proof(
        enough=_enough(solution, checked, solver),
        needed=np.array([_needed(solution, group, solver) for group in checked]),
        limit=rank_limit(weighted_columns(problem.root), len(checked)),
        closed=closed_rows(solution),
        solution=solution,
        groups=checked,
    )


def _checked_groups(groups: Any, n_atoms: int) -> tuple[Array, ...]:
    """Return the groups as arrays; refuse empty and overlapping ones."""
    checked = []
    for k, group in enumerate(groups):
        if np.size(group) == 0:
            raise InputError(f"group {k} is empty")
        checked.append(as_indices(np.asarray(group), n_atoms, f"group {k}"))
    if not checked:
        raise InputError("there must be at least one group")
    together = np.concatenate(checked)
    if np.unique(together).size < together.size:
        raise InputError("groups must not overlap")
    return tuple(checked)


def _enough(solution: Solution, groups: tuple[Array, ...], solver: WorkingSet) -> float:
    """Return how much worse the groups alone are at most."""
    others = np.setdiff1d(np.arange(solution.diagonal.size), np.concatenate(groups))
    attained = _solve_without(solution, others, solver).objective
    bound = solution.dual_bound
    if not bound > 0:
        return np.inf
    return max(0.0, attained / bound - 1)


def _needed(solution: Solution, group: Array, solver: WorkingSet) -> float:
    """Return by how much the objective rises at least if a group may not be used."""
    if not solution.objective > 0:
        return 0.0
    bound = _solve_without(solution, group, solver).dual_bound
    return max(0.0, bound / solution.objective - 1)


def _solve_without(solution: Solution, rows: Array, solver: WorkingSet) -> Solution:
    """Solve the problem with some rows closed, from the solution without these rows."""
    problem = problem_of(solution)
    p = problem.p.copy()
    p[rows] = np.inf  # an infinite price: never opened, and no part of the bound
    diagonal = solution.diagonal.copy()
    diagonal[rows] = 0.0
    support = np.flatnonzero(diagonal)
    start = replace(
        solution,
        support=support,
        coef=np.zeros((support.size, problem.n_points), dtype=solution.coef.dtype),
        diagonal=diagonal,
    )
    if rows.size == problem.n_atoms:
        return certify(start.for_problem(problem.changed(p=p)))  # X = 0 is all that is left
    return solver.solve(problem.changed(p=p), start=start)


def closed_rows(solution: Solution) -> Array:
    """Return which rows are zero at every optimum, (d,) of bool."""
    problem = problem_of(solution)
    terms = _terms(problem, solution)
    mu = problem.require_mu()
    penalty = mu * problem.p
    c, bound = best_scaling(terms.linear, terms.quadratic, terms.scores, penalty)
    support = solution.support
    trace = float(problem.p[support] @ solution.diagonal[support].astype(np.float64))
    objective = 0.5 * terms.quadratic + mu * trace
    gap = max(0.0, objective - bound) + 8 * np.finfo(float).eps * objective
    s = problem.loss.weigh(problem.s)
    reach = np.sqrt(2 * gap * float(s @ problem.w**2)) * (1 + dot_error(len(s)))
    form = problem.squared_form
    atoms = form.M
    if form.D is not None:
        atoms = form.D
    distance = lengths(np.sqrt(squared_norms(atoms)), problem.v) * reach
    closed: Array = (c * terms.scores + distance < penalty) | (problem.v == 0)
    return closed


def _terms(problem: Problem, solution: Solution) -> DualTerms:
    """Return the terms of the dual bound at the residual of a solution."""
    if problem.is_sparse:
        return sparse_terms(problem, solution)
    return dense_terms(problem, residual(problem.M, solution, problem.D))


def rank_limit(M: Any, r: int) -> float:
    """Return ‖M − M_r‖_F/‖M‖_F for the best approximation M_r of rank r, from below.

    For sparse data with more features than points the products of points are used.
    """
    if issparse(M):
        dense = M
        if M.shape[0] > M.shape[1]:
            dense = M.T
        moments = (dense @ dense.T).toarray().astype(np.float64)
    else:
        moments = second_moments(M)
    power = np.linalg.eigvalsh(moments)[::-1]
    total = float(np.trace(moments))
    if not total > 0:
        return 0.0
    # eigenvalues are off by no more than a multiple of the largest one's last digit
    rounding = dot_error(sum(M.shape)) * len(power) * float(power[0])
    rest = max(0.0, float(power[r:].sum()) - rounding)
    return float(np.sqrt(rest / total))
