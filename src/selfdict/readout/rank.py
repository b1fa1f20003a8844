"""How many columns to select: HySime, or the elbow of an error curve."""

from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError, warn_caller
from selfdict._validation import Array, as_matrix, as_rank
from selfdict.compute.linear_algebra import second_moments, smaller_moments
from selfdict.kernels.columns import dense_columns, squared_norms
from selfdict.metrics import relative_error
from selfdict.model.solution import Solution
from selfdict.peers.spa import spa, with_squared_norms
from selfdict.readout.evidence import Evidence
from selfdict.readout.selection import select_from
from selfdict.readout.signal import NEGLIGIBLE, signal_dimension


@dataclass(frozen=True)
class ErrorCurve:
    """The relative error with 1, 2, … columns: one that is reached, and one that none is below.

    Attributes
    ----------
    errors : (k,) ndarray of float
        ``errors[r - 1]`` is the least ‖M − M(:, K) H‖_F / ‖M‖_F over H ≥ 0 for a choice K of at
        most r columns that was found: exact, by nonnegative least squares over all of M.
    limits : (k,) ndarray of float
        The same without signs and with any r vectors in place of columns of M, by the singular
        values of M: no choice of r columns has a lower error.
    """

    errors: Array
    limits: Array


def error_curve(solution: Solution, r_max: int = 20, method: str = "spa") -> ErrorCurve:
    """Return the errors of the columns that :func:`select_indices` reads out of one solution.

    Parameters
    ----------
    solution : Solution
        With its problem; its gap says how near to the optimum of model (6) it is.
    r_max : int, default=20
        The last rank. The curve ends before it where fewer columns explain M exactly.
    method : str, default="spa"
        One of :func:`select_indices`. ``"exchange"`` has lower errors and takes seconds for each
        rank.

    Returns
    -------
    ErrorCurve

    Examples
    --------
    >>> import selfdict
    >>> from selfdict.datasets import make_mixtures
    >>> M = make_mixtures(30, 200, 3, noise=0.01, random_state=0)[0]
    >>> solution = selfdict.working_set(M, selfdict.mu_heuristic(M, 3))
    >>> curve = selfdict.error_curve(solution, 5)
    >>> bool((curve.limits <= curve.errors).all())
    True
    """
    if not isinstance(r_max, Integral):
        raise TypeError(f"r_max must be an integer, got {type(r_max).__name__}")
    whole = Evidence.of(solution)
    n = whole.A.shape[1]
    r_max = min(as_rank(r_max, max(n, 20), "r_max"), n)
    M = whole.M
    # Sparse data is made dense, in its leading directions, to choose by. What these leave out is
    # part of each error, and not of the limits, which are from below.
    evidence = whole.dense(r_max + 32)
    power = np.linalg.eigvalsh(smaller_moments(evidence.M))[::-1]
    tails = np.append(np.cumsum(power[::-1])[::-1], np.zeros(r_max))
    total = max(float(squared_norms(M).sum()), np.finfo(float).tiny)
    limits = np.sqrt(np.maximum(tails[1 : r_max + 1] / total, 0.0))
    negligible = 64 * np.finfo(M.dtype).eps
    errors: list[float] = []
    for r in range(1, r_max + 1):
        try:
            K = select_from(evidence, r, method)
        except InputError:
            if not errors:
                raise
            break  # what is left is too little to choose a column by
        error = relative_error(M, dense_columns(whole.A, K))
        if errors:
            error = min(error, errors[-1])
        errors.append(error)
        # further columns would be chosen by rounding errors
        if error <= negligible:
            break
    # A limit from squares has half the digits only: it could lie above an error that is all but
    # zero.
    return ErrorCurve(np.array(errors), np.minimum(limits[: len(errors)], errors))


