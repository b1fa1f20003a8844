"""Standard errors of abundances, from the residual and from the spread of the endmembers.

The model, its symbols and the formulas are those of :doc:`/answer`. Of the second moments C_k of
the pixels of a material, Q_k = UᵀC_kU and tr C_k are needed. A share has the error v_iᵀUᵀe with a
row v_i of r numbers, and the variance v_iᵀN v_i. The residual has m − |P| + λ 1ᵀB1 degrees of
freedom, and one more for coefficients that sum to one. A coefficient of zero has no first-order
error; it gets the error it would have if it were free, and a share of one the largest of these.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array, as_coefficients, as_matrix, as_vector
from selfdict.compute.threads import for_slices, single_threaded_blas
from selfdict.kernels.columns import squared_norms


@dataclass(frozen=True)
class Variability:
    """How pixels of the same material differ from its endmember.

    Attributes
    ----------
    deviations : tuple of r ndarrays (m, k)
        Pixels of each material less its endmember, all scaled to length one.
    """

    deviations: tuple[Array, ...]

    def moments(self, U: Array, weights: Array) -> tuple[Array, Array]:
        """Return Q_k (r, r, r) and tr C_k (r,) for endmembers U (m, r) and weights of the bands."""
        lengths = np.sqrt(squared_norms(U))
        weighted = weights[:, None] ** 2 * U
        products = []
        traces = []
        for length, deviations in zip(lengths, self.deviations):
            seen = length * (weighted.T @ deviations)
            products.append(seen @ seen.T / deviations.shape[1])
            traces.append(length**2 * (weights**2 @ (deviations**2).mean(axis=1)))
        return np.stack(products), np.array(traces)


def standard_errors(
    U: ArrayLike,
    H: ArrayLike,
    residuals: ArrayLike,
    *,
    kind: str = "shares",
    variability: Variability | None = None,
    stiffness: float = 0.0,
    spread: float = 0.0,
    weights: ArrayLike | None = None,
) -> Array:
    """Return the standard error of each abundance, to first order.

    Parameters
    ----------
    U : (m, r) array_like
        Endmembers, not all of them zero.
    H : (r, n) array_like
        Their nonnegative least-squares coefficients; with ``kind="fcls"``, those that sum to one.
    residuals : (n,) array_like
        ‖m_j − U h_j‖, see :func:`column_residuals`; of weighted bands, if there are weights.
    kind : {"shares", "nnls", "fcls"}
        Whether the errors are those of coefficients divided by their sum, of coefficients, or of
        coefficients that sum to one.
    variability : Variability, optional
        How the pixels of each material differ; by default not at all.
    stiffness, spread : float
        The weight of the penalty on sums that differ from one, and the spread of the sums, as in
        :class:`Illumination`. By default the sums are free.
    weights : (m,) array_like, optional
        The weights of the bands in the fit; by default all are one.

    Returns
    -------
    (r, n) ndarray of float64
        NaN for columns in which all coefficients are zero, and for those with as many positive
        coefficients as bands: their residual gives no estimate of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.abundances import standard_errors
    >>> U = np.eye(4)[:, :2]
    >>> standard_errors(U, [[0.5], [0.5]], [0.1], kind="nnls").round(3).tolist()
    [[0.071], [0.071]]
    """
    U = as_matrix(U, "U")
    H = as_coefficients(H, "H")
    r = U.shape[1]
    if H.shape[0] != r:
        raise InputError(f"H must have {r} rows, one per endmember; got {H.shape[0]}")
    norms = as_vector(residuals, H.shape[1], "residuals", np.float64)
    if kind not in ("shares", "nnls", "fcls"):
        raise InputError(f"kind must be 'shares', 'nnls' or 'fcls', got {kind!r}")
    if variability is not None and len(variability.deviations) != r:
        raise InputError(
            f"variability must be that of {r} spectra, the columns of U; "
            f"got {len(variability.deviations)}"
        )
    if weights is None:
        weights = np.ones(len(U))
    weights = as_vector(weights, len(U), "weights", np.float64)
    if H.min() < 0:
        raise InputError(f"H must not be negative, got {H.min():.3g}")
    # in units of the largest spectrum
    unit = float(np.sqrt(squared_norms(weights[:, None] * U).max()))
    if unit == 0:
        raise InputError("U must not be zero")
    if np.isinf(stiffness):
        kind = "fcls"
        stiffness = 0.0
    U = U.astype(np.float64) / unit
    products, traces = np.zeros((r, r, r)), np.zeros(r)
    if variability is not None:
        products, traces = variability.moments(U, weights)
    model = _ErrorModel(U * weights[:, None], kind, products, traces, stiffness, spread)
    # the sums of the coefficients, which are divided by them; columns of zeros have no errors
    sums = H.sum(axis=0, dtype=np.float64)
    sums[sums == 0] = np.nan
    result = np.empty(H.shape)
    patterns, pattern = distinct_patterns((H > 0).T)
    # r×r numbers of each of so many columns or patterns take 2 MiB of float64
    at_most = max(1, (1 << 18) // r**2)
    common = None
    if len(patterns) <= at_most:
        common = model.of_patterns(patterns)

    def task(start: int, stop: int) -> None:
        columns = slice(start, stop)
        which = pattern[columns]
        known = common
        if known is None:
            some, which = np.unique(which, return_inverse=True)
            known = model.of_patterns(patterns[some])
        total = sums[columns]
        parts = H[:, columns].T / total[:, None]
        errors = model.errors(known, which, parts, norms[columns] / total / unit, total)
        if kind == "nnls":
            errors *= total[:, None]
        else:
            # no distribution on [0, 1] has a larger standard deviation
            errors = np.minimum(errors, 0.5)
        result[:, columns] = errors.T

    with single_threaded_blas():
        for_slices(task, sums.size, at_most)
    return result


class _Patterns(NamedTuple):
    """What the errors of columns with the same positive coefficients have in common.

    The covariance is a sum of few matrices Q, with weights that depend on the column.
    """

    of_rows: Array  # (p, q, r): v_iᵀQ v_i for the rows v_i
    mixed: Array  # (p, q, r): v_iᵀQ s for the error of the sum, s
    of_sum: Array  # (p, q): sᵀQ s
    inside: Array  # (p, r): tr B Q_k
    degrees: Array  # (p,): degrees of freedom of the residual; NaN if there are none


class _ErrorModel:
    """What the errors of all columns have in common."""

    def __init__(
        self,
        U: Array,
        kind: str,
        # Q_k and tr C_k of the variants of the endmembers
        products: Array,
        traces: Array,
        stiffness: float,
        spread: float,
    ) -> None:
        self.n_bands, r = U.shape
        self.kind = kind
        self.products = products
        self.traces = traces
        self.stiffness = stiffness
        self.spread = spread
        # for fcls, DᵀD for the differences D to endmember k, at [k]
        self.differences = np.zeros((r, r, r))
        if kind == "fcls":
            for k in range(r):
                to_one = U - U[:, [k]]
                self.differences[k] = to_one.T @ to_one
            # Rows that leave the sum as it is see differences of endmembers only.
            U = U - U.mean(axis=1, keepdims=True)
        self.gram = U.T @ U

        self.matrices = [self.gram]
        self.varies = bool(traces.any())
        if self.varies:
            self.matrices += list(products)
        if stiffness > 0:
            self.matrices.append(np.ones_like(self.gram))

    def of_patterns(self, patterns: Array) -> _Patterns:
        """Return what depends on the pattern (p, r) of positive coefficients alone."""
        if self.kind == "fcls":
            rows = self._constrained_rows(patterns)
        else:
            rows = _free_rows((self.gram + self.stiffness)[None], patterns)
        # B, zero outside of the positive coefficients
        inverses = rows * patterns[:, :, None]
        Q = np.stack(self.matrices)
        products = rows[:, None] @ Q
        # The error of the sum: row vectors over the positive coefficients, added up.
        of_sum = inverses.sum(axis=1)
        degrees = self.n_bands - patterns.sum(axis=1)
        if self.kind == "fcls":
            degrees = degrees + 1
        # a penalty on the sum alone does not tell the noise
        has_any = degrees > 0
        degrees = degrees + self.stiffness * inverses.sum(axis=(1, 2))
        return _Patterns(
            of_rows=(products * rows[:, None]).sum(axis=3),
            mixed=(products @ of_sum[:, None, :, None])[..., 0],
            of_sum=np.einsum("pi,qij,pj->pq", of_sum, Q, of_sum),
            inside=np.einsum("pij,kij->pk", inverses, self.products),
            degrees=np.where(has_any, degrees, np.nan),
        )

    def errors(
        self, known: _Patterns, pattern: Array, parts: Array, residuals: Array, sums: Array
    ) -> Array:
        """Return the standard errors (n, r) for coefficients (n, r) divided by their sums (n,)."""
        squares = parts**2
        noise = residuals**2
        if self.varies:
            # what the variants do not explain
            noise -= (squares * (self.traces - known.inside[pattern])).sum(axis=1)
        weights = [(np.maximum(noise, 0.0) / known.degrees[pattern])[:, None]]
        if self.varies:
            weights.append(squares)
        if self.stiffness > 0:
            weights.append(((self.stiffness * self.spread / sums) ** 2)[:, None])
        w = np.concatenate(weights, axis=1)
        variances = np.einsum("nq,nqi->ni", w, known.of_rows[pattern])
        if self.kind == "shares":
            # The rows become v_i − a_i s.
            variances -= 2 * parts * np.einsum("nq,nqi->ni", w, known.mixed[pattern])
            variances += squares * (w * known.of_sum[pattern]).sum(axis=1)[:, None]
        # rounding may leave a variance of zero below it
        errors: Array = np.sqrt(np.maximum(variances, 0.0))
        if self.kind == "fcls":
            # endmembers that equal another one can change places with it
            is_same = np.diagonal(self.differences, axis1=1, axis2=2) == 0
            errors[:, is_same.sum(axis=0) > 1] += np.inf
        if self.kind != "nnls":
            # to first order a share of one has no error: it has that of what another one may take
            alone = np.flatnonzero((parts > 0).sum(axis=1) == 1)
            errors[alone, parts[alone].argmax(axis=1)] = errors[alone].max(axis=1)
        return errors

    def _constrained_rows(self, patterns: Array) -> Array:
        """Return the rows that give coefficients of a fixed sum from Uᵀm."""
        # The sum is fixed by one of the positive endmembers: m − u_k is a combination of
        # differences to u_k with free coefficients, which are those of the other endmembers.
        every = np.arange(len(patterns))
        fixed = patterns.argmax(axis=1)
        others = patterns.copy()
        others[every, fixed] = False
        rows = _free_rows(self.differences[fixed], others)
        rows[every, fixed] = 0.0
        # in terms of Uᵀm: a difference takes off the product with the endmember that is fixed
        rows[every, :, fixed] = -rows.sum(axis=2)
        # what the others gain, this one loses
        rows[every, fixed] = -(rows * others[:, :, None]).sum(axis=1)
        return rows


def distinct_patterns(positive: Array) -> tuple[Array, Array]:
    """Return the different rows of booleans (n, r), and which of them each row is."""
    r = positive.shape[1]
    if r > 62:
        patterns, pattern = np.unique(positive, axis=0, return_inverse=True)
        return patterns, pattern.ravel()
    # a number tells rows apart much faster
    bits = np.arange(r)
    numbers = positive @ (1 << bits)
    if r <= 16:
        place = np.zeros(1 << r, dtype=np.intp)
        place[numbers] = 1
        found = np.flatnonzero(place)
        place[found] = np.arange(found.size)
        return (found[:, None] >> bits) & 1 > 0, place[numbers]
    _, first, pattern = np.unique(numbers, return_index=True, return_inverse=True)
    return positive[first], pattern


def _free_rows(grams: Array, patterns: Array) -> Array:
    """Return the rows that give coefficients from Uᵀm, for patterns of positive ones."""
    # The row of a coefficient of zero is that which it would have if it was free as well.
    normal = _regularised(grams)
    diagonal = np.diagonal(normal, axis1=1, axis2=2)
    identity = np.eye(patterns.shape[1])
    inverses = inverses_of_patterns(grams, patterns)
    projections = normal @ inverses
    # Schur complements: what of an endmember the positive ones do not contain
    rest = diagonal - (projections * normal).sum(axis=2)
    rest = np.maximum(rest, 1e-12 * diagonal)
    free = (identity - projections) / rest[:, :, None]
    return np.where(patterns[:, :, None], inverses, free)


def inverses_of_patterns(grams: Array, patterns: Array) -> Array:
    """Return (U_PᵀU_P)⁻¹ for patterns P (p, r) of columns, zeros elsewhere, (p, r, r)."""
    normal = _regularised(grams)
    diagonal = normal * np.eye(patterns.shape[1])
    both = patterns[:, :, None] & patterns[:, None, :]
    return np.asarray(np.linalg.inv(np.where(both, normal, diagonal)) * both)


def _regularised(grams: Array) -> Array:
    """Return matrices UᵀU (p, r, r) that are not singular."""
    diagonal = np.diagonal(grams, axis1=1, axis2=2)
    # Endmembers that are nearly alike: their errors are large, and must not be infinite. One of
    # zeros has no coefficient, and must not make the matrix singular.
    ridge = np.where(diagonal > 0, 1e-12 * diagonal, 1.0)
    return np.asarray(grams + ridge[:, :, None] * np.eye(grams.shape[1]))
