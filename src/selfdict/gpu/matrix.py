"""Products of matrices on a device."""

import numpy as np

from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.compute.device import Device, Tensor, to_device

# Entries of a block of rows that is copied to the device at a time: 512 MiB of float64.
_PRODUCT_BLOCK_ENTRIES = 1 << 26


def multiply(A: Array, B: Array, device: Device) -> Array:
    """Return A B in float64, computed on the device; B is copied there block by block."""
    torch = optional("torch")
    out = torch.zeros((A.shape[0], B.shape[1]), dtype=torch.float64, device=device)
    rows = max(1, _PRODUCT_BLOCK_ENTRIES // B.shape[1])
    for start in range(0, len(B), rows):
        part = slice(start, start + rows)
        left = to_device(A[:, part], device, np.float64)
        right = to_device(B[part], device, np.float64)
        out.addmm_(left, right)
    product: Array = out.cpu().numpy()
    return product


def long_gram(A: Tensor) -> Tensor:
    """Return AᵀA (k, k) of a long tensor A (n, k), as a sum over portions of its rows.

    One product would have too few entries to keep a GPU busy. The order of the sum is the same in
    each run.
    """
    parts = max(1, min(256, len(A) // 256))
    rows = len(A) // parts
    portions = A[: parts * rows].view(parts, rows, A.shape[1])
    rest = A[parts * rows :]
    return (portions.mT @ portions).sum(dim=0) + rest.T @ rest
