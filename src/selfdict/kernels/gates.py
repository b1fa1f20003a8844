"""The columns of model (6) for given gates, and the derivatives of the fit by the gates.

On a working set of k atoms, in the coordinates z_ij = x_ij w_i/w_j, column j is

    φ_j(t) = min ½‖y_j − D z‖²  over  0 ≤ z ≤ t,

with the atoms D and the column y_j scaled to w = 1. All columns share the bounds t ∈ [0, 1]^k, the
gates. An atom's own column has its entry tied to the gate: z_i = t_i. With F the free entries of a
column, U those at their gate, g = Dᵀ(y − D z) and G = DᵀD, the derivatives are

    ∂φ/∂t_U = −g_U  and  ∂²φ/∂t_U² = G_UU − G_UF G_FF⁻¹ G_FU.

The factor G_FF = L diag(d) Lᵀ is computed row by row.
"""

from typing import NamedTuple

import numpy as np

from selfdict._validation import Array
from selfdict.kernels.jit import aligned_zeros, helper, inlined, int64, jit

# Where an entry of z is: at 0, between its bounds, at its gate.
ZERO = 0
FREE = 1
GATE = 2

# An atom whose squared distance to the span of the free ones is below this, relative to its squared
# norm, cannot join them.
_DEPENDENT_ATOM = 1e-13


class _Memory(NamedTuple):
    """Arrays that the columns share: G, and the state of the column that is being solved."""

    t: Array
    G: Array  # aligned rows with zeros at their ends, like r and g
    r: Array  # c − G_U t_U: what is left for the free entries
    g: Array  # c − G z
    free: Array  # F, in order of entry
    gate: Array  # the entries at a gate t_i > 0
    L: Array
    inverse: Array  # 1 / d
    s: Array  # the minimiser on F, without bounds
    side: Array  # 1 for an entry at 0 that may rise, −1 for one at its gate that may fall, else 0


def fit_columns(
    G: Array,  # (k, k): DᵀD
    C: Array,  # (n, k): row j is Dᵀy_j
    weight: Array,  # (n,): ω_j ≥ 0
    t: Array,  # (k,): the gates
    own: Array,  # (n,): the atom that column j itself is, or −1
    Z: Array,  # (n, k): the solution; on entry the warm start, like the state
    state: Array,  # (n, k) int8: where the entries are
) -> Array:
    """Solve columns; return Σ ω_j (φ_j − ½‖y_j‖²), and the k entries of its gradient in t."""
    k = t.shape[0]
    sums = np.zeros(1 + k)
    vectors = aligned_zeros(2 * k + 5, k)
    vectors[:k, :k] = G
    entries = np.empty((2, k + 1), np.uintp)  # unsigned: no test for negative indices in the loops
    _fit_columns(C, weight, t, own, Z, state, vectors, entries, sums)
    return sums


@jit
def _fit_columns(
    C: Array,
    weight: Array,
    t: Array,
    own: Array,
    Z: Array,
    state: Array,
    vectors: Array,
    entries: Array,
    sums: Array,
) -> None:
    k = t.shape[0]
    memory = _Memory(
        t=t,
        G=vectors[:k],
        r=vectors[k],
        g=vectors[k + 1],
        free=entries[0],
        gate=entries[1],
        L=vectors[k + 5 :],
        inverse=vectors[k + 2],
        s=vectors[k + 3],
        side=vectors[k + 4],
    )
    free = memory.free
    r = memory.r
    g = memory.g
    s = memory.s
    for j in range(C.shape[0]):
        # Minimise ½zᵀGz − cᵀz over 0 ≤ z ≤ t by active sets from the warm start.
        z = Z[j]
        states = state[j]
        c = C[j]
        factor = 1.0
        if own[j] >= 0:
            # y_j is an atom itself: c − G_i t_i without the difference of two large numbers, since
            # the weight of a column that is much longer than others would magnify its rounding
            c = memory.G[own[j]]
            factor = 1.0 - t[own[j]]
        size = 0.0
        for i in range(k):
            r[i] = factor * c[i]
            size += abs(r[i])
        tolerance = 1e-14 * size  # on the signs of g
        q = _warm_start(memory, own[j], z, states)
        rows = 0  # of L that belong to free[:rows]
        entering = -1
        direction = 0.0  # in which that entry leaves its bound
        for _ in range(8 * k + 20):
            q = _extend_factor(memory, z, states, q, rows)
            _solve_factored(memory.L, memory.inverse, free, q, r, s)
            if entering >= 0 and direction * (s[q - 1] - z[entering]) <= 0.0:
                # It turns back. The sign of its g was rounding: put it back for good.
                q = _put_at_bound(memory, int64(q - 1), int64(q), direction < 0.0, z, states)
                g[entering] = 0.0
            else:
                hit = _move(memory, q, z)
                entering = -1
                if hit >= 0:
                    at_gate = s[hit] > t[free[hit]]
                    q = _put_at_bound(memory, int64(hit), int64(q), at_gate, z, states)
                    rows = hit
                    continue
                for e in range(r.shape[0]):
                    g[e] = r[e]
                _subtract_rows(memory.G, free, s, q, g)
            entering = _entering(memory, q, tolerance)
            if entering < 0:
                break
            direction = memory.side[entering]
            if states[entering] == GATE:
                _subtract_row(memory.G, int64(entering), -t[entering], r)
            states[entering] = FREE
            memory.side[entering] = 0.0
            q += 1
            rows = q
        inner = 0.0
        for i in range(k):
            inner += z[i] * (C[j, i] + g[i])
        sums[0] -= weight[j] * (0.5 * inner)
        _add_gradient(memory, own[j], weight[j], states, sums[1:])


