"""How far from optimal a feasible X can be at most: the dual bound of model (6), for any Solution.

Ω is compact, so the Lagrange dual is finite for every θ ∈ R^{m×n}. With V = Mᵀθ and the weights s_j
of the columns,

    D(θ) = ⟨θ, M⟩ − ½ Σ_j ‖θ_j‖²/s_j − Σ_i max(0, σ_i(θ) − μ p_i),
    σ_i(θ) = V_ii + Σ_{j≠i} (w_j/w_i) max(0, V_ij),

is a lower bound on (6): the max is the support function of row i of Ω, reached at its vertices. For
θ_j = c s_j r_j with the residual R = M − M X, σ is proportional to c, so one pass over MᵀR gives
the bound for every c ≥ 0, and the best c is found exactly. For model (4) the quadratic term becomes
ε‖θ‖ and μ is 1.

Atoms d_i of another dictionary, with weights v_i and gates of their own, have σ_i(θ) = Σ_j
(w_j/v_i) max(0, d_iᵀθ_j). With another loss than the square, ½‖θ_j‖²/s_j becomes Σ_i s_j
ℓ*(θ_ij/s_j), and θ_j = c s_j ψ(r_j) with ψ = ℓ'.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_matrix, as_vector
from selfdict.compute.device import choose_device, to_numpy
from selfdict.kernels.column_norms import squared_norms
from selfdict.kernels.sparse import dense_columns
from selfdict.model.losses import Loss, Squared
from selfdict.model.omega import column_norms, dictionary
from selfdict.model.screening import row_scores
from selfdict.model.solution import Solution
from selfdict.model.sparse import SparseResidual


def best_scaling(
    linear: float, quadratic: float, scores: Array, penalty: Array
) -> tuple[float, float]:
    """Maximise c·linear − ½c²·quadratic − Σ_i max(0, c·scores_i − penalty_i) over c ≥ 0, exactly.

    Returns
    -------
    (c, value)
        The maximiser and the maximum. The function is concave with a kink at each
        penalty_i/scores_i.
    """
    positive = 1e100 * scores > penalty  # c never comes near 1e100
    positive &= scores > 0
    kinks = penalty[positive] / scores[positive]
    order = np.argsort(kinks, kind="stable")
    kinks = np.append(kinks[order], np.inf)
    slope = linear - np.concatenate(
        [[0.0], np.cumsum(scores[positive][order])]
    )  # slope on the k-th piece, at c = 0
    # the first piece at whose right end the derivative is no longer positive holds the maximiser
    with np.errstate(invalid="ignore"):
        ends = slope - np.where(quadratic > 0, kinks * quadratic, 0.0)
    piece = int(np.argmax(ends <= 0)) if (ends <= 0).any() else len(kinks) - 1
    left = kinks[piece - 1] if piece else 0.0
    c = min(max(slope[piece] / quadratic if quadratic > 0 else left, left), kinks[piece])
    if not np.isfinite(c):
        c = left
    excess = float(np.maximum(c * scores - penalty, 0.0).sum())
    return float(c), float(c * linear - 0.5 * c * c * quadratic - excess)


def search_scaling(dual: Callable[[float], float], upper: float) -> float:
    """Return the maximum of a concave function over 0 < c < upper, by golden sections.

    Every c gives a true bound, so the search need not be exact: it ends at 1e-11 of the interval.
    """
    right = min(1.0, upper)
    while 2 * right < upper and dual(2 * right) > dual(right):
        right *= 2
    right = min(2 * right, (1 - 1e-12) * upper)
    left, section, best = 0.0, (np.sqrt(5) - 1) / 2, dual(right)
    inner = [right - section * (right - left), left + section * (right - left)]
    values = [dual(c) for c in inner]
    tolerance = 1e-11 * right
    while right - left > tolerance:
        if values[0] > values[1]:
            right = inner[1]
            inner = [right - section * (right - left), inner[0]]
            values = [dual(inner[0]), values[0]]
        else:
            left = inner[0]
            inner = [inner[1], left + section * (right - left)]
            values = [values[1], dual(inner[1])]
    return max(best, *values)


def loss_bound(
    loss: Loss, psi: Array, s: Array, linear: float, scores: Array, penalty: Array
) -> float:
    """Return the best dual value for θ = c ψ diag(s), for any loss.

    Parameters
    ----------
    loss : Loss
    psi : (m, n) ndarray of float64
        ψ of the residual.
    s : (n,) ndarray of float64
        Weights of the columns.
    linear : float
        ⟨θ, M⟩ at c = 1.
    scores, penalty : (n,) ndarray
        σ_i(θ) at c = 1, and μ p.
    """

    def dual(c: float) -> float:
        excess = float(np.maximum(c * scores - penalty, 0.0).sum())
        return c * linear - float((loss.conjugate(c * psi) @ s).sum()) - excess

    steepest = float(np.abs(psi).max())
    return max(0.0, search_scaling(dual, loss.limit / steepest)) if steepest > 0 else 0.0


def residual(M: Array, solution: Solution, D: Array | None = None, place: Any = None) -> Array:
    """Return R = M − D X in float64, from the non-zero rows of X; D is by default M, ``place`` the CPU."""
    R = M.astype(np.float64)
    if solution.support.size:
        atoms = (M if D is None else D)[:, solution.support].astype(np.float64)
        if place is None:
            R -= atoms @ solution.coef.astype(np.float64, copy=False)
        else:
            from selfdict.gpu.matrix import multiply

            R -= multiply(atoms, solution.coef, place)
    return R


def sparse_residual(M: Any, solution: Solution) -> SparseResidual:
    """Return the same of sparse M, which is not formed."""
    D = dense_columns(M, solution.support).astype(np.float64)
    return SparseResidual.of(M, D, solution.coef.T.astype(np.float64))


def squared_residuals(M: Any, solution: Solution, D: Array | None = None) -> Array:
    """Return ‖m_j − D x_j‖² of every column in float64; D is by default M."""
    return (
        sparse_residual(M, solution).square
        if issparse(M)
        else squared_norms(residual(M, solution, D))
    )


def certify(
    M: ArrayLike, solution: Solution, *, D: ArrayLike | None = None, device: Any = None
) -> Solution:
    """Return ``solution`` with its objective, a dual bound and the relative gap, all computed in float64.

    The cost is one product MᵀR, taken in blocks; n×n numbers are never held. The bound is a proof:
    whatever the optimum of model (6) with the loss of the solution (or of model (4), if
    ``solution.epsilon`` is set) is, it is not below ``dual_bound``.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
        The data the solution belongs to; also a torch tensor.
    solution : Solution
        Any feasible X, from a solver of this package or :meth:`Solution.from_matrix`.
    D : (m, d) array_like, optional
        The dictionary the solution was computed with; by default M itself.
    device : {None, "cpu", "cuda"}, optional
        Where to take the products; see :doc:`/gpu`.

    Returns
    -------
    Solution
        A copy with ``objective``, ``dual_bound`` and ``gap`` = (objective − dual_bound)/objective
        filled in.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import Solution, certify
    >>> M = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    >>> X = np.array([[0.8, 0.0, 0.4], [0.0, 0.8, 0.4], [0.0, 0.0, 0.0]])
    >>> solution = certify(M, Solution.from_matrix(X, mu=0.25))
    >>> round(solution.objective, 3), round(solution.gap, 3)
    (0.45, 0.151)
    """
    place = choose_device(device, M)
    M = as_matrix(to_numpy(M), sparse=D is None and isinstance(solution.loss, Squared))
    n = M.shape[1]
    atoms, v = (None, None) if D is None else dictionary(to_numpy(D), M)
    d = n if atoms is None else atoms.shape[1]
    if solution.diagonal.shape != (d,):
        seen, there = (
            solution.diagonal.shape[0],
            f"M has {d}" if atoms is None else f"D has {d} atoms",
        )
        raise InputError(f"the solution belongs to {seen} points, {there}")
    if solution.coef.shape[1:] != (n,):
        raise InputError(
            f"the solution's rows have shape {solution.coef.shape[1:]}, M has {n} points"
        )
    w = as_vector(solution.weights, n, "weights", np.float64, default=column_norms(M))
    p = as_vector(solution.p, d, "p", np.float64, default=np.ones(d))
    s = as_vector(solution.sample_weight, n, "sample_weight", np.float64, default=np.ones(n))
    trace = float(p @ solution.diagonal.astype(np.float64, copy=False))
    if issparse(M):
        sparse = sparse_residual(M, solution)
        linear, quadratic = float(s @ (sparse.inner - sparse.rounding)), float(s @ sparse.square)
        rows = np.flatnonzero(w > 0)
        scores = np.zeros(n)
        scores[rows] = sparse.positive_sums(M, w, s * w, rows) + np.minimum(
            (s * sparse.inner)[rows], 0.0
        )
    else:
        R = residual(M, solution, atoms, place)
        psi = solution.loss.gradient(R)
        theta = psi if solution.sample_weight is None else psi * s
        linear, quadratic = (
            float(np.einsum("ij,ij->", theta, M, dtype=np.float64)),
            float(np.vdot(theta, R)),
        )
        scores = row_scores(M, theta, w, atoms, v, place)
    if solution.epsilon is not None:
        if not isinstance(solution.loss, Squared):
            raise InputError(
                f"model (4) bounds the squared residual, the solution has the loss {solution.loss!r}"
            )
        objective = trace
        _, bound = best_scaling(linear - solution.epsilon * np.sqrt(quadratic), 0.0, scores, p)
    elif not solution.mu >= 0:
        raise InputError(f"the solution's mu must be ≥ 0 to certify model (6), got {solution.mu}")
    elif isinstance(solution.loss, Squared):
        objective = 0.5 * quadratic + solution.mu * trace
        _, bound = best_scaling(linear, quadratic, scores, solution.mu * p)
    else:
        objective = solution.loss.total(R, s) + solution.mu * trace
        bound = loss_bound(solution.loss, psi, s, linear, scores, solution.mu * p)
    gap = max(0.0, (objective - bound) / objective) if objective > 0 else 0.0
    return replace(solution, objective=objective, dual_bound=bound, gap=gap)
