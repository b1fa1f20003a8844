"""The one decorator all kernels use."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

# Reassociation lets LLVM vectorise sums; NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "arcp"}


def jit(function: F) -> F:
    """Compile ``function`` without the GIL and cache it on disk; a folder that cannot be written is no error.

    What Python calls returns no tuple of arrays: numba would turn an interruption at its end into a
    ``SystemError``.
    """
    options = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        compiled: F = numba.njit(cache=True, **options)(function)
    except (
        RuntimeError
    ):  # numba found no writable place for its cache: compile in every process instead
        compiled = numba.njit(**options)(function)
    return compiled