@inlined
def _warm_start(memory: _Memory, own: int, z: Array, state: Array) -> int:
    """Bring z within its bounds, list F and the entries at a gate, complete r; return |F|."""
    t = memory.t
    k = t.shape[0]
    if own >= 0:
        state[own] = GATE
    # Plain loops without branches: each becomes a few vector instructions.
    for i in range(k):
        state[i] = ZERO if (state[i] == FREE) & (t[i] <= 0.0) else state[i]
    for i in range(k):
        value = 0.0
        if state[i] == FREE:
            value = min(max(z[i], 0.0), t[i])
        elif state[i] == GATE:
            value = t[i]
        z[i] = value
    for i in range(k):
        memory.side[i] = (1.0 - state[i]) * ((t[i] > 0.0) & (i != own))
    q = p = 0
    # Write before the test: no branch, and an entry too many is overwritten.
    for i in range(k):
        memory.free[q] = memory.gate[p] = i
        q += state[i] == FREE
        p += (state[i] == GATE) & (t[i] > 0.0) & (i != own)
    for a in range(p):
        memory.s[a] = t[memory.gate[a]]
    _subtract_rows(memory.G, memory.gate, memory.s, int64(p), memory.r)
    return q


@inlined
def _extend_factor(memory: _Memory, z: Array, state: Array, q: int, rows: int) -> int:
    """Compute the missing rows of L, put dependent atoms at a bound; return |F|."""
    while rows < q:
        if _factor_row(memory.G, memory.free, int64(rows), memory.L, memory.inverse):
            rows += 1
            continue
        i = memory.free[rows]
        at_gate = z[i] > 0.5 * memory.t[i]  # the nearer bound
        q = _put_at_bound(memory, int64(rows), int64(q), at_gate, z, state)
    return q


@inlined
def _move(memory: _Memory, q: int, z: Array) -> int:
    """Go from z towards s until an entry hits a bound; return its position in F, or −1."""
    t = memory.t
    free = memory.free
    s = memory.s
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
        if hit < 0:
            z[i] = s[a]
        else:
            z[i] = min(max(z[i] + step * (s[a] - z[i]), 0.0), t[i])
    return hit


@inlined
def _entering(memory: _Memory, q: int, tolerance: float) -> int:
    """Return the entry that leaves its bound, as free[q] and with its row of L, or −1."""
    g = memory.g
    side = memory.side
    entering = 0
    while entering >= 0:
        largest = tolerance
        entering = -1
        for i in range(memory.t.shape[0]):
            if side[i] * g[i] > largest:
                largest = side[i] * g[i]
                entering = i
        if entering >= 0:
            memory.free[q] = entering
            if _factor_row(memory.G, memory.free, q, memory.L, memory.inverse):
                break
            # Its atom depends on the free ones, whose g is zero: so is its own.
            g[entering] = 0.0
    return entering


