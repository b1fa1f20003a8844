"""The line in the log when the kernels take long to compile."""

import logging
from types import SimpleNamespace

import numba
import pytest
from numba.core import event

from selfdict.kernels import notice

LINE = "compiling for this processor: this takes some seconds, the first time only"


@pytest.fixture
def log(monkeypatch, caplog):
    """Listen with a new notice only, and return the log."""
    caplog.set_level(logging.INFO, logger="selfdict")
    monkeypatch.setitem(event._registered, "numba:compile", [])
    notice.install()
    return caplog


def compile_function(module):
    def add_one(x):
        return x + 1

    add_one.__module__ = module
    numba.njit(add_one)(1)


@pytest.mark.parametrize(
    ("module", "limit", "expected"),
    [
        ("selfdict.kernels.another", 0.0, [LINE]),
        ("selfdict.kernels.another", 60.0, []),
        ("somebody.else", 0.0, []),
    ],
)
def test_long_compilations_are_announced_once(monkeypatch, log, module, limit, expected):
    monkeypatch.setattr(notice, "_SECONDS_BEFORE_NOTICE", limit)
    for _ in range(2):
        compile_function(module)
    assert log.messages == expected


def test_seconds_of_several_kernels_add_up_and_callees_count_once(monkeypatch, log):
    function = SimpleNamespace(py_func=SimpleNamespace(__module__="selfdict.kernels.another"))
    clock = SimpleNamespace(perf_counter=lambda: clock.now, now=0.0)
    monkeypatch.setattr(notice, "time", clock)

    def kernel_with_callee():
        with event.trigger_event("numba:compile", {"dispatcher": function}):
            with event.trigger_event("numba:compile", {"dispatcher": function}):
                clock.now += 0.5
            clock.now += 0.2

    kernel_with_callee()
    assert log.messages == []
    kernel_with_callee()
    assert log.messages == [LINE]
