"""How far from optimal a feasible X can be at most: objective, dual bound and gap."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.device import Device, choose_device
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.model.dual import DualTerms, dot_error
from selfdict.model.losses import Loss, Squared
from selfdict.model.memory_rows import row_scores
from selfdict.model.objective import (
    SparseResidual,
    dense_objective,
    residual,
    residual_error,
    residual_norm,
    sparse_objective,
    sparse_residual,
    weighted_trace,
)
from selfdict.model.omega import TOLERANCE, into_omega
from selfdict.model.problem import Problem
from selfdict.model.score_bounds import DECIDED
from selfdict.model.scores import summation_depth
from selfdict.model.solution import Solution, consistent_bound, problem_of


def certify(solution: Solution, /, *, device: Device = None) -> Solution:
    """Return ``solution`` with its objective and a dual bound, both computed in float64.

    The cost is one product MᵀR, computed in blocks; no n×n array is stored. The bound is a proof:
    the optimum of the solution's problem is never below ``dual_bound``.

    Parameters
    ----------
    solution : Solution
        Any feasible X with its problem: from a solver of this package, or from
        :meth:`Solution.from_matrix`. One that violates a constraint by more than 1e-6 of its limit
        is refused: its objective says nothing about the optimum. Smaller violations of Ω are
        clipped.
    device : {None, "cpu", "cuda"}, optional
        The device of the products; see :doc:`/large-data`.

    Returns
    -------
    Solution
        A copy with ``objective`` and ``dual_bound``, and therefore ``gap`` = (objective −
        dual_bound)/objective. Its X is in Ω.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Problem, Solution, certify
    >>> problem = Problem([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], mu=0.25)
    >>> X = np.array([[0.8, 0.0, 0.4], [0.0, 0.8, 0.4], [0.0, 0.0, 0.0]])
    >>> solution = certify(Solution.from_matrix(X, problem))
    >>> round(solution.objective, 3), round(solution.gap, 3)
    (0.45, 0.151)
    """
    problem_of(solution)  # refuses anything else
    solution = into_omega(solution)
    _check_residual(solution)
    return with_certificate(solution, device)


def _check_residual(solution: Solution) -> None:
    """Raise :class:`selfdict.InputError` if the residual is larger than model (4) allows.

    Apart from rounding errors of its norm, at most 1e-6 of ε is let pass. The bound is then that of
    the larger ε.
    """
    problem = solution.problem
    epsilon = problem.epsilon
    if epsilon is None:
        return
    norm, error = residual_norm(solution)
    if not norm - error <= (1 + TOLERANCE) * epsilon:
        raise InputError(
            f"X is not feasible: the norm of the residual is {norm:.6g}, at most {epsilon:.6g} is "
            "allowed"
        )


def with_certificate(solution: Solution, device: Device = None) -> Solution:
    """Return a solution with its objective and bound, as :func:`certify`, without any check."""
    problem = solution.problem
    where = choose_device(device, problem.M)
    if device is None:
        where = problem.data_device
    # everything below is float64, whatever the dtype of the data: a bound that rounding could
    # lift above the optimum would prove nothing; BLAS on several threads rounds in another order
    with single_threaded_blas():
        if problem.is_sparse:
            sparse = sparse_residual(problem.M, solution)
            terms = sparse_terms(problem, sparse)
        else:
            R = residual(problem.M, solution, problem.D, where)
            terms = dense_terms(problem, R, where)
        if problem.epsilon is not None:
            return _constrained(solution, problem, terms)
        if problem.is_sparse:
            objective = sparse_objective(solution, sparse)
        else:
            objective = dense_objective(solution, R)
    bound = terms.bound(problem.penalty)
    bound = consistent_bound(bound, objective.value, objective.rounding)
    return replace(solution, objective=objective.value, dual_bound=bound)


def _constrained(solution: Solution, problem: Problem, terms: DualTerms) -> Solution:
    """Return a solution of model (4) with its objective and bound."""
    assert problem.epsilon is not None  # as the caller has checked
    error = 0.0  # of sparse data, it is part of the terms
    if not problem.is_sparse:
        error = residual_error(solution)
    # A residual may exceed ε within the tolerance. X is feasible for an ε as large as that, and the
    # optimum for a larger ε is not above that for ε: its bound is one for both.
    attained = math.sqrt(terms.quadratic) + error
    bound = terms.constrained_bound(max(problem.epsilon, attained), problem.p)
    price = weighted_trace(problem, solution)
    rounding = dot_error(len(solution.support)) * price
    return replace(solution, objective=price, dual_bound=consistent_bound(bound, price, rounding))


def dense_terms(problem: Problem, R: Array, device: Device = None) -> DualTerms:
    """Return the terms of the dual bound for the residual R (m, n), float64, of a dense problem.

    For model (6) with a quadratic loss, scores that do not matter for its bound may be upper bounds
    (:mod:`selfdict.model.score_bounds`): most rows then need no exact one.
    """
    v = None
    if problem.D is not None:
        v = problem.v

    def terms(penalty: Array | None) -> DualTerms:
        return residual_terms(
            problem.M,
            R,
            problem.w,
            problem.s,
            loss=problem.loss,
            D=problem.D,
            v=v,
            device=device,
            penalty=penalty,
        )

    if problem.epsilon is not None or not problem.loss.quadratic:
        return terms(None)
    penalty = problem.penalty
    bounded = terms(penalty.slope)
    # for a residual much smaller than the optimal one, the rows that bounds decide would count
    if DECIDED * bounded.best_scaling(penalty)[0] > 1:
        return terms(None)
    return bounded


def residual_terms(
    M: Array,
    R: Array,
    w: Array,
    s: Array,
    *,
    loss: Loss | None = None,
    D: Array | None = None,
    v: Array | None = None,
    device: Device = None,
    # (d,): slopes of the penalties; a bound that shows that a score is below may be returned
    penalty: Array | None = None,
) -> DualTerms:
    """Return the terms of the dual bound for any columns M (m, n) with their residuals R.

    Everything but M and D is of float64. The loss is by default the squared one, the atoms D (m, d)
    and their weights v are by default M and w.
    """
    if loss is None:
        loss = Squared()
    # θ = ψ(R) diag(s) is the optimal multiplier if X is optimal, so the gap closes there
    psi = loss.gradient(R)
    theta = psi
    # a product with ones would only copy the matrix
    if not (s == 1.0).all():
        theta = psi * s
    data_norms = np.sqrt(squared_norms(M))
    atom_norms = data_norms
    atom_weights = w
    if D is not None and v is not None:
        atom_norms = np.sqrt(squared_norms(D))
        atom_weights = v
    conjugate = None
    largest_scaling = np.inf
    if not loss.quadratic:
        conjugate = _conjugate_of(loss, psi, s)
        # the conjugate of a loss with bounded slope is infinite beyond that slope
        steepest = float(np.abs(psi).max())
        largest_scaling = 0.0
        if steepest > 0:
            largest_scaling = loss.limit / steepest
    return DualTerms.from_columns(
        np.einsum("ij,ij->j", theta, M, dtype=np.float64),
        np.einsum("ij,ij->j", theta, R, dtype=np.float64),
        row_scores(M, theta, w, D, v, device, penalty),
        magnitudes=np.sqrt(squared_norms(theta)),
        data_norms=data_norms,
        atom_lengths=lengths(atom_norms, atom_weights),
        w=w,
        n_terms=M.shape[0],
        n_summed=summation_depth(M.shape[1], device),
        conjugate=conjugate,
        largest_scaling=largest_scaling,
    )


def _conjugate_of(loss: Loss, psi: Array, s: Array) -> Callable[[float], float]:
    """Return c ↦ Σ_ij s_j ℓ*(c ψ_ij), from above."""

    def conjugate(c: float) -> float:
        columns = loss.conjugate(c * psi).sum(axis=0) * s
        return math.fsum(columns) * (1 + dot_error(len(psi)))

    return conjugate


def lengths(norms: Array, weights: Array) -> Array:
    """Return ‖d_i‖₂/v_i; 0 for atoms without weight, whose rows are zero in Ω."""
    quotient = np.zeros(len(norms))
    np.divide(norms, weights, out=quotient, where=weights > 0)
    return quotient


def sparse_terms(problem: Problem, sparse: SparseResidual) -> DualTerms:
    """Return the terms of the dual bound for sparse data, whose residual is not formed."""
    M = problem.M
    s = problem.s
    w = problem.w
    # rows of zero columns stay zero in Ω: their support function is zero
    rows = np.flatnonzero(w > 0)
    scores = np.zeros(w.size)
    scores[rows] = sparse.positive_sums(M, w, s * w, rows)
    scores[rows] += np.minimum((s * sparse.inner)[rows], 0.0)
    data_norms = np.sqrt(squared_norms(M))
    return sparse.dual_terms(scores, s, w, data_norms, lengths(data_norms, w))