@helper
def _put_at_bound(memory: _Memory, a: int, q: int, at_gate: bool, z: Array, state: Array) -> int:
    """Take an entry from its position in F and put it at its gate or at 0; return |F|."""
    free = memory.free
    i = free[a]
    for b in range(a, q - 1):
        free[b] = free[b + 1]
    z[i] = 0.0
    state[i] = ZERO
    memory.side[i] = 1.0
    if at_gate:
        z[i] = memory.t[i]
        state[i] = GATE
        memory.side[i] = -1.0
        _subtract_row(memory.G, int64(i), z[i], memory.r)
    return q - 1


@inlined
def _add_gradient(memory: _Memory, own: int, weight: float, state: Array, gradient: Array) -> None:
    """Add the derivatives of a column, times its weight, and set the states of closed gates."""
    g = memory.g
    k = memory.t.shape[0]
    for i in range(k):
        # An entry with t_i = 0 sits at both bounds. It counts as at its gate if opening the gate
        # would lower φ.
        closed = GATE if g[i] > 0.0 else ZERO
        state[i] = state[i] if (memory.t[i] > 0.0) | (i == own) else closed
    for i in range(k):
        slope = 0.0
        if state[i] == GATE:
            slope = weight * g[i]
        gradient[i] -= slope


@helper
def _subtract_row(G: Array, i: int, v: float, r: Array) -> None:
    """Subtract v G[i] from r."""
    row = G[i]
    for e in range(r.shape[0]):
        r[e] -= v * row[e]


@helper
def _subtract_rows(G: Array, index: Array, v: Array, count: int, r: Array) -> None:
    """Subtract Σ_a v_a G[index_a], a < count, from r."""
    for a in range(count):
        row = G[index[a]]
        x = v[a]
        for e in range(G.shape[1]):
            r[e] -= x * row[e]


@helper
def _factor_row(G: Array, free: Array, a: int, L: Array, inverse: Array) -> bool:
    """Compute row a of the factors L diag(d) Lᵀ of G_FF; return False for a dependent atom."""
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
    if not d > _DEPENDENT_ATOM * row[free[a]]:
        return False
    inverse[a] = 1.0 / d
    return True


@helper
def _solve_factored(L: Array, inverse: Array, free: Array, q: int, r: Array, s: Array) -> None:
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


def curvature(G: Array, weight: Array, state: Array) -> Array:
    """Return the Hessian (k, k) of the value of :func:`fit_columns`, from where the entries are."""
    k = G.shape[0]
    hessian = np.zeros((k, k))
    vectors = np.zeros((2 * k + 5, k + 3))  # finite where rows of Y are read beyond F
    entries = np.empty((2, k + 1), np.uintp)
    _add_curvature(G, weight, state, vectors, entries, hessian)
    return hessian + np.tril(hessian, -1).T


@jit
def _add_curvature(
    G: Array, weight: Array, state: Array, vectors: Array, entries: Array, hessian: Array
) -> None:
    """Add the lower triangle of the Hessian to ``hessian``."""
    # G_UF G_FF⁻¹ G_FU is Yᵀ diag(1/d) Y with Y = L⁻¹ G_FU. Four rows of Y at a time, so that each
    # sum is read and written a quarter as often.
    k = G.shape[0]
    L = vectors[:k]
    Y = vectors[k : 2 * k + 3]
    r = vectors[2 * k + 3]
    inverse = vectors[2 * k + 4]
    free = entries[0]
    gate = entries[1]
    for j in range(state.shape[0]):
        q = p = 0
        for i in range(k):
            free[q] = gate[p] = i
            q += state[j, i] == FREE
            p += state[j, i] == GATE
        for a in range(q):
            _factor_row(G, free, a, L, inverse)
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
        for e in range(q, q + 3):  # up to three rows beyond F, in fours
            inverse[e] = 0.0
        for a in range(p):
            row = G[gate[a]]
            for b in range(a + 1):
                r[b] = row[gate[b]]
            for e in range(0, q, 4):
                y0 = Y[e]
                y1 = Y[e + 1]
                y2 = Y[e + 2]
                y3 = Y[e + 3]
                v0 = y0[a] * inverse[e]
                v1 = y1[a] * inverse[e + 1]
                v2 = y2[a] * inverse[e + 2]
                v3 = y3[a] * inverse[e + 3]
                for b in range(a + 1):
                    r[b] -= v0 * y0[b] + v1 * y1[b] + v2 * y2[b] + v3 * y3[b]
            target = hessian[gate[a]]
            for b in range(a + 1):
                target[gate[b]] += weight[j] * r[b]
