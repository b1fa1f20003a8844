# Triton's language has no types.
# mypy: ignore-errors
"""A step of Algorithm 1 as one Triton kernel, with one program per row.

A row of up to 32,768 float32 entries is read once, held in registers through all Newton steps, and
written once. It is held in two pieces, since the length of a piece must be a power of two. A longer
row is kept in ``V`` and read chunk by chunk in every Newton step.

Notation and method are those of :mod:`selfdict.kernels.projection`.
"""

from selfdict._optional import optional
from selfdict.compute.device import Tensor

triton = optional("triton")
tl = optional("triton.language")

_REGISTER_BYTES = 1 << 17  # the longest row that the registers can hold
_CHUNK_ENTRIES = 4096  # entries of a longer row that are read at a time


def gradient_step(
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
    """See :func:`selfdict.gpu.projection.gradient_step`."""
    n = V.shape[1]
    arguments = (V, Y, Y_old, t, t_old, beta, penalty, weight, w, start, n)
    if n * V.element_size() > _REGISTER_BYTES:
        _step_in_chunks[(len(V),)](*arguments, CHUNK=_CHUNK_ENTRIES, num_warps=16)
        return
    # The largest power of two up to n, and one that covers the rest.
    smallest_piece = 64
    head = max(triton.next_power_of_2(n + 1) // 2, smallest_piece)
    tail = max(triton.next_power_of_2(max(n - head, 1)), smallest_piece)
    num_warps = min(max(head // 512, 4), 16)
    _step_in_registers[(len(V),)](*arguments, HEAD=head, TAIL=tail, num_warps=num_warps)


@triton.jit
def _begin(V, t, t_old, beta, penalty, weight, w, row, i, n):
    """Return what a program knows before it reads its row.

    These are the diagonal entry to be projected, w_i, 1/w_i, the weight of the square of the gate
    times w_i², the smallest possible gate, a guess of the gate, and whether the row is nonzero in
    ``Y`` or ``Y_old``.
    """
    guess = tl.load(t + i)
    is_open = (guess > 0.0) | (tl.load(t_old + i) > 0.0)
    own = tl.load(V + row * n + i) - tl.load(penalty + i)
    if is_open:
        own += guess + tl.load(beta) * (guess - tl.load(t_old + i))
    wi = tl.load(w + i)
    inverse = tl.where(wi > 0.0, 1.0 / tl.where(wi > 0.0, wi, 1.0), 0.0)
    stretch = tl.load(weight)
    lowest = tl.minimum(tl.maximum(own / stretch, 0.0), 1.0)
    first = tl.minimum(tl.maximum(guess, lowest), 1.0)
    return own, wi, inverse, stretch * wi * wi, lowest, first, is_open


@triton.jit
def _load(V, Y, Y_old, beta, row, i, j, n, is_open):
    """Return entries j of the row to be projected, with 0 for the diagonal one.

    A zero does not enter the sums.
    """
    x = tl.load(V + row * n + j, mask=j < n, other=0.0)
    if is_open:
        # Neither is needed again in this step: leave the cache to V and w.
        y = tl.load(Y + i * n + j, mask=j < n, other=0.0, eviction_policy="evict_first")
        old = tl.load(Y_old + i * n + j, mask=j < n, other=0.0, eviction_policy="evict_first")
        x += y + tl.load(beta) * (y - old)
    return tl.where(j == i, 0.0, x)


@triton.jit
def _root(own, wi, own_square, num, den, lowest):
    """Return the root of the linear piece of c' with the sums ``num`` and ``den``; 0 if w_i = 0."""
    square = tl.where(wi > 0.0, own_square + den, 1.0)
    root = tl.minimum(tl.maximum(wi * (wi * own + num) / square, lowest), 1.0)
    return tl.where(wi > 0.0, root, 0.0)


@triton.jit
def _add_pairs(a, b, c, d):
    return a + c, b + d


@triton.jit
def _sums(x, w, threshold):
    """Return Σ w_j x_j and Σ w_j² over the active entries of a piece."""
    active = tl.where(x > w * threshold, w, 0.0)
    return tl.reduce((active * x, active * w), 0, _add_pairs)


@triton.jit
def _newton(x, wx, y, wy, own, wi, own_square, gate, inverse, lowest):
    """Take a Newton step for the gate of a row held in the pieces x and y."""
    num, den = _sums(x, wx, gate * inverse)
    num_y, den_y = _sums(y, wy, gate * inverse)
    return _root(own, wi, own_square, num + num_y, den + den_y, lowest)


@triton.jit
def _store(Y_old, i, j, n, x, w, gate, inverse):
    """Write entries j of the projected row."""
    x = tl.maximum(tl.minimum(x, w * (gate * inverse)), 0.0)
    tl.store(Y_old + i * n + j, tl.where(j == i, gate, x), mask=j < n)


@triton.jit
def _step_in_registers(
    V,
    Y,
    Y_old,
    t,
    t_old,
    beta,
    penalty,
    weight,
    w,
    start,
    n,
    HEAD: tl.constexpr,
    TAIL: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)  # int64: row * n may exceed 2³¹
    i = row + start
    own, wi, inverse, own_square, lowest, gate, is_open = _begin(
        V, t, t_old, beta, penalty, weight, w, row, i, n
    )
    head = tl.arange(0, HEAD)
    tail = HEAD + tl.arange(0, TAIL)
    x = _load(V, Y, Y_old, beta, row, i, head, n, is_open)
    y = _load(V, Y, Y_old, beta, row, i, tail, n, is_open)
    wx = tl.load(w + head, mask=head < n, other=0.0)
    wy = tl.load(w + tail, mask=tail < n, other=0.0)
    new = _newton(x, wx, y, wy, own, wi, own_square, gate, inverse, lowest)
    moving = new != gate
    while moving:
        gate = new
        new = _newton(x, wx, y, wy, own, wi, own_square, gate, inverse, lowest)
        moving = new > gate
    if is_open | (gate > 0.0):
        _store(Y_old, i, head, n, x, wx, gate, inverse)
        _store(Y_old, i, tail, n, y, wy, gate, inverse)
    tl.store(t_old + i, gate)


@triton.jit
def _newton_chunked(V, w, row, n, own, wi, own_square, gate, inverse, lowest, CHUNK: tl.constexpr):
    """Take a Newton step for the gate of a row that lies in V."""
    num = tl.zeros((CHUNK,), V.dtype.element_ty)
    den = tl.zeros((CHUNK,), V.dtype.element_ty)
    for first in range(0, n, CHUNK):
        j = first + tl.arange(0, CHUNK)
        x = tl.load(V + row * n + j, mask=j < n, other=0.0)
        wj = tl.load(w + j, mask=j < n, other=0.0)
        active = tl.where(x > wj * (gate * inverse), wj, 0.0)
        num += active * x
        den += active * wj
    return _root(own, wi, own_square, tl.sum(num), tl.sum(den), lowest)


@triton.jit
def _step_in_chunks(V, Y, Y_old, t, t_old, beta, penalty, weight, w, start, n, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = row + start
    own, wi, inverse, own_square, lowest, gate, is_open = _begin(
        V, t, t_old, beta, penalty, weight, w, row, i, n
    )
    num = tl.zeros((CHUNK,), V.dtype.element_ty)
    den = tl.zeros((CHUNK,), V.dtype.element_ty)
    for first in range(0, n, CHUNK):  # the first Newton step, while the row is computed
        j = first + tl.arange(0, CHUNK)
        x = _load(V, Y, Y_old, beta, row, i, j, n, is_open)
        wj = tl.load(w + j, mask=j < n, other=0.0)
        active = tl.where(x > wj * (gate * inverse), wj, 0.0)
        num += active * x
        den += active * wj
        tl.store(V + row * n + j, x, mask=j < n)
    new = _root(own, wi, own_square, tl.sum(num), tl.sum(den), lowest)
    moving = new != gate
    while moving:
        gate = new
        new = _newton_chunked(V, w, row, n, own, wi, own_square, gate, inverse, lowest, CHUNK)
        moving = new > gate
    if is_open | (gate > 0.0):
        for first in range(0, n, CHUNK):
            j = first + tl.arange(0, CHUNK)
            x = tl.load(V + row * n + j, mask=j < n, other=0.0)
            wj = tl.load(w + j, mask=j < n, other=0.0)
            _store(Y_old, i, j, n, x, wj, gate, inverse)
    tl.store(t_old + i, gate)
