"""A data matrix on a device: products are computed there, single columns are copied to the host."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict._validation import Array, as_matrix
from selfdict.compute.device import Device, Tensor, is_tensor, to_device
from selfdict.compute.scaling import ordinary_squares

# Entries of a block of rows that is copied to the device at a time: 512 MiB of float64.
_PRODUCT_BLOCK_ENTRIES = 1 << 26


def as_tensor(M: Any, device: Device, name: str = "M") -> Tensor:
    """Check a matrix, as :func:`selfdict._validation.as_matrix` does, and copy it to ``device``.

    M may be an array or a tensor. float32 and float64 stay, other tensors become float32.
    """
    if not is_tensor(M):
        return to_device(as_matrix(M, name), device)
    torch = optional("torch")
    if M.is_complex():
        raise TypeError(f"{name} must hold real numbers, got dtype {M.dtype}")
    shape = tuple(M.shape)
    if M.ndim != 2:
        raise InputError(
            f"{name} must have 2 dimensions (features, points), got {M.ndim}: shape {shape}"
        )
    if M.numel() == 0:
        raise InputError(f"{name} must not be empty, got shape {shape}")
    dtype: type = np.float32
    if M.dtype == torch.float64:
        dtype = np.float64
    M = to_device(M, device, dtype)
    if not bool(torch.isfinite(M).all()):
        raise InputError(f"{name} contains NaN or infinity")
    return M


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


class DeviceMatrix:
    """M (m, n) on a device, with the operations of an ndarray that a selection of columns needs.

    These are ``M[:, columns]`` and ``u @ M``; both return arrays.
    """

    __array_ufunc__ = None  # so that numpy leaves u @ M to __rmatmul__

    def __init__(self, M: "ArrayLike | Tensor", device: Device) -> None:
        self.tensor = as_tensor(M, device)
        self.shape = tuple(self.tensor.shape)
        self.dtype = np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    def __getitem__(self, index: tuple[slice, ArrayLike]) -> Array:
        """Return M[:, columns] as an array, for a list of columns."""
        columns = to_device(np.asarray(index[1]), self.tensor.device)
        selected: Array = self.tensor[:, columns].cpu().numpy()
        return selected

    def __rmatmul__(self, u: Array) -> Array:
        product: Array = (to_device(u, self.tensor.device) @ self.tensor).cpu().numpy()
        return product

    def unusual_exponent(self, squares: Array) -> int:
        """Return the exponent of the largest entry if sums of squares are unusual, else 0."""
        if ordinary_squares(squares, self.dtype):
            return 0
        return int(np.frexp(float(self.tensor.abs().max()))[1])

    def divided(self, exponent: int) -> "DeviceMatrix":
        """Return the matrix divided by a power of two."""
        torch = optional("torch")
        power = torch.tensor(-exponent, device=self.tensor.device)
        return DeviceMatrix(torch.ldexp(self.tensor, power), self.tensor.device)

    def squared_norms(self) -> Array:
        """Return ‖m_j‖² of every column, summed in float64."""
        torch = optional("torch")
        norms = torch.linalg.vector_norm(self.tensor, dim=0, dtype=torch.float64)
        squares: Array = norms.square().cpu().numpy()
        return squares
