"""A data matrix that stays on a device: products are taken there, single columns come to the host."""

from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict._validation import Array, as_matrix
from selfdict.compute.device import is_tensor, to_device

_BLOCK_ENTRIES = 1 << 26


def as_tensor(M: Any, device: Any, name: str = "M") -> Any:
    """Do for a tensor what :func:`selfdict._validation.as_matrix` does for an array, and put either on ``device``."""
    if not is_tensor(M):
        return to_device(as_matrix(M, name), device)
    torch = optional("torch")
    if M.is_complex():
        raise TypeError(f"{name} must hold real numbers, got dtype {M.dtype}")
    if M.ndim != 2:
        raise InputError(
            f"{name} must have 2 dimensions (features, points), got {M.ndim}: shape {tuple(M.shape)}"
        )
    if M.numel() == 0:
        raise InputError(f"{name} must not be empty, got shape {tuple(M.shape)}")
    M = to_device(M, device, np.float64 if M.dtype == torch.float64 else np.float32)
    if not bool(torch.isfinite(M).all()):
        raise InputError(f"{name} contains NaN or infinity")
    return M


def multiply(A: Array, B: Array, device: Any) -> Array:
    """Return A B in float64, taken on the device; B goes there a block of rows at a time."""
    torch = optional("torch")
    out = torch.zeros((A.shape[0], B.shape[1]), dtype=torch.float64, device=device)
    block = max(1, _BLOCK_ENTRIES // B.shape[1])
    for start in range(0, len(B), block):
        part = slice(start, start + block)
        out.addmm_(
            to_device(A[:, part], device, np.float64), to_device(B[part], device, np.float64)
        )
    product: Array = out.cpu().numpy()
    return product


class DeviceMatrix:
    """M (m, n) on a device, in the few words of an ndarray that a selection needs: columns, and products u @ M."""

    __array_ufunc__ = None  # so that u @ M comes here

    def __init__(self, M: Any, device: Any) -> None:
        self.tensor = as_tensor(M, device)
        self.shape = tuple(self.tensor.shape)
        self.dtype = np.dtype(str(self.tensor.dtype).removeprefix("torch."))

    def __getitem__(self, index: tuple[slice, Any]) -> Array:
        """Return M[:, columns] as an array, for a list of columns."""
        columns = to_device(np.asarray(index[1]), self.tensor.device)
        picked: Array = self.tensor[:, columns].cpu().numpy()
        return picked

    def __rmatmul__(self, u: Array) -> Array:
        product: Array = (to_device(u, self.tensor.device) @ self.tensor).cpu().numpy()
        return product

    def squared_norms(self) -> Array:
        """Return ‖m_j‖² of every column, summed in float64."""
        torch = optional("torch")
        norms: Array = (
            torch.linalg.vector_norm(self.tensor, dim=0, dtype=torch.float64).square().cpu().numpy()
        )
        return norms
