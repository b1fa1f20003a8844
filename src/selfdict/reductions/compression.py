"""Fewer features: M seen in q directions, with what that proves about M itself.

For a basis Q (m, q) with orthonormal columns and any X

    ‖M − MX‖² = ‖QᵀM − QᵀMX‖² + ‖(I − QQᵀ)(M − MX)‖² ≥ ‖QᵀM − QᵀMX‖²,

so a lower bound on model (6) for QᵀM, with the w of Ω taken from M, is one for M; and X is as
feasible for M as for QᵀM. The two objectives differ by the part of the residual that the basis does
not see.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._validation import Array, as_generator, as_matrix, as_rank
from selfdict.compute.sums import second_moments
from selfdict.model.certificate import certify, squared_residuals
from selfdict.model.solution import Solution

METHODS = ("svd", "gaussian", "srht")
MANY = 2000  # features from which the singular vectors are found by subspace iteration
STEPS, EXTRA = 4, 10  # of that iteration, and directions besides those asked for


class Compressed(NamedTuple):
    """What :func:`compress` returns: ``data = scale · basisᵀ M``.

    Attributes
    ----------
    data : (q, n) ndarray
    basis : (m, q) ndarray
        Orthonormal columns, in M's dtype.
    scale : float
        1 for the SVD; √(m/q) for a random basis, which sees that part of the norm of a vector on
        average.
    """

    data: Array
    basis: Array
    scale: float


def compress(M: ArrayLike, q: int, method: str = "svd", random_state: Any = None) -> Compressed:
    """Reduce the features of M (m, n) to q, by an orthonormal basis.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
    q : int
        How many directions, at most m.
    method : {"svd", "gaussian", "srht"}
        - ``"svd"``: the q leading left singular vectors of M: the least residual that q directions
          can leave. For more than 2000 features, as good as four steps of subspace iteration find
          them.
        - ``"gaussian"``: a random subspace, uniform among all of its dimension.
        - ``"srht"``: q random columns of a Hadamard matrix with random signs of its rows
          (subsampled randomised Hadamard transform), orthonormalised where m is no power of two.
          The q columns are multiplied out: for so few that takes less time than a fast transform of
          all of M.
    random_state : int, numpy.random.Generator or None
        Seed of the random methods; ``"svd"`` is deterministic.

    Returns
    -------
    Compressed
        ``data`` (q, n), ``basis`` (m, q) and ``scale``.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict import compress
    >>> M = np.outer([1.0, 2.0, 2.0], [1.0, 0.5])
    >>> np.abs(compress(M, 1).data).round(3)
    array([[3. , 1.5]])
    """
    M = as_matrix(M, sparse=True)
    m = M.shape[0]
    q = as_rank(q, m, "q", of="rows of M")
    rng = as_generator(random_state)
    if method == "svd":
        basis = _leading(M, q)
    elif method == "gaussian":
        basis = np.linalg.qr(rng.standard_normal((m, q)))[0]
    elif method == "srht":
        basis = np.linalg.qr(_hadamard_columns(m, q, rng))[0]
    else:
        raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    basis = basis.astype(M.dtype)
    scale = 1.0 if method == "svd" else float(np.sqrt(m / q))
    return Compressed(M.dtype.type(scale) * np.ascontiguousarray((M.T @ basis).T), basis, scale)


def original(M: ArrayLike, solution: Solution, compressed: Compressed) -> Solution:
    """Return a solution for the compressed data as one of M: with its objective for M, and a bound that holds for M.

    The bound is the dual bound of basisᵀM, which costs a screening pass over q features.
    ``certify(M, solution)`` takes the residual of M itself instead, at the cost of a pass over all
    features; either bound holds.

    Parameters
    ----------
    M : (m, n) array_like or sparse array
    solution : Solution
        Of model (6) for ``compressed.data``, with the ``weights`` of M.
    compressed : Compressed

    Returns
    -------
    Solution
    """
    squares = squared_residuals(as_matrix(M, sparse=True), solution)
    s, p = (1.0 if weight is None else weight for weight in (solution.sample_weight, solution.p))
    value = 0.5 * float((s * squares).sum()) + solution.mu * float(
        (p * solution.diagonal.astype(np.float64)).sum()
    )
    bound = certify(
        compressed.data / compressed.data.dtype.type(compressed.scale), solution
    ).dual_bound
    gap = max(0.0, (value - bound) / value) if value > 0 else 0.0
    return replace(solution, objective=value, dual_bound=bound, gap=gap)


def _leading(M: Any, q: int) -> Array:
    m, n = M.shape
    if m <= MANY:
        moments = (M @ M.T).toarray().astype(np.float64) if issparse(M) else second_moments(M)
        vectors: Array = np.linalg.eigh(moments)[1][:, ::-1][:, :q]
        return vectors
    M = M.astype(np.float64)
    spread = np.random.default_rng(0).standard_normal((n, min(q + EXTRA, m)))
    for _ in range(STEPS):
        basis = np.linalg.qr(M @ spread)[0]
        spread = M.T @ basis
    if basis.shape[1] < q:  # fewer points than directions asked for: any further ones will do
        basis = np.linalg.qr(np.hstack([basis, np.eye(m, q)]))[0]
        spread = M.T @ basis
    basis = basis @ np.linalg.eigh(spread.T @ spread)[1][:, ::-1][:, :q]
    return np.linalg.qr(basis)[0]


def _hadamard_columns(m: int, q: int, rng: np.random.Generator) -> Array:
    """Return q columns of the m first rows of a Hadamard matrix: the signs (−1)^popcount(i & k), rows times ±1."""
    size = 1 << (m - 1).bit_length()
    bits = np.arange(m)[:, None] & rng.choice(size, q, replace=False)
    for shift in (32, 16, 8, 4, 2, 1):
        bits ^= bits >> shift
    signs: Array = rng.choice([-1.0, 1.0], m)[:, None] * (1.0 - 2.0 * (bits & 1))
    return signs
