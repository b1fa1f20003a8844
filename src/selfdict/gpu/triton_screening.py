# Triton's language has no types.
# mypy: ignore-errors
"""The screening pass as one Triton kernel.

The tiles of the product are reduced where they are computed, and never written to memory.
"""

from selfdict._optional import optional
from selfdict.compute.device import Tensor

triton = optional("triton")
tl = optional("triton.language")
torch = optional("torch")

_TILE_ROWS = 128
_TILE_COLUMNS = 256
_TILE_DEPTH = 64  # the step along the inner dimension


def positive_sums(left: Tensor, right: Tensor, factor: Tensor) -> Tensor:
    """Return Σ_j factor_j max(0, left_iᵀright_j), (k,), for halves (k, d) and (l, d) of float16.

    Products are accumulated in float32, so are the sums inside a tile; tiles are added up in
    float64.
    """
    count = len(left)
    left = _padded(left, _TILE_ROWS)
    right = _padded(right, _TILE_COLUMNS)
    factor = torch.nn.functional.pad(factor, (0, len(right) - len(factor)))
    tiles = len(right) // _TILE_COLUMNS
    # Up to four programs share the columns of a tile of rows: smaller programs leave fewer
    # processors idle at the end.
    parts = min(4, tiles)
    sums = torch.empty((parts, len(left)), dtype=torch.float64, device=left.device)
    _kernel[(len(left) // _TILE_ROWS, parts)](
        left,
        right,
        factor,
        sums,
        len(left),
        tiles,
        -(-tiles // parts),
        left.shape[1],
        TILE_ROWS=_TILE_ROWS,
        TILE_COLUMNS=_TILE_COLUMNS,
        TILE_DEPTH=_TILE_DEPTH,
        num_warps=8,
        num_stages=4,
    )
    return sums.sum(dim=0)[:count]


def _padded(A: Tensor, multiple: int) -> Tensor:
    """Add zero rows and columns up to whole tiles: they add nothing to the sums."""
    return torch.nn.functional.pad(A, (0, -A.shape[1] % _TILE_DEPTH, 0, -A.shape[0] % multiple))


@triton.jit
def _kernel(
    left,
    right,
    factor,
    sums,
    n_rows,
    tiles,
    tiles_per_part,
    depth,
    TILE_ROWS: tl.constexpr,
    TILE_COLUMNS: tl.constexpr,
    TILE_DEPTH: tl.constexpr,
):
    part = tl.program_id(1)
    # int64 below: an offset may exceed 2³¹.
    rows = tl.program_id(0) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    along = tl.arange(0, TILE_DEPTH)
    left_tile = left + rows.to(tl.int64)[:, None] * depth + along[None, :]
    total = tl.zeros((TILE_ROWS,), tl.float64)
    for tile in range(part * tiles_per_part, min((part + 1) * tiles_per_part, tiles)):
        columns = tile * TILE_COLUMNS + tl.arange(0, TILE_COLUMNS)
        right_tile = right + columns.to(tl.int64)[None, :] * depth + along[:, None]
        V = tl.zeros((TILE_ROWS, TILE_COLUMNS), tl.float32)
        for start in range(0, depth, TILE_DEPTH):
            V = tl.dot(tl.load(left_tile + start), tl.load(right_tile + start), V)
        positive = tl.maximum(V, 0.0) * tl.load(factor + columns)[None, :]
        total += tl.sum(positive, axis=1).to(tl.float64)
    tl.store(sums + part * n_rows + rows, total)
