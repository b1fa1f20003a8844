"""Fewer features: M seen in q directions, with what that proves about M itself.

For a basis Q (m, q) with orthonormal columns and any X

    ‖M − MX‖² = ‖QᵀM − QᵀMX‖² + ‖(I − QQᵀ)(M − MX)‖² ≥ ‖QᵀM − QᵀMX‖²,

so a lower bound on model (6) for QᵀM, with the w of Ω taken from M, is one for M; and X is as
feasible for M as for QᵀM. The two objectives differ by the part of the residual that the basis does
not see.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array, as_count, as_generator
from selfdict.compute.linear_algebra import leading_directions, transposed_product
from selfdict.compute.threads import single_threaded_blas
from selfdict.kernels.columns import squared_norms
from selfdict.model.certificate import residual_terms
from selfdict.model.dual import dot_error
from selfdict.model.features import UnsupportedError
from selfdict.model.losses import Squared
from selfdict.model.objective import objective_value, residual
from selfdict.model.problem import Problem, ReducedFrom
from selfdict.model.reduction import Reduction
from selfdict.model.solution import Solution, consistent_bound
from selfdict.reductions.columns import weighted_columns

METHODS = ("svd", "gaussian", "srht")


class Compressed(NamedTuple):
    """Data in q directions: ``data = scale · basisᵀ M``."""

    data: Array  # (q, n)
    basis: Array  # (m, q), orthonormal columns in M's dtype
    scale: float  # 1, or √(m/q) for a random basis, which sees q/m of a squared norm on average


@dataclass(frozen=True)
class Compression(Reduction):
    """Solve for q directions of the features; a bound for these is valid for all features.

    Parameters
    ----------
    q : int
        The number of directions, at most the number of features.
    method : {"svd", "gaussian", "srht"}
        - ``"svd"``: the q leading left singular vectors of M: the least residual that q directions
          can leave. If both sides of M exceed 2000, they are approximated by four steps of subspace
          iteration.
        - ``"gaussian"``: a random subspace, uniform among all of its dimension.
        - ``"srht"``: q random columns of a Hadamard matrix with random signs of its rows
          (subsampled randomised Hadamard transform), orthonormalised unless m is a power of two.
    random_state : int, Generator or None
        Seed of the random methods; ``"svd"`` is deterministic.

    Examples
    --------
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M = make_mixtures(30, 100, 3, noise=0.01, random_state=0)[0]
    >>> step = selfdict.Compression(5)
    >>> small = step.reduce(selfdict.Problem(M, mu=0.1))
    >>> small.M.shape
    (5, 100)
    >>> solution = step.lift(selfdict.WorkingSet().solve(small))
    >>> bool(solution.dual_bound <= solution.objective)
    True
    """

    q: int
    method: str = "svd"
    random_state: Any = None

    def __post_init__(self) -> None:
        as_count(self.q, "q")
        if self.method not in METHODS:
            names = ", ".join(map(repr, METHODS))
            raise InputError(f"method must be one of {names}; got {self.method!r}")

    def check(self, problem: Problem) -> None:
        """Raise :class:`selfdict.UnsupportedError` if the problem cannot be compressed."""
        if problem.D is not None or not isinstance(problem.loss, Squared):
            raise UnsupportedError("compress supports only the squared loss, and no dictionary")

    def reduce(self, problem: Problem) -> Problem:
        """Return the problem for the compressed data, with the weights of Ω taken from M."""
        self.check(problem)
        q = min(int(self.q), problem.M.shape[0])
        # directions that matter for the weighted residual; the data itself stays unweighted
        small = compress(weighted_columns(problem), q, self.method, self.random_state)
        if problem.sample_weight is not None:
            data = transposed_product(small.basis, problem.M)
            small = small._replace(data=problem.M.dtype.type(small.scale) * data)
        return problem.changed(M=small.data, reduced_from=ReducedFrom(problem, self, small))

    def lift(self, solution: Solution) -> Solution:
        """Return the solution for the uncompressed data, with its objective there and a bound.

        The bound is the dual bound of basisᵀM, which costs a screening pass over q features.
        :func:`certify` of the result takes the residual of M itself instead, at the cost of a pass
        over all features; either bound holds.
        """
        link = self._reduced_from(solution)
        small: Compressed = link.memory
        origin = link.problem.with_penalty_of(solution.problem).changed(p=solution.problem.p)
        point = replace(solution, problem=origin)
        objective = objective_value(point)
        bound = _bound(origin, small.basis, solution)
        bound = consistent_bound(bound, objective.value, objective.rounding)
        return replace(point, objective=objective.value, dual_bound=bound)


def _bound(problem: Problem, basis: Array, solution: Solution) -> float:
    """Return the dual bound of a problem for θ = Qϑ, with ϑ the residual seen in a basis."""
    # The basis is orthonormalised and the data projected in double precision; what rounding is left
    # in that is taken off the bound.
    M = problem.M
    with single_threaded_blas():
        Q = np.linalg.qr(basis.astype(np.float64))[0]
    data = transposed_product(Q, M)
    rounding = np.sqrt(Q.shape[1]) * dot_error(M.shape[0]) * np.sqrt(squared_norms(M))
    terms = residual_terms(
        data, residual(data, solution), problem.w, problem.s, data_error=rounding
    )
    # ‖Qϑ‖² exceeds ‖ϑ‖² by no more than Q departs from orthonormality
    longer = 1 + 4 * dot_error(M.shape[0]) * np.sqrt(Q.shape[1])
    terms = replace(terms, quadratic=longer * terms.quadratic)
    return terms.bound(problem.penalty)


def compress(M: Array, q: int, method: str = "svd", random_state: Any = None) -> Compressed:
    """Return M in q directions; the bits do not depend on the number of threads."""
    m = M.shape[0]
    rng = as_generator(random_state)
    scale = float(np.sqrt(m / q))
    # BLAS and LAPACK on several threads round in another order.
    with single_threaded_blas():
        if method == "svd":
            basis = leading_directions(M, q)
            scale = 1.0
        elif method == "gaussian":
            basis = np.linalg.qr(rng.standard_normal((m, q)))[0]
        else:
            basis = np.linalg.qr(_hadamard_columns(m, q, rng))[0]
    basis = basis.astype(M.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        data = M.dtype.type(scale) * transposed_product(basis, M)
    if not np.isfinite(data).all():
        raise InputError(f"the compressed data leaves the range of {M.dtype}; scale M")
    return Compressed(data, basis, scale)


def _hadamard_columns(m: int, q: int, rng: np.random.Generator) -> Array:
    """Return q random columns of the first m rows of a Hadamard matrix, with random signs."""
    # All q columns are multiplied out: for few of them that takes less time than a fast transform
    # of all of M. The entries of a Hadamard matrix are the signs (−1)^popcount(i & k).
    size = 1 << (m - 1).bit_length()
    bits = np.arange(m)[:, None] & rng.choice(size, q, replace=False)
    for shift in (32, 16, 8, 4, 2, 1):
        bits ^= bits >> shift
    signs: Array = rng.choice([-1.0, 1.0], m)[:, None] * (1.0 - 2.0 * (bits & 1))
    return signs
