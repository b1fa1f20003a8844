"""Reading without the messages of libraries about damaged files."""

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from rasterio import Env


class _Messages:
    """What several threads that read at the same time share."""

    lock = threading.Lock()
    n_readers = 0
    restore = ExitStack()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep libraries from printing to standard error what they make of a damaged file.

    They warn, and rasterio raises exceptions in callbacks of GDAL, which Python prints and drops. A
    file that cannot be used raises an exception all the same.

    Warnings and the hooks for exceptions belong to the process: the first thread that enters
    changes them, and the last one that leaves restores them.
    """
    with _Messages.lock:
        if _Messages.n_readers == 0:
            _Messages.restore = ExitStack()
            _Messages.restore.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            _Messages.restore.callback(setattr, sys, "unraisablehook", sys.unraisablehook)
            sys.unraisablehook = _ignore
            # Cython prints such an exception by this hook, too.
            _Messages.restore.callback(setattr, sys, "excepthook", sys.excepthook)
            sys.excepthook = _ignore
        _Messages.n_readers += 1
    try:
        # Damaged values may overflow or be NaN, which is no error: such pixels hold no data.
        # Within an Env, GDAL does not print its errors.
        with np.errstate(all="ignore"), Env():
            yield
    finally:
        with _Messages.lock:
            _Messages.n_readers -= 1
            if _Messages.n_readers == 0:
                _Messages.restore.close()


def _ignore(*exception: Any) -> None:
    """Print nothing."""
