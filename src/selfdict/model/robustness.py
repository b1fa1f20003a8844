"""How far each column of W lies from the cone of the others: the conical robustness κ."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from selfdict._validation import as_matrix
from selfdict.compute.scaling import times_power_of_two, unusual_exponent


def conical_robustness(W: ArrayLike) -> float:
    """Return κ = min_k min_{x ≥ 0} ‖W(:, k) − W(:, others) x‖₁, the conical robustness of W.

    κ is positive exactly if no column lies in the cone of the others, the least that any method
    needs to tell them apart. The columns are taken as they are; Theorems 1 and 3 mean those of
    normalised data (ℓ1 norm one), where κ ≤ 1.

    Parameters
    ----------
    W : (m, r) array_like
        The columns, for example M(:, K). A single one has κ = ‖W(:, 1)‖₁.

    Returns
    -------
    float
        Between 0 and the least ℓ1 norm of a column, in the unit of W.

    Notes
    -----
    The distance of w_k is found from its dual, max w_kᵀy subject to ‖y‖_∞ ≤ 1 and w_iᵀy ≤ 0 for all
    i ≠ k: a linear program with m variables and r − 1 constraints, solved by HiGHS.

    Examples
    --------
    >>> from selfdict import conical_robustness
    >>> conical_robustness([[1.0, 0.0], [0.0, 1.0]])
    1.0
    >>> conical_robustness([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]])
    0.0
    """
    W = as_matrix(W, "W").astype(np.float64)
    exponent = unusual_exponent(W)
    W = times_power_of_two(W, -exponent)
    scale = np.abs(W).sum(axis=0).max()  # the tolerances of HiGHS are absolute
    if scale == 0:
        return 0.0
    W /= scale
    distances = []
    for k in range(W.shape[1]):
        others = np.delete(W, k, axis=1).T
        best = linprog(-W[:, k], others, np.zeros(len(others)), bounds=(-1, 1), method="highs")
        if not best.success:
            raise RuntimeError(
                f"HiGHS found no distance of column {k} to the others: {best.message}"
            )
        distances.append(-best.fun)
    return float(np.ldexp(max(0.0, min(distances)) * scale, exponent))
