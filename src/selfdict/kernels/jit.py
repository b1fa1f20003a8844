"""The decorators that compile the kernels."""

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    # Reassociation lets LLVM vectorise sums; NaN and infinity keep their meaning.
    "fastmath": {"reassoc", "contract", "arcp"},
    # Division by zero gives infinity or NaN instead of an exception: no test in the loops.
    "error_model": "numpy",
}


def jit(function: F) -> F:
    """Compile ``function`` without the GIL and cache the machine code on disk.

    A function that Python calls must not return a tuple of arrays: numba would turn an interruption
    that arrives at its end into a ``SystemError``.

    The cache is renewed when the file of the function changes, but not when the file of a kernel
    that it calls does: after a change in ``aligned.py``, ``gram_factor.py`` or ``triangular.py``,
    delete the cache.
    """
    return _compile(function, _OPTIONS)


def jit_without_allocation(function: F) -> F:
    """Do the same for a function that allocates no arrays.

    Such a function needs no reference counts of arrays, which would double the time of the smallest
    solves, above all where :func:`inlined` parts take many arrays.
    """
    return _compile(function, {**_OPTIONS, "_nrt": False})


def inlined(function: F) -> F:
    """Compile ``function`` as part of the kernels that call it, as if its body stood there.

    A call that passes a dozen arrays would take as long as a small solve. Sums are also rounded as
    in one long function: separately compiled parts would be vectorised differently.
    """
    compiled: F = numba.njit(inline="always", **_OPTIONS)(function)
    return compiled


def _compile(function: F, options: dict[str, Any]) -> F:
    try:
        compiled: F = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # numba found no writable folder for its cache: compile in every process instead.
        compiled = numba.njit(**options)(function)
    return compiled
