"""Nonnegative least squares for many columns at once, by block principal pivoting on batches."""

from typing import Any

from selfdict._optional import optional

_BATCH_ENTRIES = 1 << 26  # of the normal matrices that are factored at a time
_FULL = 3  # exchanges of all wrong signs that may fail to lower their number, before single ones


def solve_columns(G: Any, C: Any) -> tuple[Any, Any]:
    """Minimise ½xᵀGx − cᵀx over x ≥ 0 for every column c of C.

    Parameters
    ----------
    G : (r, r) tensor of float64
        Positive definite, with a diagonal of about one.
    C : (r, n) tensor of float64

    Returns
    -------
    X : (r, n) tensor of float64
    solved : (n,) tensor of bool
        Whether the signs of x and of c − Gx are those of the solution; where not, X is only near
        it.
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


def _pivot(G: Any, C: Any, free: Any) -> tuple[Any, Any]:
    """Exchange wrong signs until there are none, all at once, or only the last one where that fails to help."""
    torch = optional("torch")
    r, n = C.shape
    X, solved = torch.zeros_like(C), torch.zeros(n, dtype=torch.bool, device=C.device)
    left = torch.arange(n, device=C.device)  # the columns that are not solved yet
    fewest, chances = (
        torch.full((n,), r + 1, device=C.device),
        torch.full((n,), _FULL, device=C.device),
    )
    identity, order = (
        torch.eye(r, dtype=C.dtype, device=C.device),
        torch.arange(1, r + 1, device=C.device)[:, None],
    )
    for _ in range(5 * (r + 4)):
        c, mask = C[:, left], free[:, left].T
        A = torch.where(mask[:, :, None] & mask[:, None, :], G, identity * ~mask[:, None, :])
        factor = torch.linalg.cholesky_ex(A).L
        x = torch.cholesky_solve(torch.where(mask, c.T, 0.0)[:, :, None], factor)[:, :, 0].T
        tolerance = 1e-14 * c.abs().amax(dim=0)
        wrong = torch.where(mask.T, x < 0.0, c - G @ x > tolerance)
        X[:, left] = x
        count = wrong.sum(dim=0)
        solved[left] = count == 0
        better = count < fewest[left]
        fewest[left] = torch.minimum(count, fewest[left])
        chances[left] = torch.where(better, _FULL, chances[left] - 1)
        last = torch.where(wrong, order, 0)
        wrong &= (chances[left] >= 0) | (last == last.amax(dim=0))
        free[:, left] ^= wrong
        left = left[count > 0]
        if len(left) == 0:
            break
    return X, solved
