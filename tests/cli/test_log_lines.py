"""What the library logs is shown above the bars on a terminal, and nowhere else."""

import logging

import pytest

from selfdict.cli.console import ProgressBars


@pytest.mark.parametrize(
    ("terminal", "quiet", "shown"), [("1", False, True), ("1", True, False), ("0", False, False)]
)
def test_the_log_is_shown_on_a_terminal(monkeypatch, capsys, terminal, quiet, shown):
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    logger = logging.getLogger("selfdict")
    before = logger.level
    with ProgressBars(quiet):
        logger.info("compiling [for] this\x1b processor")
    assert ("compiling [for] this\ufffd processor" in capsys.readouterr().err) is shown
    logger.warning("later")
    assert "later" not in capsys.readouterr().err
    assert logger.level == before
