"""The factors L diag(d) Lᵀ of a part G_FF of a Gram matrix, and sums of rows of the matrix.

The indices F are listed in ``free``; ``inverse`` holds 1/d.
"""

from selfdict._validation import Array
from selfdict.kernels.jit import helper

# An atom whose squared distance to the span of the free ones is below this, relative to its squared
# norm, cannot join them.
_DEPENDENT_ATOM = 1e-13


@helper
def subtract_rows(G: Array, index: Array, v: Array, count: int, r: Array) -> None:
    """Subtract Σ_a v_a G[index_a], a < count, from r."""
    for a in range(count):
        row = G[index[a]]
        x = v[a]
        for e in range(G.shape[1]):
            r[e] -= x * row[e]


@helper
def subtract_row(G: Array, i: int, v: float, r: Array) -> None:
    """Subtract v G[i] from r."""
    row = G[i]
    for e in range(r.shape[0]):
        r[e] -= v * row[e]


@helper
def factor_row(G: Array, free: Array, a: int, L: Array, inverse: Array) -> bool:
    """Compute row a of the factors L diag(d) Lᵀ of G_FF.

    Return False if the atom free[a] depends on those before it.
    """
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
def solve_factored(L: Array, inverse: Array, free: Array, q: int, r: Array, s: Array) -> None:
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
