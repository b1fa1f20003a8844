"""How many columns to select: HySime, or the elbow of an error curve."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from selfdict._validation import Array, as_matrix, as_rank
from selfdict.metrics import relative_error
from selfdict.select._columns import finite_squared_norms, second_moments
from selfdict.select.spa import spa


def suggest_rank(M: ArrayLike, *, r_max: int = 20, method: Literal["hysime", "elbow"] = "hysime") -> int:
    """Suggest a number of columns to select.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns.
    r_max : int, default=20
        The largest rank to suggest.
    method : {"hysime", "elbow"}
        Either :func:`hysime`, or :func:`elbow` of the relative errors of the first 1, 2, …, ``r_max`` columns that
        :func:`selfdict.spa` selects.

    Returns
    -------
    int
        Between 1 and ``r_max``.

    Examples
    --------
    >>> import numpy as np
    >>> import selfdict
    >>> rng = np.random.default_rng(0)
    >>> M = rng.random((30, 4)) @ rng.dirichlet(np.ones(4), 500).T + 0.001 * rng.standard_normal((30, 500))
    >>> selfdict.suggest_rank(M), selfdict.suggest_rank(M, method="elbow")
    (4, 4)
    """
    M = as_matrix(M, finite=False)
    r_max = min(as_rank(r_max, max(M.shape[1], 20), "r_max"), M.shape[1])
    if method == "hysime":
        return max(1, min(hysime(M), r_max))
    if method == "elbow":
        K = spa(M, r_max, allow_fewer=True)
        return elbow([relative_error(M, K[: k + 1]) for k in range(K.size)])
    raise ValueError(f"method must be 'hysime' or 'elbow', got {method!r}")


def hysime(M: ArrayLike) -> int:
    """Return the dimension of the signal subspace by HySime (Bioucas-Dias and Nascimento, 2008).

    The noise of each row is what a regression on all other rows leaves; an eigenvector of the signal's correlation
    matrix counts where leaving it out would cost more signal than it saves noise.

    Parameters
    ----------
    M : (m, n) array_like
        Data points are columns; more of them than rows.

    Returns
    -------
    int
        Between 0 (all noise) and m.
    """
    M = as_matrix(M, finite=False)
    finite_squared_norms(M)
    m, n = M.shape
    R = second_moments(M) / n
    power = np.trace(R) / m
    if power == 0:
        return 0
    # Regressing row i on the others leaves (P M)_i / P_ii with P = (M Mᵀ)⁻¹: all moments follow from R.
    P = np.linalg.inv(R + 1e-12 * power * np.eye(m))
    B = P / np.diag(P)[:, None]
    noise = np.diag(B @ R @ B.T)
    signal = (np.eye(m) - B) @ R @ (np.eye(m) - B).T
    E = np.linalg.eigh(signal)[1]
    kept = np.einsum("ij,ij->j", E, R @ E)
    added = noise @ E**2 + 1e-10 * power
    return int(np.sum(kept > 2 * added))


def elbow(errors: ArrayLike) -> int:
    """Return the rank at the elbow of an error curve.

    Parameters
    ----------
    errors : (k,) array_like
        ``errors[i]`` is the error with i + 1 columns.

    Returns
    -------
    int
        The number of columns at which the curve lies furthest below the straight line between its ends, each axis
        taken in units of its range; 1 where the curve does not fall.

    Examples
    --------
    >>> from selfdict.select import elbow
    >>> elbow([0.5, 0.3, 0.05, 0.04, 0.03])
    3
    """
    curve: Array = np.asarray(errors, dtype=np.float64)
    if curve.ndim != 1 or curve.size == 0 or not np.isfinite(curve).all():
        raise ValueError(f"errors must be a vector of finite numbers, got shape {curve.shape}")
    line = np.linspace(curve[0], curve[-1], curve.size)
    return int(np.argmax(line - curve)) + 1
