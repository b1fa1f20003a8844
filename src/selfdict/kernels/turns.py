"""Threads inside a compiled kernel take turns: each takes the next slice, without Python or the GIL.

A millisecond of products leaves nothing of Python in cache. Handing out slices from there takes tenths of a millisecond
each time, and waking a thread that sleeps about as long; this takes a microsecond.
"""

from typing import Any

from numba import types
from numba.extending import intrinsic

from selfdict._validation import Array
from selfdict.kernels.jit import jit


@intrinsic  # type: ignore[untyped-decorator]
def _fetch_add(context: Any, counters: Any, k: Any, amount: Any) -> Any:
    """Add to an entry of an int64 array in one indivisible step; return what it was before."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.atomic_rmw("add", builder.gep(data, [values[1]]), values[2], "seq_cst")

    return types.int64(counters, types.int64, types.int64), generate


@jit
def take(counters: Array, k: int) -> int:
    """Return the value of counter k and increase it by one: no two threads get the same."""
    before: int = _fetch_add(counters, k, 1)
    return before


@jit
def wait_for(counters: Array, k: int, value: int) -> None:
    """Return once counter k has reached a value; look at it all the while."""
    while _fetch_add(counters, k, 0) < value:
        pass
