"""The certificate of a feasible X: its objective, a dual bound, and the gap between them.

All of it is computed in float64 from the residual R = M − D X, whatever the dtype of the data, with
bounds on what rounding may have done. The residual of sparse data is not formed
(:mod:`selfdict.model.sparse`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.compute.device import Device, choose_device, multiply
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.model.dual import SUMMED, DualTerms, Quadratic, dot_error, total
from selfdict.model.losses import Loss
from selfdict.model.omega import TOLERANCE, into_omega
from selfdict.model.score_bounds import DECIDED, row_scores
from selfdict.model.scores import summation_depth
from selfdict.model.solution import Solution, consistent_bound, problem_of
from selfdict.model.sparse import SparseProducts


def certify(solution: Solution, /, *, device: Device = None) -> Solution:
    """Return ``solution`` with its objective and a dual bound, both computed in float64.

    The cost is one product MᵀR, computed in blocks; no n×n array is stored. The bound is a proof:
    the optimum of the solution's problem is never below ``dual_bound``.

    Parameters
    ----------
    solution : Solution
        Any feasible X with its problem: from a solver of this package, or from
        :meth:`Solution.from_matrix`. One that violates a constraint by more than 1e-6 of its limit
        is refused. Smaller violations of Ω are clipped.
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
    epsilon = problem_of(solution).epsilon
    solution = into_omega(solution)
    if epsilon is not None:
        norm, error = residual_of(solution).norm()
        if not norm - error <= (1 + TOLERANCE) * epsilon:
            raise InputError(
                f"X is not feasible: the norm of the residual is {norm:.6g}, at most {epsilon:.6g} "
                "is allowed"
            )
    return with_certificate(solution, device)


def with_certificate(solution: Solution, device: Device = None) -> Solution:
    """Return a solution with its objective and bound, as :func:`certify`, without any check."""
    problem = solution.problem
    where = choose_device(device, problem.M)
    if device is None:
        where = problem.data_device
    # BLAS on several threads rounds in another order
    with single_threaded_blas():
        residual = residual_of(solution, where)
        terms = residual.dual_terms()
        objective = residual.objective()
        if problem.epsilon is None:
            bound = terms.bound(problem.penalty)
        else:
            # A residual may exceed ε within the tolerance. X is feasible for an ε as large as that,
            # and the optimum for a larger ε is not above that for ε: its bound is one for both.
            epsilon = max(problem.epsilon, sum(residual.norm()))
            bound = terms.constrained_bound(epsilon, Quadratic(problem.p))
    bound = consistent_bound(bound, objective.value, objective.rounding)
    return replace(solution, objective=objective.value, dual_bound=bound)


class Objective(NamedTuple):
    """The objective of an X as computed, and by how much rounding may have lowered it."""

    value: float
    rounding: float

    @property
    def from_above(self) -> float:
        """What the X attains is not above this."""
        return self.value + self.rounding


def objective_value(solution: Solution) -> Objective:
    """Return the objective of a solution, in float64, without its bound."""
    with single_threaded_blas():
        return residual_of(solution).objective()


