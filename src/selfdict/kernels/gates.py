"""The columns of model (6) for given gates, and the derivatives of the fit by the gates.

On a working set of k atoms, in the coordinates z_ij = x_ij w_i/w_j, column j is

    φ_j(t) = min ½‖y_j − D z‖²  over  0 ≤ z ≤ t,

with the atoms D and the column y_j scaled to w = 1. All columns share the bounds t ∈ [0, 1]^k, the
gates. An atom's own column has its entry tied to the gate: z_i = t_i. With F the free entries of a
column, U those at their gate and g = Dᵀ(y − D z), the derivatives are ∂φ/∂t_U = −g_U and ∂²φ/∂t_U²
= G_UU − G_UF G_FF⁻¹ G_FU, G = DᵀD.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit

ZERO, FREE, GATE = 0, 1, 2  # where an entry of z sits: at 0, between, at its gate
_DEPENDENT = (
    1e-13  # an atom this close (relative, squared) to the span of the free ones cannot join them
)
_TOLERANCE = 1e-14  # on the signs of g, relative to the sum of Dᵀy
_LINE = 8  # numbers in a cache line


@jit
def fit_columns(
    G: Array,
    C: Array,
    weight: Array,
    t: Array,
    own: Array,
    Z: Array,
    state: Array,
    start: int,
    stop: int,
) -> Array:
    """Solve the columns ``start`` to ``stop`` and return Σ ω_j (φ_j − ½‖y_j‖²), and after it its gradient in t.

    Parameters
    ----------
    G : (k, k) ndarray
        DᵀD.
    C : (n, k) ndarray
        Row j is Dᵀy_j.
    weight : (n,) ndarray
        ω_j ≥ 0.
    t : (k,) ndarray
        The gates.
    own : (n,) ndarray of int
        The atom that column j itself is, or −1.
    Z, state : (n, k) ndarray of float, of int8
        The solution and where its entries sit; on entry the warm start.
    """
    k = t.shape[0]
    value = 0.0
    sums = np.zeros(1 + k)
    gradient = sums[1:]
    rows = _aligned_rows(G, 2)
    r, g = rows[k], rows[k + 1]
    L = np.empty((k, k))
    inverse = np.empty(k)
    s = np.empty(k)
    side = np.empty(k)
    free = np.empty(k + 1, np.uintp)  # unsigned: no test for negative indices in the loops
    gate = np.empty(k + 1, np.uintp)
    for j in range(start, stop):
        z = Z[j]
        c = C[j]
        _solve_column(rows, c, t, own[j], z, state[j], side, free, gate, L, inverse, s, r, g)
        at, v = state[j], weight[j]
        inner = 0.0
        for i in range(k):
            inner += z[i] * (c[i] + g[i])
        for i in range(k):  # closed: at its gate where opening it would help
            at[i] = at[i] if t[i] > 0.0 else GATE if g[i] > 0.0 else ZERO
        if own[j] >= 0:
            at[own[j]] = GATE
        for i in range(k):
            gradient[i] -= v * g[i] if at[i] == GATE else 0.0
        value -= 0.5 * weight[j] * inner
    sums[0] = value
    return sums


@jit
def curvature(G: Array, weight: Array, state: Array, start: int, stop: int) -> Array:
    """Return the Hessian of what :func:`fit_columns` has returned, (k, k), from where the entries sit.

    G_UF G_FF⁻¹ G_FU is Yᵀ diag(1/d) Y with Y = L⁻¹ G_FU. Four rows of Y at a time, so that each sum
    is read and written a quarter as often.
    """
    k = G.shape[0]
    hessian = np.zeros((k, k))
    L = np.empty((k, k))
    inverse = np.empty(k + 3)
    Y = np.empty((k + 3, k))
    r = np.empty(k)
    free = np.empty(k + 1, np.uintp)
    gate = np.empty(k + 1, np.uintp)
    for j in range(start, stop):
        q = p = 0
        for i in range(k):
            free[q] = gate[p] = i
            q += state[j, i] == FREE
            p += state[j, i] == GATE
        for a in range(q):
            _append(G, free, a, L, inverse)
        for e in range(q):
            row = G[free[e]]
            y = Y[e]
            for a in range(p):
                y[a] = row[gate[a]]
            for d in range(e):
                v = L[e, d]
                other = Y[d]
                for a in range(p):
                    y[a] -= v * other[a]
        Y[q : q + 3, :p] = inverse[q : q + 3] = 0.0
        for a in range(p):
            row = G[gate[a]]
            for b in range(a + 1):
                r[b] = row[gate[b]]
            for e in range(0, q, 4):
                y0, y1, y2, y3 = Y[e], Y[e + 1], Y[e + 2], Y[e + 3]
                v0, v1 = y0[a] * inverse[e], y1[a] * inverse[e + 1]
                v2, v3 = y2[a] * inverse[e + 2], y3[a] * inverse[e + 3]
                for b in range(a + 1):
                    r[b] -= v0 * y0[b] + v1 * y1[b] + v2 * y2[b] + v3 * y3[b]
            target = hessian[gate[a]]
            for b in range(a + 1):
                target[gate[b]] += weight[j] * r[b]
    for a in range(k):
        for b in range(a):
            hessian[b, a] = hessian[a, b]
    return hessian


@jit
def _aligned_rows(G: Array, more: int) -> Array:
    """Return G (k, k) and some rows of zeros below it, each at the start of a cache line and zero up to the end of one.

    Wherever the allocator puts an array, vectors across two lines would take two loads each.
    """
    k = G.shape[0]
    shape = k + more, -(-k // _LINE) * _LINE
    memory = np.zeros(shape[0] * shape[1] + _LINE)
    start = -(memory.ctypes.data // memory.itemsize) % _LINE
    rows = memory[start : start + shape[0] * shape[1]].reshape(shape)
    rows[:k, :k] = G
    return rows


@jit
def _solve_column(
    G: Array,
    c: Array,
    t: Array,
    own: int,
    z: Array,
    state: Array,
    side: Array,
    free: Array,
    gate: Array,
    L: Array,
    inverse: Array,
    s: Array,
    r: Array,
    g: Array,
) -> None:
    """Minimise ½zᵀGz − cᵀz over 0 ≤ z ≤ t by active sets from the warm start (z, state); on return g = c − Gz.

    G, r and g are rows of :func:`_aligned_rows`. The others are memory: ``free`` lists F, ``gate``
    what sits at an open gate; G_FF is factored as L diag(d) Lᵀ, with ``inverse`` = 1/d; ``side`` is
    1 for an entry at 0 that may rise, −1 for one at its gate that may fall, else 0.
    """
    k = t.shape[0]
    size = 0.0
    for i in range(k):
        r[i] = c[i]
        size += abs(c[i])
    tolerance = _TOLERANCE * size
    if own >= 0:
        state[own] = GATE
    for i in range(k):  # plain loops without branches: each is a few vector instructions
        state[i] = ZERO if (state[i] == FREE) & (t[i] <= 0.0) else state[i]
    for i in range(k):
        z[i] = min(max(z[i], 0.0), t[i]) if state[i] == FREE else t[i] if state[i] == GATE else 0.0
    for i in range(k):
        side[i] = (1.0 - state[i]) * (t[i] > 0.0)
    if own >= 0:
        side[own] = 0.0
    q = p = 0
    for i in range(k):
        free[q] = gate[p] = i
        q += state[i] == FREE
        p += (state[i] == GATE) & (t[i] > 0.0)
    for a in range(p):
        s[a] = t[gate[a]]
    _subtract(G, gate, s, p, r)
    rows = 0  # of L that belong to free[:rows]
    entering = -1
    for _ in range(8 * k + 20):
        while rows < q:
            if _append(G, free, rows, L, inverse):
                rows += 1
                continue
            i = free[rows]  # depends on the others: leave it at the nearer bound
            q -= 1
            for a in range(rows, q):
                free[a] = free[a + 1]
            _rest(G, t, i, z[i] > 0.5 * t[i], z, state, side, r)
        _solve(L, inverse, free, q, r, s)
        if entering >= 0 and (s[q - 1] <= 0.0 if z[entering] <= 0.0 else s[q - 1] >= t[entering]):
            # the sign of its g was rounding: put it back for good
            q -= 1
            rows = q
            _rest(G, t, entering, z[entering] > 0.0, z, state, side, r)
            g[entering] = 0.0
        else:
            step = 1.0
            hit = -1
            for a in range(q):
                i = free[a]
                if s[a] < 0.0:
                    length = z[i] / (z[i] - s[a])
                elif s[a] > t[i]:
                    length = (t[i] - z[i]) / (s[a] - z[i])
                else:
                    continue
                if hit < 0 or length < step:
                    step = length
                    hit = a
            for a in range(q):
                i = free[a]
                z[i] = s[a] if hit < 0 else min(max(z[i] + step * (s[a] - z[i]), 0.0), t[i])
            entering = -1
            if hit >= 0:
                i = free[hit]
                q -= 1
                for a in range(hit, q):
                    free[a] = free[a + 1]
                rows = min(rows, hit)
                _rest(G, t, i, s[hit] > t[i], z, state, side, r)
                continue
            g[:] = r
            _subtract(G, free, s, q, g)
        while True:
            worst = tolerance
            entering = -1
            for i in range(k):
                if side[i] * g[i] > worst:
                    worst = side[i] * g[i]
                    entering = i
            if entering < 0:
                return
            free[q] = entering
            if _append(G, free, q, L, inverse):
                break
            g[entering] = 0.0  # depends on the free ones, whose g is zero: so is its own
        if state[entering] == GATE:
            _subtract_row(G, entering, -t[entering], r)
        state[entering] = FREE
        side[entering] = 0.0
        q += 1
        rows = q


@jit
def _rest(
    G: Array, t: Array, i: int, at_gate: bool, z: Array, state: Array, side: Array, r: Array
) -> None:
    """Put entry i at a bound and take its part out of r."""
    if at_gate:
        z[i] = t[i]
        state[i] = GATE
        side[i] = -1.0
        _subtract_row(G, i, t[i], r)
    else:
        z[i] = 0.0
        state[i] = ZERO
        side[i] = 1.0


@jit
def _subtract(G: Array, index: Array, v: Array, count: int, r: Array) -> None:
    """Subtract Σ_a v_a G[index_a], a < count, from r."""
    for a in range(count):
        row, x = G[index[a]], v[a]
        for e in range(G.shape[1]):
            r[e] -= x * row[e]


@jit
def _subtract_row(G: Array, i: int, v: float, r: Array) -> None:
    row = G[i]
    for e in range(r.shape[0]):
        r[e] -= v * row[e]


@jit
def _append(G: Array, free: Array, a: int, L: Array, inverse: Array) -> bool:
    """Compute row a of the factors L diag(d) Lᵀ of G_FF; False if the atom free[a] depends on the earlier ones."""
    row = G[free[a]]
    new = L[a]
    for b in range(a):
        v = row[free[b]]
        old = L[b]
        for e in range(b):
            v -= new[e] * old[e]
        new[b] = v
    d = row[free[a]]
    for b in range(a):
        v = new[b] * inverse[b]
        d -= v * new[b]
        new[b] = v
    if not d > _DEPENDENT * row[free[a]]:
        return False
    inverse[a] = 1.0 / d
    return True


@jit
def _solve(L: Array, inverse: Array, free: Array, q: int, r: Array, s: Array) -> None:
    """Solve L diag(d) Lᵀ s = r_F."""
    for a in range(q):
        v = r[free[a]]
        row = L[a]
        for e in range(a):
            v -= row[e] * s[e]
        s[a] = v
    for a in range(q):
        s[a] *= inverse[a]
    for a in range(q - 1, 0, -1):
        v = s[a]
        row = L[a]
        for e in range(a):
            s[e] -= row[e] * v
