# Triton's language has no types.
# mypy: ignore-errors
"""The screening pass as one Triton kernel: tiles of a product, reduced where they are computed and never written."""

from typing import Any

from selfdict._optional import optional

triton, tl, torch = optional("triton"), optional("triton.language"), optional("torch")

ROWS, COLUMNS, DEPTH = 128, 256, 64  # of a tile, and the step along the inner dimension
_PARTS = 4  # programs that share the columns of one tile of rows: more even work for the last ones


def positive_sums(left: Any, right: Any, factor: Any) -> Any:
    """Return Σ_j factor_j max(0, left_iᵀright_j) in float64.

    Parameters
    ----------
    left : (k, d) tensor of float16
    right : (l, d) tensor of float16
    factor : (l,) tensor of float32

    Returns
    -------
    (k,) tensor of float64
        Products are accumulated in float32, so are the sums inside a tile; tiles are added up in
        float64.
    """
    count = len(left)
    left, right = _padded(left, ROWS), _padded(right, COLUMNS)
    factor = torch.nn.functional.pad(factor, (0, len(right) - len(factor)))
    tiles = len(right) // COLUMNS
    parts = min(_PARTS, tiles)
    sums = torch.empty((parts, len(left)), dtype=torch.float64, device=left.device)
    _kernel[(len(left) // ROWS, parts)](
        left,
        right,
        factor,
        sums,
        len(left),
        tiles,
        -(-tiles // parts),
        left.shape[1],
        ROWS=ROWS,
        COLUMNS=COLUMNS,
        DEPTH=DEPTH,
        num_warps=8,
        num_stages=4,
    )
    return sums.sum(dim=0)[:count]


def _padded(A: Any, multiple: int) -> Any:
    """Add zero rows and columns up to whole tiles: they add nothing to the sums."""
    return torch.nn.functional.pad(A, (0, -A.shape[1] % DEPTH, 0, -A.shape[0] % multiple))


@triton.jit
def _kernel(
    left,
    right,
    factor,
    sums,
    n_rows,
    tiles,
    tiles_a_part,
    depth,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
):
    part = tl.program_id(1)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    along = tl.arange(0, DEPTH)
    left_tile = left + rows.to(tl.int64)[:, None] * depth + along[None, :]
    total = tl.zeros((ROWS,), tl.float64)
    for tile in range(part * tiles_a_part, min((part + 1) * tiles_a_part, tiles)):
        columns = tile * COLUMNS + tl.arange(0, COLUMNS)
        right_tile = right + columns.to(tl.int64)[None, :] * depth + along[:, None]
        V = tl.zeros((ROWS, COLUMNS), tl.float32)
        for start in range(0, depth, DEPTH):
            V = tl.dot(tl.load(left_tile + start), tl.load(right_tile + start), V)
        positive = tl.maximum(V, 0.0) * tl.load(factor + columns)[None, :]
        total += tl.sum(positive, axis=1).to(tl.float64)
    tl.store(sums + part * n_rows + rows, total)
