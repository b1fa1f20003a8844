"""The residual of a solution and its objective, in float64 whatever the dtype of the data.

The residual of sparse data would be dense: products with the atoms take its place. With the open
atoms D (m, k), P = YᵀD (l, k), G = DᵀD and the coefficients X (k, l), R = Y − D X has

    y_jᵀr_j = ‖y_j‖² − p_jᵀx_j,
    ‖r_j‖² = ‖y_j‖² − 2 p_jᵀx_j + x_jᵀG x_j,
    m_iᵀr_j = m_iᵀy_j − (m_iᵀD) x_j,

and m_iᵀy_j costs as many operations as features the two share. Near an exact fit the differences
lose digits. What rounding may have done is known, by the norms β_j = ‖y_j‖ + Σ_k ‖d_k‖ |x_kj| of
what is summed up: it is taken off the dual bound. Where ‖r_j‖² would have no digit left, r_j is
formed for a moment.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.compute.device import Device
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.kernels.screening import add_gram_rows, add_positive_sums
from selfdict.model.dual import DualTerms, dot_error
from selfdict.model.problem import Problem
from selfdict.model.solution import Solution


class Objective(NamedTuple):
    """The objective of an X as computed, and by how much rounding may have lowered it."""

    value: float
    rounding: float

    @property
    def from_above(self) -> float:
        """What the X attains is not above this."""
        return self.value + self.rounding


def objective_value(solution: Solution) -> Objective:
    """Return the objective of a solution of model (6), in float64, without its bound."""
    problem = solution.problem
    with single_threaded_blas():
        if problem.is_sparse:
            return sparse_objective(solution, sparse_residual(problem.M, solution))
        return dense_objective(solution, residual(problem.M, solution, problem.D))


def dense_objective(solution: Solution, R: Array) -> Objective:
    """Return the objective of a solution with the residual R as computed, in float64."""
    problem = solution.problem
    error = residual_error(solution)
    if problem.loss.quadratic:
        square = math.fsum(problem.loss.weigh(problem.s) * squared_norms(problem.loss.whiten(R)))
        fit = 0.5 * square
        rounding = error * math.sqrt(square) + 0.5 * error**2
    else:
        # ℓ(r + e) ≤ ℓ(r) + |ψ(r) e| + ½ L e² for a slope ψ with the Lipschitz constant L
        fit = math.fsum(problem.s * problem.loss.value(R).sum(axis=0, dtype=np.float64))
        slope = math.sqrt(math.fsum(problem.s * squared_norms(problem.loss.gradient(R))))
        rounding = error * slope + 0.5 * problem.loss.lipschitz * error**2
    return _with_price(solution, fit, rounding)


def sparse_objective(solution: Solution, sparse: "SparseResidual") -> Objective:
    """Return the objective of a solution of sparse data."""
    s = solution.problem.s
    fit = 0.5 * math.fsum(s * sparse.square)
    return _with_price(solution, fit, 0.5 * math.fsum(s * sparse.square_error))


def _with_price(solution: Solution, fit: float, rounding: float) -> Objective:
    """Add the penalty of the diagonal, and what rounding may do to sums of positive numbers."""
    problem = solution.problem
    support = solution.support  # the price of a closed row may be infinite
    t = solution.diagonal[support].astype(np.float64)
    value = fit + problem.penalty.take(support).value(t)
    n_terms = problem.M.shape[0] + len(solution.support)
    # twice, since the room for rounding is rounded itself
    return Objective(value, 2 * (rounding + dot_error(n_terms) * value))


def residual_error(solution: Solution) -> float:
    """Return the norm of what rounding may have done to the residual of dense data, from above.

    The residual m_j − Σ_i d_i x_ij is a sum of k + 1 terms: it is off by at most γ_k times
    ‖m_j‖ + Σ_i ‖d_i‖ x_ij. The norm is that of the loss, with its weights.
    """
    problem = solution.problem
    s = problem.s
    M = problem.M
    atoms = problem.atoms
    if problem.loss.quadratic:
        M, D, s = problem.squared_form
        atoms = M
        if D is not None:
            atoms = D
    summed = np.sqrt(squared_norms(M))
    lengths = np.sqrt(squared_norms(atoms[:, solution.support]))
    for length, row in zip(lengths, solution.coef):
        summed += length * np.abs(row)
    return dot_error(len(lengths) + 1) * math.sqrt(math.fsum(s * summed**2))


def weighted_trace(problem: Problem, solution: Solution) -> float:
    """Return pᵀdiag(X) over the open rows: the price of a closed one may be infinite."""
    support = solution.support
    return float(problem.p[support] @ solution.diagonal[support].astype(np.float64))


def residual_norm(solution: Solution) -> tuple[float, float]:
    """Return the norm of the residual that model (4) bounds, √(Σ_j s_j ‖r_j‖²), and its error."""
    problem = solution.problem
    loss = problem.loss
    if problem.is_sparse:
        sparse = sparse_residual(problem.M, solution)
        norm = math.sqrt(math.fsum(problem.s * sparse.square))
        # √(a + b) ≤ √a + √b
        return norm, math.sqrt(math.fsum(problem.s * sparse.square_error))
    R = residual(problem.M, solution, problem.D)
    norm = math.sqrt(math.fsum(loss.weigh(problem.s) * squared_norms(loss.whiten(R))))
    return norm, residual_error(solution) + dot_error(len(R)) * norm


def residual(M: Array, solution: Solution, D: Array | None = None, device: Device = None) -> Array:
    """Return R = M − D X in float64, from the non-zero rows of X.

    ``D`` is by default M; ``device`` (None for the CPU) is where the product is taken.
    """
    R = M.astype(np.float64)
    if solution.support.size == 0:
        return R
    support = solution.support
    atoms = M
    own = np.empty(0, np.int64)
    if D is not None:
        atoms = D
    else:
        # m_j (1 − x_jj): the difference of m_j and m_j x_jj has no digits left where x_jj is near 1
        own = support
        R[:, own] *= 1 - solution.coef[np.arange(own.size), own].astype(np.float64)
    atoms = atoms[:, support].astype(np.float64)

    def entries(start: int, stop: int) -> Array:
        """Return some columns of X without the entries x_jj."""
        X = solution.coef[:, start:stop].astype(np.float64)
        inside = np.flatnonzero((own >= start) & (own < stop))
        X[inside, own[inside] - start] = 0
        return X

    if device is None:
        columns_per_slice = 4096

        def task(start: int, stop: int) -> None:
            R[:, start:stop] -= atoms @ entries(start, stop)

        # slices of columns, so that the bits do not depend on the number of threads
        with single_threaded_blas():
            for_slices(task, R.shape[1], columns_per_slice)
    else:
        from selfdict.gpu.matrix import multiply

        R -= multiply(atoms, entries(0, R.shape[1]), device)
    return R


def sparse_residual(M: Any, solution: Solution) -> "SparseResidual":
    """Return the residual of sparse M, which is not formed."""
    D = dense_columns(M, solution.support).astype(np.float64)
    return SparseResidual.of(M, D, solution.coef.T.astype(np.float64))


class SparseResidual(NamedTuple):
    """R = Y − D X for sparse Y (m, l): what is known of it without forming it."""

    Y: Any  # (m, l)
    D: Array  # (m, k)
    Xt: Array  # (l, k): the coefficients, transposed
    # (l,): y_jᵀr_j and ‖r_j‖²
    inner: Array
    square: Array
    magnitudes: Array  # (l,): β_j, from which the errors of both follow
    square_error: Array  # (l,): by how much ``square`` may be too small

    @classmethod
    def of(cls, Y: Any, D: Array, Xt: Array, P: Array | None = None) -> "SparseResidual":
        """Compute the two products; ``P`` is YᵀD, if it is at hand."""
        if P is None:
            P = Y.T @ D
        norms = squared_norms(Y)
        fitted = np.einsum("jk,jk->j", P, Xt)
        square = norms - 2 * fitted + np.einsum("jk,jk->j", Xt @ (D.T @ D), Xt)
        magnitudes = np.sqrt(norms) + np.abs(Xt) @ np.sqrt(squared_norms(D))
        error = dot_error(sum(D.shape))
        square_error = 4 * error * magnitudes**2
        # the difference of large sums has hardly a digit left: form the residual itself
        few_digits = np.flatnonzero(square < 1e6 * square_error)
        at_a_time = max(1, (1 << 23) // len(D))  # 64 MiB
        for start in range(0, few_digits.size, at_a_time):
            columns = few_digits[start : start + at_a_time]
            R = dense_columns(Y, columns).astype(np.float64) - D @ Xt[columns].T
            square[columns] = squared_norms(R)
            formed = error * magnitudes[columns]
            square_error[columns] = formed * (2 * np.sqrt(square[columns]) + formed)
        return cls(Y, D, Xt, norms - fitted, np.maximum(square, 0.0), magnitudes, square_error)

    def dual_terms(
        self, scores: Array, s: Array, w: Array, data_norms: Array, atom_lengths: Array
    ) -> DualTerms:
        """Return the terms of the dual bound for θ_j = s_j r_j, as :class:`DualTerms` has them."""
        return DualTerms.from_columns(
            s * self.inner,
            s * self.square,
            scores,
            magnitudes=s * self.magnitudes,
            data_norms=data_norms,
            atom_lengths=atom_lengths,
            w=w,
            n_terms=sum(self.D.shape),
            n_summed=len(w),
            square_error=s * self.square_error,
        )

    def positive_sums(self, M: Any, w: Array, factor: Array, rows: Array | None) -> Array:
        """Return Σ_j max(0, factor_j (m_i/w_i)ᵀr_j) for the rows i (None: all), in float64."""
        if rows is None:
            rows = np.arange(M.shape[1])
        Y = self.Y.tocsr().astype(np.float64)
        Y.data *= factor[Y.indices]
        atoms = (M.T @ self.D)[rows] / w[rows, None]
        weighted = np.ascontiguousarray((self.Xt * -factor[:, None]).T)
        sums = np.zeros(len(rows))

        def task(start: int, stop: int) -> None:
            tile = atoms[start:stop] @ weighted
            these = rows[start:stop]
            add_gram_rows(
                M.indptr,
                M.indices,
                M.data,
                Y.indptr,
                Y.indices,
                Y.data,
                these,
                1.0 / w[these],
                tile,
            )
            add_positive_sums(tile, sums[start:stop])

        # with ten thousand columns, a tile of so many rows fits into the second-level cache
        rows_per_tile = 16
        with single_threaded_blas():
            for_slices(task, len(rows), rows_per_tile)
        return sums
