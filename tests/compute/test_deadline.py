"""Time limits that several steps share, and messages of computations that take long."""

import time
from contextlib import redirect_stderr
from io import StringIO

import numpy as np
import pytest

from selfdict import FGNSR, InputError, unmix
from selfdict.compute.deadline import Announcer, Deadline, in_words, predicted_seconds
from selfdict.datasets import make_mixtures


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the work moves on."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def test_no_limit():
    deadline = Deadline()
    assert deadline.left is None
    assert not deadline.passed
    assert deadline.affords(1e9)
    assert deadline.part(0.5).left is None


def test_limit_passes_and_is_never_negative(clock):
    deadline = Deadline(10)
    clock[0] = 4.0
    assert deadline.left == 6
    assert not deadline.passed
    assert deadline.affords(5)
    assert not deadline.affords(7)
    clock[0] = 11.0
    assert deadline.passed
    assert deadline.left == 0
    assert deadline.part(0.5).passed
    # negligible steps are always afforded
    assert deadline.affords(0.4)
    assert not deadline.affords(1)
    assert not Deadline(0).affords(1e-9)


def test_durations_in_words():
    words = [in_words(seconds) for seconds in (40.0, 62.0, 100.0, 20_000.0)]
    assert words == ["40 s", "a minute", "2 minutes", "6 hours"]


def test_parts_share_what_was_skipped():
    deadline = Deadline(100)
    part = deadline.part(0.3)
    assert 29 < part.left <= 30
    part.skip("the proof")
    deadline.skip("the proof")
    deadline.skip("the comparison")
    assert deadline.skipped == part.skipped == ["the proof", "the comparison"]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_invalid_limits_are_refused(seconds):
    with pytest.raises(InputError):
        Deadline(seconds)


@pytest.mark.parametrize("fixed", [0.0, 0.3])
@pytest.mark.parametrize("per_column", [1e-5, 2e-3])
def test_predicted_time_counts_fixed_costs_once(clock, fixed, per_column):
    def work(columns):
        clock[0] += fixed + per_column * columns.shape[1]

    seconds = predicted_seconds(work, np.ones((2, 5000)))
    assert seconds == pytest.approx(fixed + 5000 * per_column, rel=1e-6)


def test_predicted_time_excludes_compilation(clock):
    calls = []

    def work(columns):
        calls.append(columns.shape[1])
        clock[0] += 1e-3 * columns.shape[1]
        if len(calls) == 1:
            clock[0] += 7.0

    assert predicted_seconds(work, np.ones((2, 5000))) == pytest.approx(5.0)
    assert calls == [32, 256]


def test_predicted_time_of_few_columns_is_measured(clock):
    def work(columns):
        clock[0] += columns.shape[1]

    assert predicted_seconds(work, np.ones((2, 7))) == 7.0


M = make_mixtures(20, 100, 3, noise=0.01, random_state=0)[0]
CUBE = M.T.reshape(10, 10, 20)


def test_long_runs_print_one_line():
    # not what pytest captures: reading that empties it, and would lose a line printed meanwhile
    with redirect_stderr(StringIO()) as heard, Announcer("fit", None, patience=0.01) as announcer:
        announcer.step("reading")
        while not heard.getvalue().endswith("\n"):
            time.sleep(0.001)
        announcer.step("solving")
    (line,) = heard.getvalue().splitlines()
    assert line.startswith("fit has been running for 0.01 s: reading.")
    assert "verbose=True" in line


def test_verbose_prints_every_step_once(capsys):
    with Announcer("fit", True) as announcer:
        for step in ("reading", "reading", "solving"):
            announcer.step(step)
    assert capsys.readouterr() == ("[fit] reading\n[fit] solving\n", "")


@pytest.mark.parametrize("verbose", [None, False])
def test_quick_runs_print_nothing(verbose, capsys):
    with Announcer("fit", verbose, patience=1000) as announcer:
        announcer.step("reading")
    FGNSR(3, verbose=False).fit(M.T)
    unmix(CUBE, 3, verbose=False)
    assert capsys.readouterr() == ("", "")


def test_verbose_estimators_and_scenes(capsys):
    FGNSR(3, verbose=True).fit(M.T)
    fit = capsys.readouterr().out
    assert fit.startswith("[FGNSR] solving the model\n")
    assert "gap" in fit
    unmix(CUBE, 3, verbose=True)
    whole = capsys.readouterr().out
    assert whole.startswith("[unmix] ")
    assert "[FGNSR] choosing the points" in whole
    unmix(CUBE, 3, method="spa", verbose=True)
    assert "[unmix] mapping abundances" in capsys.readouterr().out


def test_error_cancels_the_message():
    announcer = Announcer("fit", None)
    with pytest.raises(ZeroDivisionError), announcer:
        raise ZeroDivisionError
    announcer._timer.join(30)
    assert not announcer._timer.is_alive()
