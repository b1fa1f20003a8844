"""A step of Algorithm 1 for rows on a device: extrapolate, descend, project onto Ω."""

from selfdict._optional import optional
from selfdict.compute.device import Tensor, has_triton


def gradient_step(
    V: Tensor,  # (k, n): Mᵀ(M − M X) at the extrapolated X times the step length; overwritten
    Y: Tensor,  # (n, n): the last point
    Y_old: Tensor,  # (n, n): the point before; the new rows are written here
    t: Tensor,  # (n,): the diagonal of Y; where it is zero, so is the row, which is not read
    t_old: Tensor,  # (n,): that of Y_old; the new one is written here
    beta: Tensor,  # (): the weight of the extrapolation
    penalty: Tensor,  # (n,): μ p times the step length
    weight: Tensor,  # (): of the square of a gate, as in selfdict.kernels.projection
    w: Tensor,  # (n,): the weights of Ω
    start: int,  # the row of X that V[0] belongs to
) -> None:
    """Do for tensors what :func:`selfdict.kernels.projection.gradient_step` does for arrays."""
    if has_triton(V):
        from selfdict.gpu.triton_projection import gradient_step as fused

        fused(V, Y, Y_old, t, t_old, beta, penalty, weight, w, start)
    else:
        plain_step(V, Y, Y_old, t, t_old, beta, penalty, weight, w, start)


def plain_step(
    V: Tensor,
    Y: Tensor,
    Y_old: Tensor,
    t: Tensor,
    t_old: Tensor,
    beta: Tensor,
    penalty: Tensor,
    weight: Tensor,
    w: Tensor,
    start: int,
) -> None:
    """Take the step in plain torch, without Triton."""
    torch = optional("torch")
    rows = slice(start, start + len(V))
    local = torch.arange(len(V), device=V.device)
    V += Y[rows] + beta * (Y[rows] - Y_old[rows])
    V[local, start + local] -= penalty[rows]
    Y_old[rows] = project(V, w, start, t[rows], weight)
    t_old[rows] = Y_old[start + local, start + local]


def project(X: Tensor, w: Tensor, start: int, guess: Tensor, weight: Tensor) -> Tensor:
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
    lowest = torch.where(wi > 0, (own / weight).clamp(0.0, 1.0), 0.0)

    def newton(t: Tensor) -> Tensor:
        active = torch.where(w * (t * inverse) < X, w, 0.0)
        num = (active * X).sum(dim=1, keepdim=True)
        den = (active * w).sum(dim=1, keepdim=True)
        new = wi * (wi * own + num) / (weight * wi**2 + den)
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
