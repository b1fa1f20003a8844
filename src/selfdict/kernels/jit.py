"""The decorators that compile the kernels, and the memory that these work in."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numpy.typing import DTypeLike, NDArray

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # Reassociation lets LLVM vectorise sums; NaN and infinity keep their meaning.
    "fastmath": {"reassoc", "contract", "arcp"},
    # Division by zero gives infinity or NaN instead of an exception: no test in the loops.
    "error_model": "numpy",
    # Nothing calls a kernel through a C function pointer: that wrapper would only be compiled.
    "no_cfunc_wrapper": True,
    # No reference counts, which would double the time of the smallest solves and of compilation.
    # So no kernel may allocate an array: the function that calls it does.
    "_nrt": False,
}

# For arguments of a helper or a kernel; the types are those that a checker sees.
int64 = cast(Callable[[int], int], np.int64)
unsigned = cast(Callable[[int], int], np.uintp)
boolean = cast(Callable[[bool], bool], np.bool_)


def aligned_zeros(n_rows: int, length: int, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return rows of at least ``length`` zeros, each up to the end of a cache line."""
    line = 64 // np.dtype(dtype).itemsize
    width = -(-length // line) * line
    memory = np.zeros(n_rows * width + line, dtype)
    address, _ = memory.__array_interface__["data"]
    start = -(address // memory.itemsize) % line
    return memory[start : start + n_rows * width].reshape((n_rows, width))


def jit(function: F) -> F:
    """Compile ``function`` without the GIL and cache the machine code on disk."""
    # A function that Python calls must not return a tuple of arrays: numba would turn an
    # interruption that arrives at its end into a SystemError. The cache is renewed when the file of
    # the function changes, but not when that of a function it calls does: helpers belong in the
    # file of their kernels.
    try:
        compiled: F = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        # numba found no writable folder for its cache: compile in every process instead.
        compiled = numba.njit(**_OPTIONS)(function)
    return compiled


def helper(function: F) -> F:
    """Compile ``function`` for kernels that call it several times, not for Python."""
    # It is not cached, since it becomes a part of the kernels. So a kernel is made of the same code
    # whether its helpers were compiled before or not, and gives the same bits. Counters and flags
    # that start with a constant are passed as int64(counter) and boolean(flag): numba would compile
    # the function once for that constant and once for all other values.
    compiled: F = numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)
    return compiled


def inlined(function: F) -> F:
    """Compile ``function`` as part of the kernel that calls it, as if its body stood there."""
    # A call that passes a dozen arrays would take as long as a small solve. Sums are also rounded
    # as in one long function: separately compiled parts would be vectorised differently. An inlined
    # function that calls another one doubles the time that numba needs for it.
    compiled: F = numba.njit(inline="always", **_OPTIONS)(function)
    return compiled


class _Notice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Logs, once, that kernels are compiled: without it the first fit seems to hang."""

    def __init__(self) -> None:
        self.logged = False

    def on_start(self, event: Any) -> None:
        # Programs that use this package may compile functions of their own.
        module = event.data["dispatcher"].py_func.__module__
        if module.startswith("selfdict.") and not self.logged:
            self.logged = True
            logging.getLogger("selfdict").info("compiling for this processor, the first time only")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Notice())
