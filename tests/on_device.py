"""torch on a GPU if there is one; otherwise on the CPU, where Triton interprets its kernels."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
DEVICE = "cpu"
if torch.cuda.is_available():
    DEVICE = "cuda"
else:
    # before the kernels are compiled, which happens on their import
    os.environ["TRITON_INTERPRET"] = "1"


def tensor(array):
    """Return a copy of an array on the device."""
    return torch.from_numpy(np.array(array)).to(DEVICE)
