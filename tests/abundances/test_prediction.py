"""How long a fit of many columns is said to take."""

import numpy as np
import pytest

from selfdict.abundances import prediction


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the work moves on."""
    now = [0.0]
    monkeypatch.setattr(prediction.time, "perf_counter", lambda: now[0])
    return now


@pytest.mark.parametrize("fixed", [0.0, 0.3])
@pytest.mark.parametrize("per_column", [1e-5, 2e-3])
def test_what_all_columns_share_counts_once(clock, fixed, per_column):
    def work(columns):
        clock[0] += fixed + per_column * columns.shape[1]

    seconds = prediction.predicted_seconds(work, np.ones((2, 5000)))
    assert seconds == pytest.approx(fixed + 5000 * per_column, rel=1e-6)


def test_a_first_call_that_compiles_is_not_what_others_take(clock):
    calls = []

    def work(columns):
        calls.append(columns.shape[1])
        clock[0] += 1e-3 * columns.shape[1]
        if len(calls) == 1:
            clock[0] += 7.0

    assert prediction.predicted_seconds(work, np.ones((2, 5000))) == pytest.approx(5.0)
    assert calls == [32, 256]


def test_few_columns_are_all_tried(clock):
    def work(columns):
        clock[0] += columns.shape[1]

    assert prediction.predicted_seconds(work, np.ones((2, 7))) == 7.0
