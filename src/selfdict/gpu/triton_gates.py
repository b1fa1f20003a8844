# Triton's language has no types.
# mypy: ignore-errors
"""The columns of model (6) within their gates as Triton kernels, with one program per column.

Notation and method are those of :mod:`selfdict.kernels.gates`: one entry at a time enters or leaves
the free set F of a column. The entries of F lie in slots. A square tile in registers, with a row
per slot, holds P = G_FF⁻¹; the rows and columns of empty slots are zero. An entry that enters or
leaves changes P by a matrix of rank one.

The gradient g = c − G z is kept up to date. P g_F is then the step to the minimiser on F. What P
has lost by rounding, the next step corrects, and g_F says whether that has worked. A column for
which it has not is to be started again from where it is, with a new P.
"""

from selfdict._imports import optional
from selfdict.compute.device import Tensor

triton = optional("triton")
tl = optional("triton.language")

# What has become of a column.
SOLVED = tl.constexpr(0)
TOO_MANY_FREE = tl.constexpr(1)  # more free entries than slots
INACCURATE = tl.constexpr(2)  # no solution, or none that is accurate
_RUNNING = tl.constexpr(3)

_TOLERANCE = tl.constexpr(1e-14)  # on the signs of g, relative to the sum of |c|
_ACCEPTED = tl.constexpr(10.0)  # multiple of this tolerance below which g_F counts as zero
_CORRECTIONS = tl.constexpr(3)  # steps that may be taken to bring g_F below the tolerance
_DEPENDENT_ATOM = tl.constexpr(1e-13)  # as in selfdict.kernels.gates
_SMALLEST_BLOCK = 256  # entries of a vector per atom; each power of two from here on is compiled
_ZERO = tl.constexpr(0)
_FREE = tl.constexpr(1)
_GATE = tl.constexpr(2)


def exchange(
    G: Tensor,  # (k, k): products of the atoms
    t: Tensor,  # (k,): the gates
    C: Tensor,  # (n, k): products of the columns with the atoms
    own: Tensor,  # (n,): the atom that a column itself is, or −1
    Z: Tensor,  # (n, k): the entries, within their bounds; overwritten
    state: Tensor,  # (n, k) of int8: where they are; overwritten
    g: Tensor,  # (n, k): C − Z G; overwritten
    columns: Tensor,  # (l,): which columns to solve
    slots: int,  # how many entries of a column may be free, a power of two
) -> Tensor:
    """Exchange free entries of some columns until these are solved; return what became of each.

    Z, state and g belong together in any case.
    """
    k = len(t)
    outcome = state.new_empty(len(columns))
    _exchange[(len(columns),)](
        G,
        t,
        C,
        own,
        Z,
        state,
        g,
        columns,
        outcome,
        k,
        8 * k + 20,
        K=_block(k),
        Q=slots,
        num_warps=_warps(k, slots),
    )
    return outcome


def curvature_rows(
    G: Tensor, weight: Tensor, state: Tensor, columns: Tensor, first: Tensor, W: Tensor, slots: int
) -> None:
    """Write W (r, k) with WᵀW = Σ_j ω_j G_UF G_FF⁻¹ G_FU, summed over some columns j.

    ``first`` (l,) is the first row of W that belongs to each column, which has one for each of its
    free entries.
    """
    k = len(G)
    _curvature_rows[(len(columns),)](
        G, weight, state, columns, first, W, k, K=_block(k), Q=slots, num_warps=_warps(k, slots)
    )


def _block(k: int) -> int:
    """Return the length of the vectors with an entry per atom."""
    return max(_SMALLEST_BLOCK, triton.next_power_of_2(k))


