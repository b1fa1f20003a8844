"""An iteration of Algorithm 1: each product slice by slice, and what is done with a slice while it is in cache."""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit
from selfdict.kernels.product import product
from selfdict.kernels.projection import CHUNK, clip, newton, sums
from selfdict.kernels.turns import take, wait_for


@jit
def _descend(v: Array, y: Array, old: Array, beta: float, step: float, w: Array, ratio: float) -> tuple[float, float]:
    """Put y + β(y − old) + step·v into ``v``; return the sums of :func:`sums` for it."""
    zero = v.dtype.type(0.0)
    num, den = 0.0, 0.0
    for start in range(0, len(v), CHUNK):
        stop = start + CHUNK
        x, now, before, u = v[start:stop], y[start:stop], old[start:stop], w[start:stop]
        a, b = zero, zero
        for j in range(len(x)):
            value = now[j] + beta * (now[j] - before[j]) + step * x[j]
            above = u[j] if value > u[j] * ratio else zero
            a += above * value
            b += above * u[j]
            x[j] = value
        num += a
        den += b
    return num, den


@jit
def _step_row(
    v: Array, y: Array, out: Array, c: int, is_zero: bool, beta: float, step: float, penalty: float, w: Array
) -> float:
    """Replace ``out``, the row before ``y``, by the one after it; return its gate, entry c. Zeros are not written."""
    zero, wi = v.dtype.type(0.0), w[c]
    if is_zero:
        own = step * (v[c] - penalty)
        v[c] = 0.0
        num, den = sums(v, w, zero)
        new = newton(own, wi, step * num, den, 1.0)
        if new > 0.0:
            for j in range(len(v)):
                v[j] *= step
    else:
        guess = y[c] + beta * (y[c] - out[c])
        own = guess + step * (v[c] - penalty)
        ratio = max(guess, zero) / wi
        left = _descend(v[:c], y[:c], out[:c], beta, step, w[:c], ratio)
        right = _descend(v[c + 1 :], y[c + 1 :], out[c + 1 :], beta, step, w[c + 1 :], ratio)
        v[c] = 0.0
        new = newton(own, wi, left[0] + right[0], left[1] + right[1], 1.0)
        if new == 0.0 and ratio > 0.0:  # the guess lay so far right that the step led below zero
            num, den = sums(v, w, zero)
            new = newton(own, wi, num, den, 1.0)
    t = 0.0
    while new > t:  # each step writes what it sums, so the last has written the answer
        t = new
        num, den = clip(v, w, v.dtype.type(t) / wi, out)
        new = newton(own, wi, num, den, 1.0)
    return t


@jit
def gradient_step(
    V: Array,
    Y: Array,
    Y_old: Array,
    t: Array,
    t_old: Array,
    beta: float,
    step: float,
    mu: float,
    p: Array,
    w: Array,
    gate: int,
    first: int,
) -> None:
    """Descend from the extrapolated point along V = DᵀE and project, rows ``first`` onwards; ``Y_old`` receives them.

    ``t`` and ``t_old`` are the gates of ``Y`` and ``Y_old``: entry ``gate`` of each row, or its own one if that is −1.
    Rows where both are zero are zero, and neither read nor written unless they open. V is overwritten.
    """
    real = V.dtype.type
    beta, step, mu = real(beta), real(step), real(mu)
    for a in range(len(V)):
        i = first + a
        c = i if gate < 0 else gate
        if w[c] == 0.0:
            continue
        is_zero = t[i] == 0.0 and t_old[i] == 0.0
        new = real(_step_row(V[a], Y[i], Y_old[i], c, is_zero, beta, step, mu * p[i], w))
        if new > 0.0:
            Y_old[i, c] = new
        elif not is_zero:
            Y_old[i] = 0.0
        t_old[i] = new


