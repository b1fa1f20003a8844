"""Time limits that several steps share."""

import time

import pytest

from selfdict import InputError
from selfdict.compute.deadline import Deadline


def test_without_a_limit_nothing_ends():
    deadline = Deadline()
    assert deadline.left is None
    assert not deadline.passed
    assert deadline.affords(1e9)
    assert deadline.part(0.5).left is None


def test_a_limit_passes_and_is_never_negative():
    deadline = Deadline(0.05)
    assert 0 < deadline.left <= 0.05
    assert not deadline.passed
    time.sleep(0.06)
    assert deadline.passed
    assert deadline.left == 0
    assert deadline.part(0.5).passed


def test_what_is_too_short_to_matter_is_done_all_the_same():
    deadline = Deadline(0.01)
    time.sleep(0.02)
    assert deadline.affords(0.0004)
    assert not deadline.affords(0.001)
    assert not Deadline(0).affords(1e-9)


def test_parts_share_what_was_given_up():
    deadline = Deadline(100)
    part = deadline.part(0.3)
    assert 29 < part.left <= 30
    part.give_up("the proof")
    deadline.give_up("the proof")
    deadline.give_up("the comparison")
    assert deadline.given_up == part.given_up == ["the proof", "the comparison"]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_no_time_at_all_is_refused(seconds):
    with pytest.raises(InputError, match="max_seconds must be finite and ≥ 0"):
        Deadline(seconds)
