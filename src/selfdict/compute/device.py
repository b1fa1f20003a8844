"""Where to compute: with the compiled code of the CPU, or with torch on a device."""

import os
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from selfdict._errors import InputError, UnsupportedError
from selfdict._imports import optional
from selfdict._validation import Array, is_sparse, is_tensor, refuse_gradient

if TYPE_CHECKING:
    import torch

# of torch, which is imported when it is used
Tensor: TypeAlias = "torch.Tensor"
Device: TypeAlias = "torch.device | str | None"

# entries of a tensor that are computed or copied at a time: 256 MiB of float64
BLOCK_ENTRIES = 1 << 25


def choose_device(device: Device, *arrays: Any) -> "torch.device | None":
    """Return the ``torch.device`` to compute on, or None for the compiled code of the CPU."""
    # A tensor is computed by torch on its own device, unless another one is named; anything else on
    # the CPU, unless the device is "cuda".
    tensors = [array for array in arrays if is_tensor(array)]
    if device is None:
        if tensors:
            return tensors[0].device
        return None
    name = str(device)
    kind = name.split(":")[0]
    if kind not in ("cpu", "cuda"):
        raise InputError(f'device must be None, "cpu" or "cuda", got {device!r}')
    if kind == "cpu":
        if tensors:
            return optional("torch").device("cpu")
        return None
    if any(map(is_sparse, arrays)):
        raise UnsupportedError(f"sparse data is computed on the CPU, got device={name!r}")
    try:
        torch = optional("torch")
        if torch.cuda.is_available():
            return torch.device(name)
        missing = "torch finds no GPU here"
    except ModuleNotFoundError as error:
        missing = str(error)
    warnings.warn(f"device={name!r} falls back to the CPU: {missing}", RuntimeWarning, stacklevel=3)
    return None


def to_device(array: Any, device: Device, dtype: Any = None) -> Tensor:
    """Return an array or a tensor as a contiguous tensor on ``device``, in a numpy dtype."""
    torch = optional("torch")
    if not is_tensor(array):
        # torch refuses negative strides, and warns of arrays that cannot be written.
        array = np.require(array, requirements=["C", "W"])
        if min(array.strides, default=0) < 0:  # of an axis with one entry, which counts as C order
            array = array.copy()
        array = torch.from_numpy(array)
    torch_dtype = None
    if dtype is not None:
        torch_dtype = getattr(torch, np.dtype(dtype).name)
    refuse_gradient(array)
    return array.to(device=device, dtype=torch_dtype).contiguous()


def runs_triton(device: "torch.device") -> bool:
    """Whether Triton kernels run on this device."""
    if device.type != "cuda":
        return False
    try:
        optional("triton")
    except ModuleNotFoundError:
        return False
    return True


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Divide rows of ``width`` entries into portions of a limited size."""
    # multiples of 16: Triton would compile again for addresses that are not divisible by 16
    size = max(1, BLOCK_ENTRIES // width // 16) * 16
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def multiply(A: Array, B: Array, device: Device) -> Array:
    """Return A B in float64, computed on the device; B is copied there block by block."""
    torch = optional("torch")
    out = torch.zeros((A.shape[0], B.shape[1]), dtype=torch.float64, device=device)
    for part in row_blocks(*B.shape):
        out.addmm_(
            to_device(A[:, part], device, np.float64), to_device(B[part], device, np.float64)
        )
    product: Array = out.cpu().numpy()
    return product


def long_gram(A: Tensor) -> Tensor:
    """Return AᵀA (k, k) of a long tensor A (n, k); the order of sums is the same in each run."""
    # a sum over portions of the rows: one product has too few entries to keep a GPU busy
    parts = max(1, min(256, len(A) // 256))
    rows = len(A) // parts
    portions = A[: parts * rows].view(parts, rows, A.shape[1])
    rest = A[parts * rows :]
    return (portions.mT @ portions).sum(dim=0) + rest.T @ rest


def physical_memory() -> float:
    """Return the memory of this machine in bytes; infinity where it is not known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return np.inf
