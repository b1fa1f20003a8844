"""Garbage collection is paused while kernels are compiled."""

import gc
from types import SimpleNamespace

import pytest
from numba.core import event

from selfdict.kernels import collection


def compilation(module):
    """Return the event of a function of a module that is being compiled."""
    function = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    return event.trigger_event("numba:compile", {"dispatcher": function})


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """Listen with a new listener only."""
    monkeypatch.setitem(event._registered, "numba:compile", [])
    collection.install()
    gc.enable()
    yield
    gc.enable()


def test_collection_is_paused_until_the_outermost_kernel_is_compiled():
    with compilation("selfdict.kernels.another"):
        with compilation("selfdict.kernels.callee"):
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_goes_on_after_an_error():
    with pytest.raises(ValueError, match="wrong"), compilation("selfdict.kernels.another"):
        raise ValueError("wrong")
    assert gc.isenabled()


def test_functions_of_others_change_nothing():
    with compilation("somebody.else"):
        assert gc.isenabled()


def test_a_collection_that_was_off_stays_off():
    gc.disable()
    with compilation("selfdict.kernels.another"):
        pass
    assert not gc.isenabled()
