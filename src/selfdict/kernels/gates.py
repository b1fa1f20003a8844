"""The columns of model (6) for given gates, and the derivatives of the fit by the gates.

On a working set of k atoms, in the coordinates z_ij = x_ij w_i/w_j, column j is

    φ_j(t) = min ½‖y_j − D z‖²  over  0 ≤ z ≤ t,

with the atoms D and the column y_j scaled to w = 1. All columns share the bounds t ∈ [0, 1]^k, the gates. An atom's own
column has its entry tied to the gate: z_i = t_i. With F the free entries of a column, U those at their gate
and g = Dᵀ(y − D z), the derivatives are ∂φ/∂t_U = −g_U and ∂²φ/∂t_U² = G_UU − G_UF G_FF⁻¹ G_FU, G = DᵀD.
"""

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import jit

ZERO, FREE, GATE = 0, 1, 2  # where an entry of z sits: at 0, between, at its gate
_DEPENDENT = 1e-13  # an atom this close (relative, squared) to the span of the free ones cannot join them
_TOLERANCE = 1e-13  # on the signs of g, relative to the largest entry of Dᵀy


@jit
def fit_columns(
    G: Array, C: Array, weight: Array, t: Array, own: Array, Z: Array, state: Array, start: int, stop: int
) -> tuple[float, Array]:
    """Solve the columns ``start`` to ``stop`` and return Σ ω_j (φ_j − ½‖y_j‖²) and its gradient in t.

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
    gradient = np.zeros(k)
    L = np.empty((k, k))
    inverse = np.empty(k)
    s = np.empty(k)
    r = np.empty(k)
    g = np.empty(k)
    free = np.empty(k, np.uintp)  # unsigned: no test for negative indices in the loops
    for j in range(start, stop):
        z = Z[j]
        c = C[j]
        solve_column(G, c, t, own[j], z, state[j], free, L, inverse, s, r, g)
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
    return value, gradient


@jit
def curvature(G: Array, weight: Array, state: Array, start: int, stop: int) -> Array:
    """Return the Hessian of what :func:`fit_columns` has returned, (k, k), from where the entries sit.

    Four rows of Y = L⁻¹ G_FU at a time, so that each sum is read and written a quarter as often.
    """
    k = G.shape[0]
    hessian = np.zeros((k, k))
    L = np.empty((k, k))
    inverse = np.empty(k)
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
            v = inverse[e]
            for a in range(p):
                y[a] *= v
        Y[q : q + 3, :p] = 0.0
        for a in range(p):
            row = G[gate[a]]
            for b in range(a + 1):
                r[b] = row[gate[b]]
            for e in range(0, q, 4):
                y0, y1, y2, y3 = Y[e], Y[e + 1], Y[e + 2], Y[e + 3]
                v0, v1, v2, v3 = y0[a], y1[a], y2[a], y3[a]
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
def solve_column(
    G: Array,
    c: Array,
    t: Array,
    own: int,
    z: Array,
    state: Array,
    free: Array,
    L: Array,
    inverse: Array,
    s: Array,
    r: Array,
    g: Array,
) -> int:
    """Minimise ½zᵀGz − cᵀz over 0 ≤ z ≤ t by active sets from the warm start (z, state); return the size of F.

    On return g = c − Gz, ``free`` lists F, and L with ``inverse`` (of its diagonal) is the Cholesky factor of G_FF.
    """
    k = t.shape[0]
    q = 0
    size = 0.0
    for i in range(k):
        r[i] = c[i]
        size = max(size, abs(c[i]))
    tolerance = _TOLERANCE * size
    for i in range(k):
        if i == own:
            state[i] = GATE
        elif state[i] == FREE and t[i] <= 0.0:
            state[i] = ZERO
        if state[i] == FREE:
            free[q] = i
            q += 1
            z[i] = min(max(z[i], 0.0), t[i])
        elif state[i] == GATE:
            z[i] = t[i]
            if t[i] > 0.0:
                for e in range(k):
                    r[e] -= t[i] * G[i, e]
        else:
            z[i] = 0.0
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
            _rest(G, t, i, z[i] > 0.5 * t[i], z, state, r)
        _solve(L, inverse, free, q, r, s)
        if entering >= 0 and (s[q - 1] <= 0.0 if z[entering] <= 0.0 else s[q - 1] >= t[entering]):
            # the sign of its g was rounding: put it back for good
            q -= 1
            rows = q
            _rest(G, t, entering, z[entering] > 0.0, z, state, r)
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
                _rest(G, t, i, s[hit] > t[i], z, state, r)
                continue
            for i in range(k):
                g[i] = r[i]
            for a in range(q):
                v = z[free[a]]
                row = G[free[a]]
                for i in range(k):
                    g[i] -= v * row[i]
        while True:
            worst = tolerance
            entering = -1
            for i in range(k):
                if state[i] != FREE and i != own and t[i] > 0.0:
                    v = g[i] if state[i] == ZERO else -g[i]
                    if v > worst:
                        worst = v
                        entering = i
            if entering < 0:
                return q
            free[q] = entering
            if _append(G, free, q, L, inverse):
                break
            g[entering] = 0.0  # depends on the free ones, whose g is zero: so is its own
        if state[entering] == GATE:
            v = t[entering]
            for e in range(k):
                r[e] += v * G[entering, e]
        state[entering] = FREE
        q += 1
        rows = q
    return q


@jit
def _rest(G: Array, t: Array, i: int, at_gate: bool, z: Array, state: Array, r: Array) -> None:
    """Put entry i at a bound and take its part out of r."""
    if at_gate:
        z[i] = t[i]
        state[i] = GATE
        for e in range(r.shape[0]):
            r[e] -= t[i] * G[i, e]
    else:
        z[i] = 0.0
        state[i] = ZERO


@jit
def _append(G: Array, free: Array, a: int, L: Array, inverse: Array) -> bool:
    """Compute row a of the factor of G_FF; False if the atom free[a] depends on the earlier ones."""
    row = G[free[a]]
    square = row[free[a]]
    for b in range(a):
        v = row[free[b]]
        for e in range(b):
            v -= L[a, e] * L[b, e]
        v *= inverse[b]
        L[a, b] = v
        square -= v * v
    if not square > _DEPENDENT * row[free[a]]:
        return False
    L[a, a] = np.sqrt(square)
    inverse[a] = 1.0 / L[a, a]
    return True


@jit
def _solve(L: Array, inverse: Array, free: Array, q: int, r: Array, s: Array) -> None:
    """Solve L Lᵀ s = r_F."""
    for a in range(q):
        v = r[free[a]]
        for e in range(a):
            v -= L[a, e] * s[e]
        s[a] = v * inverse[a]
    for a in range(q - 1, -1, -1):
        s[a] *= inverse[a]
        for e in range(a):
            s[e] -= L[a, e] * s[a]