def _warps(k: int, slots: int) -> int:
    """Return how many warps share a column: a thread holds 32 numbers of the tile."""
    return max(1, slots * slots // 1024, _block(k) // 512)


@triton.jit
def _at(x, index, s):
    """Return the entry of x whose index is s."""
    return tl.sum(tl.where(index == s, x, 0))


@triton.jit
def _first(condition, index, otherwise):
    """Return the first index for which a condition holds."""
    return tl.min(tl.where(condition, index, otherwise))


@triton.jit
def _product(P, x):
    """Return P x; P is symmetric, and a thread holds one of its columns."""
    return tl.sum(P * x[:, None], axis=0)


@triton.jit
def _border(G, k, e, P, free):
    """Return P G_Fe, the squared distance of atom e to the span of F, and whether that is zero."""
    a = tl.load(G + e * k + free, mask=free >= 0, other=0.0)
    u = _product(P, a)
    square = tl.load(G + e * k + e)
    distance = square - tl.sum(u * a)
    return u, distance, distance <= square * _DEPENDENT_ATOM


@triton.jit
def _enter(P, u, distance, slot, s):
    """Return P after an atom with the border u has entered slot s."""
    v = tl.where(slot == s, -1.0, u)
    return P + (v / distance)[:, None] * v[None, :]


@triton.jit
def _leave(P, slot, s):
    """Return P after slot s has become empty."""
    in_row = slot[:, None] == s
    in_column = slot[None, :] == s
    v = tl.sum(tl.where(in_row, P, 0.0), axis=0)
    P -= (v / _at(v, slot, s))[:, None] * v[None, :]
    return tl.where(in_row | in_column, 0.0, P)


@triton.jit
def _subtract_row(G, k, e, x, i, free, g, g_free):
    """Subtract x G_e from g and from g_F."""
    g -= x * tl.load(G + e * k + i, mask=i < k, other=0.0)
    g_free -= x * tl.load(G + e * k + free, mask=free >= 0, other=0.0)
    return g, g_free


@triton.jit
def _subtract_rows(G, k, x, i, slot, free, g, g_free):
    """Subtract G_F x from g and from g_F, for x with an entry per slot."""
    for s in range(0, tl.max(tl.where(free >= 0, slot + 1, 0))):
        # In an empty slot x is zero: any atom will do.
        e = tl.maximum(_at(free, slot, s), 0)
        g, g_free = _subtract_row(G, k, e, _at(x, slot, s), i, free, g, g_free)
    return g, g_free


@triton.jit
def _first_free_set(G, t, Z, k, i, slot, st, g, Q: tl.constexpr):
    """Put the entries that are free at the start into slots, those of dependent atoms at a bound.

    ``Z`` points to the entries of the column. The last result is the outcome so far.
    """
    P = tl.zeros((Q, Q), tl.float64)
    free = tl.full((Q,), -1, tl.int32)
    z = tl.zeros((Q,), tl.float64)
    g_free = tl.zeros((Q,), tl.float64)
    outcome = _RUNNING
    e = _first(st == _FREE, i, k)
    while e < k:
        u, distance, is_dependent = _border(G, k, e, P, free)
        s = _first(free < 0, slot, Q)
        value = tl.load(Z + e)
        if is_dependent:
            gate = tl.load(t + e)
            is_high = value > 0.5 * gate  # the nearer bound
            st = tl.where(i == e, tl.where(is_high, _GATE, _ZERO), st)
            change = tl.where(is_high, gate, 0.0) - value
            g, g_free = _subtract_row(G, k, e, change, i, free, g, g_free)
        elif s == Q:
            outcome = TOO_MANY_FREE
        else:
            P = _enter(P, u, distance, slot, s)
            free = tl.where(slot == s, e, free)
            z = tl.where(slot == s, value, z)
            g_free = tl.where(slot == s, _at(g, i, e), g_free)
        e = _first((st == _FREE) & (i > e), i, k)
        if outcome != _RUNNING:
            e = k
    return st, g, P, free, z, g_free, outcome


@triton.jit
def _blocked_step(z, d, upper, slot, Q: tl.constexpr):
    """Return how far z may move along d, the slot that stops it at a bound, and at which.

    A step of 2 means that z + d is within the bounds.
    """
    below = z + d < 0.0
    above = z + d > upper
    room = tl.where(below, z, tl.where(above, upper - z, 2.0))
    length = room / tl.where(below, -d, tl.where(above, d, 1.0))
    step = tl.min(length)
    hit = _first(length == step, slot, Q)
    return step, hit, _at(d, slot, hit) > 0.0


@triton.jit
def _move(G, t, k, i, slot, st, g, P, free, z, g_free, entering, Q: tl.constexpr):
    """Move to the minimiser on F, or until an entry is at a bound: it leaves F.

    ``entering`` is the slot of an entry that has just left its bound, or −1. If it would go beyond
    this bound, the sign of its g was rounding: it leaves F again, and its index is returned, or −1.
    """
    upper = tl.load(t + free, mask=free >= 0, other=0.0)
    d = _product(P, g_free)
    step, hit, at_gate = _blocked_step(z, d, upper, slot, Q)
    turned_back = -1
    if (entering >= 0) & (_at(d, slot, entering) * _at(g_free, slot, entering) <= 0.0):
        turned_back = _at(free, slot, entering)
        step = 0.0 * step
        hit = entering
        at_gate = _at(z, slot, entering) > 0.0
    is_hit = step <= 1.0
    new = tl.minimum(tl.maximum(z + tl.minimum(step, 1.0) * d, 0.0), upper)
    new = tl.where(slot == tl.where(is_hit, hit, -1), tl.where(at_gate, upper, 0.0), new)
    g, g_free = _subtract_rows(G, k, new - z, i, slot, free, g, g_free)
    z = new
    if is_hit:
        st = tl.where(i == _at(free, slot, hit), tl.where(at_gate, _GATE, _ZERO), st)
        P = _leave(P, slot, hit)
        free = tl.where(slot == hit, -1, free)
        z = tl.where(slot == hit, 0.0, z)
        g_free = tl.where(slot == hit, 0.0, g_free)
    return st, g, P, free, z, g_free, is_hit, turned_back


@triton.jit
def _choose(
    G, k, i, slot, st, g, gate, P, free, z, g_free, fixed, banned, tolerance, Q: tl.constexpr
):
    """Let the entry leave its bound that gains most, unless it is banned; return its slot, or −1.

    Entries whose atoms depend on F are banned: their g is zero, as it is on F. The last results are
    the gain of entries that are banned, and the outcome of the column so far.
    """
    gain = tl.where(fixed | (st == _FREE), 0.0, tl.where(st == _GATE, -g, g))
    hidden = tl.max(tl.where(banned, gain, 0.0))
    gain = tl.where(banned, 0.0, gain)
    largest = tl.max(gain)
    e = tl.minimum(_first(gain == largest, i, k), k - 1)
    u, distance, is_dependent = _border(G, k, e, P, free)
    s = _first(free < 0, slot, Q)
    entering = -1
    outcome = _RUNNING
    if largest <= tolerance:
        outcome = SOLVED
    elif is_dependent:
        banned = banned | (i == e)
    elif s == Q:
        outcome = TOO_MANY_FREE
    else:
        P = _enter(P, u, distance, slot, s)
        free = tl.where(slot == s, e, free)
        from_gate = _at(st, i, e) == _GATE
        z = tl.where(slot == s, tl.where(from_gate, _at(gate, i, e), 0.0), z)
        g_free = tl.where(slot == s, _at(g, i, e), g_free)
        st = tl.where(i == e, _FREE, st)
        entering = s
    return st, P, free, z, g_free, banned, entering, hidden, outcome


@triton.jit
def _store_entries(Z, k, i, st, gate, free, z):
    """Write the entries of a column; free ones for which there was no slot have not moved."""
    tl.store(Z + i, tl.where(st == _GATE, gate, 0.0), mask=(i < k) & (st != _FREE))
    tl.store(Z + free, z, mask=free >= 0)


# Triton would compile again for a k that is divisible by 16.
@triton.jit(do_not_specialize=["k", "limit"])
def _exchange(
    G, t, C, own, Z, state, slopes, columns, outcomes, k, limit, K: tl.constexpr, Q: tl.constexpr
):
    j = tl.load(columns + tl.program_id(0))
    i = tl.arange(0, K)
    slot = tl.arange(0, Q)
    gate = tl.load(t + i, mask=i < k, other=0.0)
    st = tl.load(state + j * k + i, mask=i < k, other=_ZERO).to(tl.int32)
    g = tl.load(slopes + j * k + i, mask=i < k, other=0.0)
    # A tensor times a constant, in this order: Triton's interpreter does not know the other one.
    tolerance = tl.sum(tl.abs(tl.load(C + j * k + i, mask=i < k, other=0.0))) * _TOLERANCE
    is_own = i == tl.load(own + j)
    fixed = is_own | (gate <= 0.0)
    st, g, P, free, z, g_free, outcome = _first_free_set(G, t, Z + j * k, k, i, slot, st, g, Q)
    banned = fixed  # entries that cannot leave their bound, as far as is known
    entering = -1
    n_left = 0  # how many entries have left F: P loses digits by each
    corrections = 0
    rounds = 0
    while outcome == _RUNNING:
        has_entered = entering >= 0
        st, g, P, free, z, g_free, is_hit, turned_back = _move(
            G, t, k, i, slot, st, g, P, free, z, g_free, entering, Q
        )
        entering = -1
        n_left += tl.where(is_hit, 1, 0)
        if turned_back >= 0:
            banned = banned | (i == turned_back)
        elif is_hit | has_entered:
            banned = fixed
            corrections = 0
        rest = tl.max(tl.abs(g_free))
        if (rest > tolerance) & (corrections < _CORRECTIONS):
            corrections += 1
        elif not is_hit:
            st, P, free, z, g_free, banned, entering, hidden, outcome = _choose(
                G, k, i, slot, st, g, gate, P, free, z, g_free, fixed, banned, tolerance, Q
            )
            # Whether an atom depends on F, or an entry turns back, only an accurate P can tell.
            is_doubtful = (rest > tolerance * _ACCEPTED) | ((n_left > 0) & (hidden > tolerance))
            if (outcome == SOLVED) & is_doubtful:
                outcome = INACCURATE
        rounds += 1
        if (outcome == _RUNNING) & (rounds == limit):
            outcome = INACCURATE
    _store_entries(Z + j * k, k, i, st, gate, free, z)
    tl.store(slopes + j * k + i, g, mask=i < k)
    # A closed gate is binding where the entry would grow, and in the atom's own column.
    st = tl.where(gate > 0.0, st, tl.where(g > 0.0, _GATE, _ZERO))
    tl.store(state + j * k + i, tl.where(is_own, _GATE, st).to(tl.int8), mask=i < k)
    tl.store(outcomes + tl.program_id(0), outcome)


@triton.jit(do_not_specialize=["k"])
def _curvature_rows(G, weight, state, columns, first, W, k, K: tl.constexpr, Q: tl.constexpr):
    j = tl.load(columns + tl.program_id(0))
    i = tl.arange(0, K)
    slot = tl.arange(0, Q)
    st = tl.load(state + j * k + i, mask=i < k, other=_ZERO)
    row = tl.load(first + tl.program_id(0))
    P = tl.zeros((Q, Q), tl.float64)
    free = tl.full((Q,), -1, tl.int32)
    g_free = tl.zeros((Q,), tl.float64)
    s = 0
    e = _first(st == _FREE, i, k)
    while e < k:
        # What is left of G_e beside the atoms before it: a row of L⁻¹ G_F.
        u, distance, is_dependent = _border(G, k, e, P, free)
        y = tl.load(G + e * k + i, mask=(i < k) & (st == _GATE), other=0.0)
        y, g_free = _subtract_rows(G, k, u, i, slot, free, y, g_free)
        factor = tl.sqrt(tl.load(weight + j) / tl.where(is_dependent, 1.0, distance))
        y = tl.where(st == _GATE, y * tl.where(is_dependent, 0.0, factor), 0.0)
        tl.store(W + (row + s) * k + i, y, mask=i < k)
        if not is_dependent:
            P = _enter(P, u, distance, slot, s)
            free = tl.where(slot == s, e, free)
        s += 1
        e = _first((st == _FREE) & (i > e), i, k)