class Residual(ABC):
    """The residual of a solution, and what follows from it."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        self.problem = solution.problem

    @abstractmethod
    def fit(self) -> tuple[float, float]:
        """Return the loss of the residual, and by how much rounding may have lowered it."""

    @abstractmethod
    def norm(self) -> tuple[float, float]:
        """Return the norm that model (4) bounds, √(Σ_j s_j ‖r_j‖²), and its error."""

    @abstractmethod
    def dual_terms(self, known: Array | None = None) -> DualTerms:
        """Return the terms of the dual bound for the multiplier θ_j = s_j ψ(r_j).

        ``known`` (d,) are scores from above; where they are below the penalty, they are enough.
        """

    def objective(self) -> Objective:
        """Return the objective of model (6), or of model (4)."""
        problem = self.problem
        support = self.solution.support  # the price of a closed row may be infinite
        t = self.solution.diagonal[support].astype(np.float64)
        if problem.epsilon is not None:
            price = float(problem.p[support] @ t)
            return Objective(price, dot_error(len(support)) * price)
        fit, rounding = self.fit()
        value = fit + problem.penalty.take(support).value(t)
        n_terms = problem.M.shape[0] + len(support) + SUMMED
        # twice, since the room for rounding is rounded itself
        return Objective(value, 2 * (rounding + dot_error(n_terms) * value))


def residual_of(solution: Solution, device: Device = None) -> Residual:
    """Return the residual of a solution; ``device`` (None for the CPU) is where it is computed."""
    if solution.problem.is_sparse:
        return SparseResidual(solution)
    return DenseResidual(solution, device)


class DenseResidual(Residual):
    """R = M − D X, (m, n); ``device`` (None for the CPU) is where products are taken."""

    def __init__(self, solution: Solution, device: Device = None) -> None:
        super().__init__(solution)
        self.device = device
        self.R = self._subtracted()

    def _subtracted(self) -> Array:
        """Return M − D X from the non-zero rows of X."""
        solution = self.solution
        M = self.problem.M
        atoms = self.problem.atoms[:, solution.support].astype(np.float64)
        own = np.empty(0, np.int64)
        if self.problem.D is None:
            own = solution.support
        kept = 1 - solution.coef[np.arange(own.size), own].astype(np.float64)

        def part(start: int, stop: int) -> tuple[Array, Array]:
            """Return some columns m_j (1 − x_jj), and those of X without the entries x_jj."""
            # the difference of m_j and m_j x_jj has no digits left for x_jj near 1
            columns = M[:, start:stop].astype(np.float64)
            X = solution.coef[:, start:stop].astype(np.float64)
            inside = np.flatnonzero((own >= start) & (own < stop))
            columns[:, own[inside] - start] *= kept[inside]
            X[inside, own[inside] - start] = 0
            return columns, X

        if self.device is not None:
            R, X = part(0, M.shape[1])
            R -= multiply(atoms, X, self.device)
            return R
        R = np.empty_like(M, dtype=np.float64)

        def task(start: int, stop: int) -> None:
            columns, X = part(start, stop)
            np.subtract(columns, atoms @ X, out=R[:, start:stop])

        # Slices of columns, so that the bits do not depend on the number of threads. They stay in
        # cache, and the copies of X are small beside an X of which all rows are open.
        columns_per_slice = 512
        with single_threaded_blas():
            for_slices(task, R.shape[1], columns_per_slice)
        return R

    def _error(self) -> float:
        """Return the norm of what rounding may have done to the residual, from above.

        The residual m_j − Σ_i d_i x_ij is a sum of k + 1 terms: it is off by at most γ_k times
        ‖m_j‖ + Σ_i ‖d_i‖ x_ij. The norm is that of the loss, with its weights, and that of a sum
        is at most the sum of the norms.
        """
        problem = self.problem
        if problem.loss.quadratic:
            problem = problem.squared_form
        lengths = np.sqrt(squared_norms(problem.atoms[:, self.solution.support]))
        rows = np.sqrt(squared_norms(self.solution.coef.T) * problem.s.max())
        summed = math.sqrt(total(problem.s * squared_norms(problem.M))) + float(lengths @ rows)
        return dot_error(len(lengths) + 1) * summed

    def fit(self) -> tuple[float, float]:
        loss = self.problem.loss
        s = self.problem.s
        error = self._error()
        if loss.quadratic:
            square = total(loss.weigh(s) * squared_norms(loss.whiten(self.R)))
            return 0.5 * square, error * math.sqrt(square) + 0.5 * error**2
        # ℓ(r + e) ≤ ℓ(r) + |ψ(r) e| + ½ L e² for a slope ψ with the Lipschitz constant L
        fit = total(s * loss.value(self.R).sum(axis=0, dtype=np.float64))
        slope = math.sqrt(total(s * squared_norms(loss.gradient(self.R))))
        return fit, error * slope + 0.5 * loss.lipschitz * error**2

    def norm(self) -> tuple[float, float]:
        norm = math.sqrt(2 * self.fit()[0])
        return norm, self._error() + dot_error(len(self.R) + SUMMED) * norm

    def dual_terms(self, known: Array | None = None) -> DualTerms:
        problem = self.problem
        terms_of = partial(
            residual_terms,
            problem.M,
            self.R,
            problem.w,
            problem.s,
            problem.v,
            problem.D,
            loss=problem.loss,
            device=self.device,
        )
        if problem.epsilon is None and problem.loss.quadratic:
            penalty = problem.penalty
            terms = terms_of(slope=penalty.slope, known=known)
            # for a residual much smaller than the optimal one, rows that bounds decide would count
            if DECIDED * terms.best_scaling(penalty)[0] <= 1:
                return terms
        return terms_of()


class SparseResidual(Residual):
    """The residual of a solution of sparse data, which is known from products."""

    def __init__(self, solution: Solution) -> None:
        super().__init__(solution)
        M = self.problem.M
        D = dense_columns(M, solution.support).astype(np.float64)
        self.products = SparseProducts.of(M, D, solution.coef.T.astype(np.float64))

    def fit(self) -> tuple[float, float]:
        s = self.problem.s
        fit = 0.5 * total(s * self.products.square)
        return fit, 0.5 * total(s * self.products.square_error)

    def norm(self) -> tuple[float, float]:
        fit, error = self.fit()
        norm = math.sqrt(2 * fit)
        # √(a + b) ≤ √a + √b
        return norm, math.sqrt(2 * error) + dot_error(SUMMED) * norm

    def dual_terms(self, known: Array | None = None) -> DualTerms:
        M = self.problem.M
        s = self.problem.s
        w = self.problem.w
        # rows of zero columns stay zero in Ω: their support function is zero
        rows = np.flatnonzero(w > 0)
        scores = np.zeros(w.size)
        scores[rows] = self.products.positive_sums(M, w, s * w, rows)
        scores[rows] += np.minimum((s * self.products.inner)[rows], 0.0)
        data_norms = np.sqrt(squared_norms(M))
        return self.products.dual_terms(scores, s, w, data_norms, lengths(data_norms, w))


def residual_terms(
    M: Array,
    R: Array,
    w: Array,
    s: Array,
    v: Array,
    D: Array | None = None,
    *,
    loss: Loss,
    device: Device = None,
    slope: Array | None = None,
    known: Array | None = None,
) -> DualTerms:
    """Return the terms of the dual bound for any columns M (m, n) with their residuals R.

    Everything but M and D is of float64. The atoms D (m, d), with the weights v, are by default M.
    With the slopes (d,) of the penalties, a score may be an upper bound that shows that it is below
    its slope: most rows then need no exact one. Such bounds may be ``known`` (d,).
    """
    # θ = ψ(R) diag(s) is the optimal multiplier if X is optimal, so the gap closes there
    psi = loss.gradient(R)
    theta = psi
    # a product with ones would only copy the matrix
    if not (s == 1.0).all():
        theta = psi * s
    data_norms = np.sqrt(squared_norms(M))
    atom_norms = data_norms
    if D is not None:
        atom_norms = np.sqrt(squared_norms(D))
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
        row_scores(M, theta, w, v, D, device, slope, known),
        magnitudes=np.sqrt(squared_norms(theta)),
        data_norms=data_norms,
        atom_lengths=lengths(atom_norms, v),
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
        return total(columns) * (1 + dot_error(len(psi) + SUMMED))

    return conjugate


def lengths(norms: Array, weights: Array) -> Array:
    """Return ‖d_i‖₂/v_i; 0 for atoms without weight, whose rows are zero in Ω."""
    quotient = np.zeros(len(norms))
    np.divide(norms, weights, out=quotient, where=weights > 0)
    return quotient
