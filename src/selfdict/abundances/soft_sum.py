"""Nonnegative coefficients whose sum is drawn to one: between ``nnls`` and ``fcls``."""

import math

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.abundances.blocks import ColumnSolver, check_pair, check_range, for_blocks
from selfdict.abundances.fcls import fcls
from selfdict.abundances.nnls import nnls
from selfdict.compute.scaling import times_power_of_two, times_powers_of_two, unusual_exponent


def soft_sum(U: ArrayLike, M: ArrayLike, stiffness: float) -> Array:
    """Return the H ≥ 0 that minimises ‖M − U H‖² + λ a² Σ_j (Σ_i H_ij − 1)².

    The unit a is the length of the longest column of U, so λ has none. With λ = 0 this is
    :func:`selfdict.nnls`, with λ = ∞ :func:`selfdict.fcls`. Each column is solved exactly.

    Parameters
    ----------
    U : (m, r) array_like
        Spectra, not all of them zero.
    M : (m, n) array_like or sparse array
        Pixels.
    stiffness : float
        λ ≥ 0.

    Returns
    -------
    (r, n) ndarray
        float32 if U and M are both float32 (or smaller), else float64.

    Examples
    --------
    >>> from selfdict.abundances import soft_sum
    >>> soft_sum([[1.0, 0.0], [0.0, 1.0]], [[1.5], [0.0]], stiffness=1.0)
    array([[1.25],
           [0.  ]])
    """
    if not stiffness >= 0:
        raise InputError(f"stiffness must be at least 0; got {stiffness}")
    if stiffness == 0:
        return nnls(U, M)
    if math.isinf(stiffness):
        return fcls(U, M)
    U, M, dtype = check_pair(U, M)
    unit = unusual_exponent(U)
    U = times_power_of_two(U, -unit)
    norms = np.linalg.norm(U, axis=0)
    if not norms.any():
        raise InputError("U must not be zero")
    # Powers of two bring the columns to about the same length, which changes no digit.
    scale = np.exp2(np.round(np.log2(norms, out=np.zeros_like(norms), where=norms > 0)))
    solver = _solver(U, scale, math.sqrt(stiffness) * norms.max(), unit)
    H: Array = np.empty((U.shape[1], M.shape[1]), dtype=dtype)
    sizes: list[tuple[float, float]] = []

    def task(columns: slice, m: Array) -> None:
        X, exponents = solver(m)
        X /= scale
        if (exponents != unit).any():
            X = times_powers_of_two(X.T, exponents - unit).T
        sizes.append((float(X.max()), float(X.max())))
        H[:, columns] = X.T

    for_blocks(task, M, None)
    check_range(sizes, H.dtype)
    return H


def _solver(U: Array, scale: Array, row: float, unit: int) -> ColumnSolver:
    """Return the solver for U / scale with a row of constants below U and below every pixel."""
    stacked = np.vstack([U, np.full(U.shape[1], row)]) / scale
    Q, R = np.linalg.qr(stacked)
    solver = ColumnSolver(R, Q[:-1], row * Q[-1], simplex=False, unit=unit)
    # Up to this condition number, the reduction by QR leaves ten digits.
    if solver.condition <= 1e5:
        return solver
    pad = np.eye(len(U), len(stacked))
    offset = np.zeros(len(stacked))
    offset[-1] = row
    return ColumnSolver(stacked, pad, offset, simplex=False, unit=unit)