def suggest_rank(
    M: ArrayLike,
    *,
    r_max: int = 20,
    method: Literal["hysime", "elbow"] = "hysime",
    solution: Solution | None = None,
) -> int:
    """Suggest a number of columns to select.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns.
    r_max : int, default=20
        The largest rank to suggest.
    method : {"hysime", "elbow"}
        Either :func:`hysime`, or :func:`elbow` of an error curve.
    solution : Solution, optional
        For the elbow: with a solution its :func:`error_curve` is used, without one the errors of
        the first 1, 2, …, ``r_max`` columns that :func:`spa` selects.

    Returns
    -------
    int
        Between 1 and ``r_max``.

    Examples
    --------
    >>> import numpy as np
    >>> import selfdict
    >>> rng = np.random.default_rng(0)
    >>> H = rng.dirichlet(np.ones(4), 500).T
    >>> M = rng.random((30, 4)) @ H + 0.001 * rng.standard_normal((30, 500))
    >>> selfdict.suggest_rank(M), selfdict.suggest_rank(M, method="elbow")
    (4, 4)
    """
    M = as_matrix(M, finite=False)
    r_max = min(as_rank(r_max, max(M.shape[1], 20), "r_max"), M.shape[1])
    if method == "hysime":
        return max(1, min(hysime(M), r_max))
    if method != "elbow":
        raise InputError(f"method must be 'hysime' or 'elbow', got {method!r}")
    if solution is not None:
        return elbow(error_curve(solution, r_max).errors)
    K = spa(M, r_max, allow_fewer=True)
    if K.size == 0:
        return 1
    return elbow([relative_error(M, K[:r]) for r in range(1, K.size + 1)])


def hysime(M: ArrayLike) -> int:
    """Return the dimension of the signal subspace by HySime (Bioucas-Dias and Nascimento, 2008).

    The noise of each row is what a regression on all other rows leaves; an eigenvector of the
    signal's correlation matrix counts where leaving it out would cost more signal than it saves
    noise.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns; there should be many more of them than rows.

    Returns
    -------
    int
        Between 0 (all noise) and m.

    Warns
    -----
    UserWarning
        If there are more rows than points: a regression then explains any noise, and the result is
        the rank of M.

    Examples
    --------
    >>> from selfdict import hysime
    >>> from selfdict.datasets import make_mixtures
    >>> hysime(make_mixtures(30, 500, 4, noise=0.001, random_state=0)[0])
    4
    """
    M = as_matrix(M, finite=False)
    M, _ = with_squared_norms(M)  # the dimension has no unit
    m, n = M.shape
    if m > n:
        warn_caller(
            f"HySime needs more points than features, got {n} points with {m} features: all of the "
            "data counts as signal; the method 'elbow' of suggest_rank needs no estimate of noise"
        )
        return _numerical_rank(M)
    dimension, _ = signal_dimension(second_moments(M))
    return dimension


def _numerical_rank(M: Array) -> int:
    """Return the number of directions that are more than what :func:`signal_dimension` neglects."""
    power = np.linalg.eigvalsh(smaller_moments(M))
    return int(np.sum(power > 2 * NEGLIGIBLE * power.sum() / M.shape[0]))


def elbow(errors: ArrayLike) -> int:
    """Return the rank at the elbow of an error curve.

    Parameters
    ----------
    errors : (k,) array_like
        ``errors[i]`` is the error with i + 1 columns.

    Returns
    -------
    int
        The number of columns at which the curve lies furthest below the straight line between its
        ends, each axis taken in units of its range; 1 where the curve does not fall.

    Examples
    --------
    >>> from selfdict import elbow
    >>> elbow([0.5, 0.3, 0.05, 0.04, 0.03])
    3
    """
    curve: Array = np.asarray(errors, dtype=np.float64)
    if curve.ndim != 1 or curve.size == 0 or not np.isfinite(curve).all():
        raise InputError(f"errors must be a vector of finite numbers, got shape {curve.shape}")
    line = np.linspace(curve[0], curve[-1], curve.size)
    return int(np.argmax(line - curve)) + 1
