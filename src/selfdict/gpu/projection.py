"""A step of Algorithm 1 for rows on a device: extrapolate, descend, project onto Ω."""

from typing import Any

from selfdict._optional import optional
from selfdict.compute.device import has_triton


def gradient_step(
    V: Any, Y: Any, Y_old: Any, t: Any, t_old: Any, beta: Any, penalty: Any, w: Any, start: int
) -> None:
    """Do for tensors what :func:`selfdict.kernels.projection.gradient_step` does for arrays.

    Parameters
    ----------
    V : (k, n) tensor
        Mᵀ(M − M X) at the extrapolated X times the step length, rows ``start`` onwards;
        overwritten.
    Y, Y_old : (n, n) tensor
        The last two points; the new rows are written to ``Y_old``.
    t, t_old : (n,) tensor
        Their diagonals; the new one is written to ``t_old``. If an entry is zero, so is the row,
        which is not read.
    beta : () tensor
        The weight of the extrapolation.
    penalty : (n,) tensor
        μ p times the step length.
    w : (n,) tensor
        The weights of Ω.
    start : int
        The row of X that ``V[0]`` belongs to.
    """
    if has_triton(V):
        from selfdict.gpu.triton_projection import gradient_step as fused

        fused(V, Y, Y_old, t, t_old, beta, penalty, w, start)
    else:
        plain_step(V, Y, Y_old, t, t_old, beta, penalty, w, start)


def plain_step(
    V: Any, Y: Any, Y_old: Any, t: Any, t_old: Any, beta: Any, penalty: Any, w: Any, start: int
) -> None:
    """Take the step in plain torch, without Triton."""
    torch = optional("torch")
    rows = slice(start, start + len(V))
    local = torch.arange(len(V), device=V.device)
    V += Y[rows] + beta * (Y[rows] - Y_old[rows])
    V[local, start + local] -= penalty[rows]
    Y_old[rows] = project(V, w, start, t[rows])
    t_old[rows] = Y_old[start + local, start + local]


def project(X: Any, w: Any, start: int, guess: Any) -> Any:
    """Project rows ``start`` onwards of X onto Ω, with Newton's method for all gates at once.

    Notation and method are those of :mod:`selfdict.kernels.projection`. ``guess`` holds the gates
    at which to start.
    """
    torch = optional("torch")
    local = torch.arange(len(X), device=X.device)
    wi = w[start : start + len(X), None]
    inverse = torch.where(wi > 0, 1 / wi, 0.0)
    own = X[local, start + local][:, None]
    X[local, start + local] = 0.0
    lowest = torch.where(wi > 0, own.clamp(0.0, 1.0), 0.0)

    def newton(t: Any) -> Any:
        active = torch.where(w * (t * inverse) < X, w, 0.0)
        num = (active * X).sum(dim=1, keepdim=True)
        den = (active * w).sum(dim=1, keepdim=True)
        new = wi * (wi * own + num) / (wi**2 + den)
        return torch.where(wi > 0, torch.maximum(new, lowest).clamp(max=1.0), 0.0)

    t = torch.maximum(guess[:, None], lowest).clamp(max=1.0)
    new = newton(t)
    # The first step may go either way; from then on a gate increases until it stops.
    moving = new != t
    while bool(moving.any()):
        t = torch.where(moving, new, t)
        new = newton(t)
        moving = moving & (new > t)
    X = torch.minimum(X, w * (t * inverse)).clamp_(min=0.0)
    X[local, start + local] = t[:, 0]
    return X
