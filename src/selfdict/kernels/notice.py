"""A line in the log when the kernels take long to compile."""

import logging
import time
from typing import Any

from numba.core import event

_logger = logging.getLogger("selfdict")
_SECONDS_BEFORE_NOTICE = 1.0  # a shorter wait needs no explanation


class CompilationNotice(event.Listener):  # type: ignore[misc]  # numba has no types
    """Logs once, at level INFO, that kernels of selfdict are being compiled, if that takes long.

    numba tells the start and the end of every function that it compiles, whichever the thread, one
    after the other; those of a function that another one calls lie within. It tells nothing of
    functions that come from the cache.
    """

    def __init__(self) -> None:
        self._depth = 0  # functions that are being compiled, each called by the one before it
        self._start = 0.0
        self._seconds = 0.0
        self._logged = False

    def on_start(self, event: Any) -> None:
        """Note when the outermost function starts."""
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Add its seconds when it ends."""
        self._depth -= 1
        if self._depth > 0 or self._logged:
            return
        # The programs that use this package may compile functions of their own.
        if not event.data["dispatcher"].py_func.__module__.startswith("selfdict."):
            return
        self._seconds += time.perf_counter() - self._start
        if self._seconds > _SECONDS_BEFORE_NOTICE:
            self._logged = True
            _logger.info(
                "compiling for this processor: this takes some seconds, the first time only"
            )


def install() -> None:
    """Listen to numba from now on."""
    event.register("numba:compile", CompilationNotice())