@jit
def subtract_and_extrapolate(
    M: Array, MX: Array, R_old: Array, s: Array, beta: float, E: Array, start: int, stop: int
) -> float:
    """Turn MX into R = M − MX and E into (R + β(R − R_old)) diag(s); return Σ s_j R_ij², summed in float64.

    All of it for the columns ``start`` to ``stop``.
    """
    b, weight = M.dtype.type(beta), s[start:stop]
    total = 0.0
    for i in range(M.shape[0]):
        data, now, before, ahead = M[i, start:stop], MX[i, start:stop], R_old[i, start:stop], E[i, start:stop]
        for j in range(len(now)):
            r = data[j] - now[j]
            now[j] = r
            ahead[j] = (r + b * (r - before[j])) * weight[j]
            total += weight[j] * float(r) * float(r)
    return total


@jit
def _tally(t: Array, p: Array) -> tuple[float, float, int]:
    """Return Σ t_i, Σ p_i t_i and the number of open gates."""
    trace, penalty, n_open = 0.0, 0.0, 0
    for i in range(len(t)):
        trace += t[i]
        penalty += p[i] * float(t[i])
        n_open += t[i] > 0.0
    return trace, penalty, n_open


@jit
def _gather(Y: Array, rows: Array, start: int, stop: int) -> Array:
    """Copy some rows of some columns."""
    out = np.empty((len(rows), stop - start), dtype=Y.dtype)
    for k in range(len(rows)):
        out[k] = Y[rows[k], start:stop]
    return out


@jit
def iterate(
    leads: bool,
    turns: Array,
    room: Array,
    squares: Array,
    gemm: int,
    M: Array,
    D: Array,
    Y: Array,
    Y_old: Array,
    t: Array,
    t_old: Array,
    R: Array,
    R_old: Array,
    E: Array,
    beta: float,
    next_beta: float,
    step: float,
    mu: float,
    p: Array,
    w: Array,
    s: Array,
    gate: int,
    columns: int,
) -> tuple[float, float, float]:
    """Take part in an iteration: work on slices of its halves until none is left; who ``leads`` waits for the others.

    First the new point goes into ``Y_old``, its gates into ``t_old``; then its residual M − DY into ``R_old`` and the
    residual extrapolated by ``next_beta``, times diag(s), into E. Who leads gets Σ t_i, Σ p_i t_i and Σ s_j R_ij² of
    the new point.

    ``turns`` counts the threads, the slices of rows taken and done, and the slices of columns taken and done. It is new
    for each iteration, so a thread that comes too late finds nothing to do. ``room[k]`` is for the rows of DᵀE that
    thread k works on, a slice at a time; ``squares`` has an entry for each slice of ``columns`` columns.
    """
    d, n = Y.shape
    V = room[take(turns, 0)]
    n_slices = -(-d // len(V))
    k = take(turns, 1)
    while k < n_slices:
        first = k * len(V)
        last = min(first + len(V), d)
        product(gemm, D[:, first:last].T, E, V[: last - first])
        gradient_step(V[: last - first], Y, Y_old, t, t_old, beta, step, mu, p, w, gate, first)
        take(turns, 2)
        k = take(turns, 1)
    wait_for(turns, 2, n_slices)
    trace, penalty, n_open = _tally(t_old, p)
    few = n_open < 0.8 * d  # so few that a copy of the open rows pays
    k = take(turns, 3)
    rows = np.flatnonzero(t_old) if few and k < len(squares) else np.arange(0)
    D_open = D[:, rows] if few else D
    while k < len(squares):
        start, stop = k * columns, min((k + 1) * columns, n)
        MX = R_old[:, start:stop]
        if few:
            product(gemm, D_open, _gather(Y_old, rows, start, stop), MX)
        else:
            product(gemm, D, Y_old[:, start:stop], MX)
        squares[k] = subtract_and_extrapolate(M, R_old, R, s, next_beta, E, start, stop)
        take(turns, 4)
        k = take(turns, 3)
    if leads:
        wait_for(turns, 4, len(squares))
    return trace, penalty, squares.sum()
