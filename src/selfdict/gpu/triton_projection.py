# Triton's language has no types.
# mypy: ignore-errors
"""A step of Algorithm 1 as one Triton kernel, a program a row.

A row of up to 32,768 float32 entries is read once, held in registers through all Newton steps, and
written once; it is held in two pieces, since the length of a piece is a power of two. A longer row
is kept in ``V`` and read a chunk at a time.
"""

from typing import Any

from selfdict._optional import optional

triton, tl = optional("triton"), optional("triton.language")

HELD = 1 << 17  # bytes of a row that registers can hold
_CHUNK = 4096
_SMALLEST = 64


def gradient_step(
    V: Any, Y: Any, Y_old: Any, t: Any, t_old: Any, beta: Any, penalty: Any, w: Any, start: int
) -> None:
    """See :func:`selfdict.gpu.projection.gradient_step`."""
    n = V.shape[1]
    arguments = V, Y, Y_old, t, t_old, beta, penalty, w, start, n
    if n * V.element_size() > HELD:
        _chunked[(len(V),)](*arguments, BLOCK=_CHUNK, num_warps=16)
        return
    head = max(triton.next_power_of_2(n + 1) // 2, _SMALLEST)
    tail = max(triton.next_power_of_2(max(n - head, 1)), _SMALLEST)
    _held[(len(V),)](*arguments, HEAD=head, TAIL=tail, num_warps=min(max(head // 512, 4), 16))


@triton.jit
def _begin(V, t, t_old, beta, penalty, w, row, i, n):
    """Return the diagonal entry to be projected, w_i, 1/w_i, the least gate, a guess, and whether Y is not zero."""
    guess = tl.load(t + i)
    is_open = (guess > 0.0) | (tl.load(t_old + i) > 0.0)
    own = tl.load(V + row * n + i) - tl.load(penalty + i)
    if is_open:
        own += guess + tl.load(beta) * (guess - tl.load(t_old + i))
    wi = tl.load(w + i)
    inverse = tl.where(wi > 0.0, 1.0 / tl.where(wi > 0.0, wi, 1.0), 0.0)
    lowest = tl.minimum(tl.maximum(own, 0.0), 1.0)
    return own, wi, inverse, lowest, tl.minimum(tl.maximum(guess, lowest), 1.0), is_open


@triton.jit
def _load(V, Y, Y_old, beta, row, i, j, n, is_open):
    """Return entries j of the row to be projected; the diagonal one as 0, which drops out of the sums."""
    x = tl.load(V + row * n + j, mask=j < n, other=0.0)
    if is_open:
        y = tl.load(Y + i * n + j, mask=j < n, other=0.0, eviction_policy="evict_first")
        old = tl.load(Y_old + i * n + j, mask=j < n, other=0.0, eviction_policy="evict_first")
        x += y + tl.load(beta) * (y - old)
    return tl.where(j == i, 0.0, x)


@triton.jit
def _root(own, wi, num, den, lowest):
    """Return the root of the piece of c' whose active entries have the sums ``num`` and ``den``; 0 if w_i = 0."""
    square = tl.where(wi > 0.0, wi * wi + den, 1.0)
    root = tl.minimum(tl.maximum(wi * (wi * own + num) / square, lowest), 1.0)
    return tl.where(wi > 0.0, root, 0.0)


@triton.jit
def _add(a, b, c, d):
    return a + c, b + d


@triton.jit
def _sums(x, w, threshold):
    """Return Σ w_j x_j and Σ w_j² over the active entries of a piece."""
    active = tl.where(x > w * threshold, w, 0.0)
    return tl.reduce((active * x, active * w), 0, _add)


@triton.jit
def _newton(x, wx, y, wy, own, wi, gate, inverse, lowest):
    """Take a Newton step for the gate of a row held in the pieces x and y."""
    num, den = _sums(x, wx, gate * inverse)
    num_y, den_y = _sums(y, wy, gate * inverse)
    return _root(own, wi, num + num_y, den + den_y, lowest)


@triton.jit
def _store(Y_old, i, j, n, x, w, gate, inverse):
    """Write entries j of the projected row."""
    x = tl.maximum(tl.minimum(x, w * (gate * inverse)), 0.0)
    tl.store(Y_old + i * n + j, tl.where(j == i, gate, x), mask=j < n)


@triton.jit
def _held(
    V, Y, Y_old, t, t_old, beta, penalty, w, start, n, HEAD: tl.constexpr, TAIL: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    i = row + start
    own, wi, inverse, lowest, gate, is_open = _begin(V, t, t_old, beta, penalty, w, row, i, n)
    head = tl.arange(0, HEAD)
    tail = HEAD + tl.arange(0, TAIL)
    x = _load(V, Y, Y_old, beta, row, i, head, n, is_open)
    y = _load(V, Y, Y_old, beta, row, i, tail, n, is_open)
    wx = tl.load(w + head, mask=head < n, other=0.0)
    wy = tl.load(w + tail, mask=tail < n, other=0.0)
    new = _newton(x, wx, y, wy, own, wi, gate, inverse, lowest)
    moving = new != gate
    while moving:
        gate = new
        new = _newton(x, wx, y, wy, own, wi, gate, inverse, lowest)
        moving = new > gate
    if is_open | (gate > 0.0):
        _store(Y_old, i, head, n, x, wx, gate, inverse)
        _store(Y_old, i, tail, n, y, wy, gate, inverse)
    tl.store(t_old + i, gate)


@triton.jit
def _newton_chunked(V, w, row, n, own, wi, gate, inverse, lowest, BLOCK: tl.constexpr):
    """Take a Newton step for the gate of a row that lies in V."""
    num = tl.zeros((BLOCK,), V.dtype.element_ty)
    den = tl.zeros((BLOCK,), V.dtype.element_ty)
    for first in range(0, n, BLOCK):
        j = first + tl.arange(0, BLOCK)
        x = tl.load(V + row * n + j, mask=j < n, other=0.0)
        wj = tl.load(w + j, mask=j < n, other=0.0)
        active = tl.where(x > wj * (gate * inverse), wj, 0.0)
        num += active * x
        den += active * wj
    return _root(own, wi, tl.sum(num), tl.sum(den), lowest)


@triton.jit
def _chunked(V, Y, Y_old, t, t_old, beta, penalty, w, start, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    i = row + start
    own, wi, inverse, lowest, gate, is_open = _begin(V, t, t_old, beta, penalty, w, row, i, n)
    num = tl.zeros((BLOCK,), V.dtype.element_ty)
    den = tl.zeros((BLOCK,), V.dtype.element_ty)
    for first in range(0, n, BLOCK):  # the first Newton step needs no second look
        j = first + tl.arange(0, BLOCK)
        x = _load(V, Y, Y_old, beta, row, i, j, n, is_open)
        wj = tl.load(w + j, mask=j < n, other=0.0)
        active = tl.where(x > wj * (gate * inverse), wj, 0.0)
        num += active * x
        den += active * wj
        tl.store(V + row * n + j, x, mask=j < n)
    new = _root(own, wi, tl.sum(num), tl.sum(den), lowest)
    moving = new != gate
    while moving:
        gate = new
        new = _newton_chunked(V, w, row, n, own, wi, gate, inverse, lowest, BLOCK)
        moving = new > gate
    if is_open | (gate > 0.0):
        for first in range(0, n, BLOCK):
            j = first + tl.arange(0, BLOCK)
            x = tl.load(V + row * n + j, mask=j < n, other=0.0)
            _store(Y_old, i, j, n, x, tl.load(w + j, mask=j < n, other=0.0), gate, inverse)
    tl.store(t_old + i, gate)
