"""No garbage collection while kernels are compiled."""

import gc
from typing import Any

from numba.core import event


class PausedCollection(event.Listener):  # type: ignore[misc]  # numba has no types
    """Pauses Python's garbage collection while numba compiles a kernel of selfdict.

    numba creates hundreds of thousands of objects for a kernel and keeps most of them until it is
    compiled. To search them for garbage every time some more have come takes a tenth of the time.
    """

    def __init__(self) -> None:
        self._depth = 0  # functions that are being compiled, each called by the one before it
        self._paused = False

    def on_start(self, event: Any) -> None:
        """Pause when the outermost function starts."""
        module = event.data["dispatcher"].py_func.__module__
        if self._depth == 0 and gc.isenabled() and module.startswith("selfdict."):
            gc.disable()
            self._paused = True
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Go on when it ends."""
        self._depth -= 1
        if self._depth == 0 and self._paused:
            gc.enable()
            self._paused = False


def install() -> None:
    """Listen to numba from now on."""
    event.register("numba:compile", PausedCollection())
