"""Projection of rows onto Ω (appendix B of the paper), and the passes of Algorithm 1 that use it.

The optimal gate t of a row solves c'(t) = 0, where c' is increasing, piecewise linear and concave.
A Newton step from any point therefore lands left of the root. From there the steps increase and
reach the exact root after finitely many. One step is one pass over a row in cache. The paper uses a
heap instead.

Below, ``own`` is the row's own entry x_i. It is taken out of the row (a zero does not enter the
sums) and becomes the gate. A penalty ½ν t² of the gate adds ν times the step length to the weight
one of (t − own)²: ``weight`` is their sum.
"""

from selfdict._validation import Array
from selfdict.kernels.jit import helper, jit

# Entries whose sum is taken in the dtype of the row, which is fast for float32, before it joins a
# float64 sum: the rounding errors stay those of a short sum.
_ENTRIES_PER_SUM = 512


@helper
def _sums(z: Array, w: Array, ratio: float) -> tuple[float, float]:
    """Return Σ w_j z_j and Σ w_j² over the entries above their bound, z_j > w_j·ratio."""
    zero = z.dtype.type(0.0)
    num = 0.0
    den = 0.0
    for start in range(0, len(z), _ENTRIES_PER_SUM):
        x = z[start : start + _ENTRIES_PER_SUM]
        v = w[start : start + _ENTRIES_PER_SUM]
        a = zero
        b = zero
        for j in range(len(x)):
            # A selection, not a branch around the sums: LLVM turns it into vector instructions.
            above = v[j] if x[j] > v[j] * ratio else zero
            a += above * x[j]
            b += above * v[j]
        num += a
        den += b
    return num, den


@helper
def _clip(z: Array, w: Array, ratio: float, out: Array) -> tuple[float, float]:
    """Write z clipped to [0, w_j·ratio] into ``out``, which may be z; return :func:`_sums`."""
    zero = z.dtype.type(0.0)
    num = 0.0
    den = 0.0
    for start in range(0, len(z), _ENTRIES_PER_SUM):
        x = z[start : start + _ENTRIES_PER_SUM]
        v = w[start : start + _ENTRIES_PER_SUM]
        y = out[start : start + _ENTRIES_PER_SUM]
        a = zero
        b = zero
        for j in range(len(x)):
            bound = v[j] * ratio
            above = v[j] if x[j] > bound else zero
            a += above * x[j]
            b += above * v[j]
            value = x[j] if x[j] < bound else bound
            y[j] = value if value > zero else zero
        num += a
        den += b
    return num, den


@helper
def _newton(own: float, wi: float, num: float, den: float, upper: float, weight: float) -> float:
    """Return the gate at which c' would vanish if the same entries stayed above their bounds."""
    root = wi * (wi * own + num) / (weight * wi * wi + den)
    return min(max(root, max(own / weight, 0.0)), upper)


@jit
def project_rows(Z: Array, w: Array, rows: Array, upper: float, start: int, stop: int) -> None:
    """Project rows ``start`` to ``stop`` of ``Z`` in place; ``Z[a]`` is row ``rows[a]`` of X."""
    for a in range(start, stop):
        z = Z[a]
        i = rows[a]
        wi = w[i]
        if wi == 0.0:
            z[:] = 0.0
            continue
        own = float(z[i])
        z[i] = 0.0
        t = -1.0
        new = min(max(own, 0.0), upper)
        while new > t:  # false for NaN, which would otherwise never end
            t = new
            num, den = _sums(z, w, z.dtype.type(t) / wi)
            new = _newton(own, wi, num, den, upper, 1.0)
        _clip(z, w, z.dtype.type(t) / wi, z)
        z[i] = t


@helper
def _descend(
    v: Array, y: Array, old: Array, beta: float, step: float, w: Array, ratio: float
) -> tuple[float, float]:
    """Put y + β(y − old) + step·v into ``v``; return the sums of :func:`_sums` for it."""
    zero = v.dtype.type(0.0)
    num = 0.0
    den = 0.0
    for start in range(0, len(v), _ENTRIES_PER_SUM):
        stop = start + _ENTRIES_PER_SUM
        x = v[start:stop]
        now = y[start:stop]
        before = old[start:stop]
        u = w[start:stop]
        a = zero
        b = zero
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
def gradient_step(
    V: Array,
    Y: Array,
    Y_old: Array,
    open_: Array,
    open_old: Array,
    beta: float,
    step: float,
    penalty: Array,
    weight: float,
    w: Array,
    first_row: int,
    gate: int,
) -> None:
    """Take one step of Algorithm 1 on some rows: extrapolate, descend, project."""
    # V holds Mᵀ(M − M X) for the extrapolated X, rows ``first_row`` onwards; it is overwritten.
    # Y_old receives the new rows. Rows that are zero now and were zero before (open_, open_old) are
    # neither read nor written. The gate of row i is its entry ``gate``, or its own entry i if that
    # is −1.
    real = V.dtype.type
    beta = real(beta)
    step = real(step)
    for a in range(V.shape[0]):
        i = first_row + a
        c = gate
        if gate < 0:
            c = i
        v = V[a]
        y = Y[i]
        out = Y_old[i]
        wi = w[c]
        if wi == 0.0:
            continue
        if open_[i] or open_old[i]:
            guess = y[c] + beta * (y[c] - out[c])
            own = guess + step * (v[c] - penalty[i])
            ratio = max(guess, real(0.0)) / wi
            # On both sides of the gate entry, which does not enter the sums.
            left = _descend(v[:c], y[:c], out[:c], beta, step, w[:c], ratio)
            right = _descend(v[c + 1 :], y[c + 1 :], out[c + 1 :], beta, step, w[c + 1 :], ratio)
            v[c] = 0.0
            new = _newton(own, wi, left[0] + right[0], left[1] + right[1], 1.0, weight)
            if new == 0.0 and ratio > 0.0:
                # The guess lay so far right of the root that the step led below zero: a step from
                # zero itself tells whether the root is zero.
                num, den = _sums(v, w, real(0.0))
                new = _newton(own, wi, num, den, 1.0, weight)
        else:
            own = step * (v[c] - penalty[i])
            v[c] = 0.0
            num, den = _sums(v, w, real(0.0))
            new = _newton(own, wi, step * num, den, 1.0, weight)
            if new > 0.0:  # a row that stays zero need not be scaled
                for j in range(len(v)):
                    v[j] *= step
        t = 0.0
        while new > t:  # each Newton step writes what it sums, so the last one wrote the answer
            t = new
            num, den = _clip(v, w, real(t) / wi, out)
            new = _newton(own, wi, num, den, 1.0, weight)
        if t > 0.0:
            out[c] = t
        elif open_old[i]:
            out[:] = 0.0
        open_old[i] = t > 0.0


@jit
def subtract_and_extrapolate(
    M: Array, MX: Array, R_old: Array, s: Array, beta: float, E: Array, start: int, stop: int
) -> float:
    """Turn MX into R = M − MX, E into (R + β(R − R_old)) diag(s); return Σ s_j R_ij² in float64."""
    b = M.dtype.type(beta)  # a float64 β would turn the arithmetic of float32 rows into float64
    weight = s[start:stop]
    total = 0.0
    for i in range(M.shape[0]):
        data = M[i, start:stop]
        residual = MX[i, start:stop]
        residual_old = R_old[i, start:stop]
        extrapolated = E[i, start:stop]
        for j in range(len(residual)):
            r = data[j] - residual[j]
            residual[j] = r
            extrapolated[j] = (r + b * (r - residual_old[j])) * weight[j]
            total += weight[j] * float(r) * float(r)
    return total
