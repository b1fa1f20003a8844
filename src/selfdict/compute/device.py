"""Where to compute: with the compiled code of the CPU, or with torch on a device."""

import sys
import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse

from selfdict._errors import InputError
from selfdict._optional import optional


def choose_device(device: Any, *arrays: Any) -> Any:
    """Return the ``torch.device`` to compute on, or None for the compiled code of the CPU.

    A torch tensor is computed by torch where it lies, unless ``device`` names another place;
    anything else on the CPU, unless ``device`` is "cuda". Without torch or a GPU, "cuda" gives a
    warning and the CPU.
    """
    if device is None:
        return next((array.device for array in arrays if is_tensor(array)), None)
    name = str(device)
    kind = name.split(":")[0]
    if kind not in ("cpu", "cuda"):
        raise InputError(f'device must be None, "cpu" or "cuda", got {device!r}')
    if kind == "cpu":
        return optional("torch").device("cpu") if any(map(is_tensor, arrays)) else None
    if any(map(issparse, arrays)):
        raise InputError(f"sparse data is computed on the CPU, got device={name!r}")
    try:
        torch = optional("torch")
        missing = None if torch.cuda.is_available() else "torch finds no GPU here"
    except ModuleNotFoundError as error:
        missing = str(error)
    if missing is None:
        return torch.device(name)
    warnings.warn(f"device={name!r} falls back to the CPU: {missing}", RuntimeWarning, stacklevel=3)
    return None


def is_tensor(array: Any) -> bool:
    """Whether ``array`` is a torch tensor; torch is not imported to find out."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def to_numpy(array: Any) -> Any:
    """Return a tensor as a numpy array, and anything else as it is."""
    return array.detach().cpu().numpy() if is_tensor(array) else array


def to_device(array: Any, device: Any, dtype: Any = None) -> Any:
    """Return an array or a tensor as a contiguous tensor on ``device``, in a numpy ``dtype`` if one is given."""
    torch = optional("torch")
    if not is_tensor(array):
        array = torch.from_numpy(np.require(array, requirements=["C", "W"]))
    wanted = None if dtype is None else getattr(torch, np.dtype(dtype).name)
    return array.detach().to(device=device, dtype=wanted).contiguous()


def has_triton(tensor: Any) -> bool:
    """Whether Triton kernels can work on this tensor."""
    if not tensor.is_cuda:
        return False
    try:
        optional("triton")
    except ModuleNotFoundError:
        return False
    return True
