"""What ``verbose`` means: every step, one line if it takes long, or nothing."""

import time

import numpy as np
import pytest

from selfdict import FGNSR, unmix
from selfdict.compute.announcer import PATIENCE, Announcer
from selfdict.datasets import make_mixtures

M = make_mixtures(20, 100, 3, noise=0.01, random_state=0)[0]
CUBE = M.T.reshape(10, 10, 20)


def wait_for(condition, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_one_line_if_it_takes_long(capsys):
    heard = ""
    with Announcer("fit", None, patience=0.01) as announcer:
        announcer.step("reading")
        while not heard:
            heard = capsys.readouterr().err
        announcer.step("solving")
    assert heard.startswith("fit has been running for 0.01 s: reading.")
    assert "verbose=True" in heard
    assert capsys.readouterr() == ("", "")


def test_every_step_once(capsys):
    with Announcer("fit", True) as announcer:
        for step in ("reading", "reading", "solving"):
            announcer.step(step)
    assert capsys.readouterr() == ("[fit] reading\n[fit] solving\n", "")


@pytest.mark.parametrize("verbose", [None, False])
def test_nothing_of_what_is_quick(verbose, capsys):
    started = time.monotonic()
    with Announcer("fit", verbose) as announcer:
        announcer.step("reading")
    FGNSR(3, verbose=verbose).fit(M.T)
    unmix(CUBE, 3, verbose=verbose)
    if verbose is None and time.monotonic() - started > PATIENCE:
        pytest.skip("the machine is too slow for this")
    assert capsys.readouterr() == ("", "")


def test_estimators_and_scenes_say_the_same(capsys):
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


def test_an_error_ends_the_wait():
    with pytest.raises(ValueError, match="NaN"):
        FGNSR(3).fit(np.full((4, 4), np.nan))
    announcer = Announcer("fit", None)
    with pytest.raises(ZeroDivisionError), announcer:
        raise ZeroDivisionError
    wait_for(lambda: not announcer._timer.is_alive())
    assert not announcer._timer.is_alive()
