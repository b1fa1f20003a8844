"""Nonnegative least squares for many columns at once, by block principal pivoting on batches."""

from selfdict._optional import optional
from selfdict.compute.device import Tensor

# Entries of the normal matrices that are factored at a time: 512 MiB of float64.
_BATCH_ENTRIES = 1 << 26
# How often exchanging all wrong signs of a column may fail to lower their number, before only one
# sign is exchanged at a time.
_FULL_EXCHANGES = 3


def solve_columns(G: Tensor, C: Tensor) -> tuple[Tensor, Tensor]:
    """Minimise ½xᵀGx − cᵀx over x ≥ 0 for every column c of C (r, n).

    G (r, r) is positive definite, with a diagonal of about one. The second result (n,) tells
    whether the signs of x and of c − Gx are those of the solution; if not, X is only near it.
    """
    torch = optional("torch")
    r, n = C.shape
    X = torch.linalg.solve(G, C)
    solved = torch.zeros(n, dtype=torch.bool, device=C.device)
    batch = max(1, _BATCH_ENTRIES // (r * r))
    for start in range(0, n, batch):
        part = slice(start, start + batch)
        X[:, part], solved[part] = _pivot(G, C[:, part], X[:, part] > 0)
    return X.clamp_(min=0.0), solved


def _pivot(G: Tensor, C: Tensor, free: Tensor) -> tuple[Tensor, Tensor]:
    """Exchange wrong signs until there are none.

    A column exchanges all of them at once, or only the last one if that does not lower their number
    (the rule that makes block principal pivoting finite). ``free`` (r, n) says which entries are
    free at first; it is overwritten.
    """
    torch = optional("torch")
    device = C.device
    r, n = C.shape
    X = torch.zeros_like(C)
    solved = torch.zeros(n, dtype=torch.bool, device=device)
    unsolved = torch.arange(n, device=device)  # the columns that are not solved yet
    fewest = torch.full((n,), r + 1, device=device)
    attempts = torch.full((n,), _FULL_EXCHANGES, device=device)
    identity = torch.eye(r, dtype=C.dtype, device=device)
    order = torch.arange(1, r + 1, device=device)[:, None]
    for _ in range(5 * (r + 4)):
        c = C[:, unsolved]
        mask = free[:, unsolved].T
        # The rows and columns of the entries at zero are those of the identity, so that all
        # matrices of the batch have the same size.
        A = torch.where(mask[:, :, None] & mask[:, None, :], G, identity * ~mask[:, None, :])
        factor = torch.linalg.cholesky_ex(A).L
        right = torch.where(mask, c.T, 0.0)[:, :, None]
        x = torch.cholesky_solve(right, factor)[:, :, 0].T
        tolerance = 1e-14 * c.abs().amax(dim=0)
        wrong = torch.where(mask.T, x < 0.0, c - G @ x > tolerance)
        X[:, unsolved] = x
        count = wrong.sum(dim=0)
        solved[unsolved] = count == 0
        better = count < fewest[unsolved]
        fewest[unsolved] = torch.minimum(count, fewest[unsolved])
        attempts[unsolved] = torch.where(better, _FULL_EXCHANGES, attempts[unsolved] - 1)
        position = torch.where(wrong, order, 0)
        wrong &= (attempts[unsolved] >= 0) | (position == position.amax(dim=0))
        free[:, unsolved] ^= wrong
        unsolved = unsolved[count > 0]
        if len(unsolved) == 0:
            break
    return X, solved
