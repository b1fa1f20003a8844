"""What holds for compiled functions in general."""

import logging
import signal
import sys
import time

import numba
import numpy as np
import pytest
from numba.core import event

from selfdict.kernels import jit
from selfdict.kernels.gates import fit_columns
from selfdict.kernels.rank_two import deflate, leading_eigenpairs


def _fit():
    n, k = 300, 5
    Z, state = np.zeros((n, k)), np.zeros((n, k), np.int8)
    fit_columns(np.eye(k), np.ones((n, k)), np.ones(n), np.ones(k), np.full(n, -1), Z, state)


CALLS = {
    "fit_columns": _fit,
    "leading_eigenpairs": lambda: leading_eigenpairs(np.diag(np.arange(30.0))),
    "deflate": lambda: deflate(np.ones((300, 40)), np.empty((300, 40)), np.zeros(40), np.zeros(40)),
}


def _interrupted(kernel):
    """Call a kernel until a timer interrupts it.

    False if the interruption was lost, as in a callback of the garbage collector.
    """
    end = time.monotonic() + 5
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        while time.monotonic() < end:
            kernel()
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="no timers on Windows")
@pytest.mark.parametrize("name", CALLS)
def test_interruptions_are_raised(name):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    CALLS[name]()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # numba makes a SystemError of it where arrays come in a tuple
        assert sum(_interrupted(CALLS[name]) for _ in range(30)) > 20
    finally:
        signal.signal(signal.SIGALRM, before)


def _compile_function_of(module):
    def add_one(x):
        return x + 1

    add_one.__module__ = module
    numba.njit(add_one)(1)


@pytest.mark.parametrize(("module", "n_lines"), [("selfdict.another", 1), ("somebody.else", 0)])
def test_compilation_is_logged_once(module, n_lines, caplog):
    caplog.set_level(logging.INFO, logger="selfdict")
    # The notice of this process has logged its line then.
    _compile_function_of("selfdict.another")
    caplog.clear()
    with event.install_listener("numba:compile", jit._Notice()):
        _compile_function_of(module)
        _compile_function_of(module)
    assert len(caplog.records) == n_lines
