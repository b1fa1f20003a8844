"""Errors of the user are one line and exit code 2; defects show a traceback and exit code 1."""

import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from selfdict import InputError
from selfdict.cli.app import app
from selfdict.cli.source import Source


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("too\n  many\n"), "error: too many"),
        (
            FileNotFoundError(2, "No such file", "cube.npy"),
            "error: [Errno 2] No such file: 'cube.npy'",
        ),
        (ModuleNotFoundError("this needs torch"), "error: this needs torch"),
        (MemoryError(), "error: MemoryError"),
    ],
)
def test_what_a_user_can_change_is_one_line(monkeypatch, error, line):
    def read(self, **options):
        raise error

    monkeypatch.setattr(Source, "read", read)
    result = CliRunner().invoke(app, ["info", "cube.npy"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"{line}\n"


def test_anything_else_is_a_defect(monkeypatch):
    error = ValueError("x")

    def read(self, **options):
        raise error

    monkeypatch.setattr(Source, "read", read)
    result = CliRunner().invoke(app, ["info", "cube.npy"])
    assert (result.exit_code, result.exception, result.output) == (1, error, "")


def test_characters_that_the_terminal_does_not_have_are_no_error(tmp_path):
    path = tmp_path / "größe.npy"
    np.save(path, np.ones((2, 3, 4)))
    result = subprocess.run(
        [sys.executable, "-m", "selfdict", "info", str(path)],
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["--candidates", "9" * 5000],
        ["--roi", "9" * 5000 + ":,:"],
        ["--bands", "9" * 5000],
        ["--time-limit", "1e400"],
        ["--threads", "9" * 30],
    ],
)
def test_numbers_that_python_cannot_convert_are_bad_input(tmp_path, words):
    np.save(tmp_path / "cube.npy", np.ones((2, 3, 4)))
    command = ["unmix", str(tmp_path / "cube.npy"), "-r", "1", "-o", str(tmp_path / "out"), *words]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2
    assert words[0] in result.stderr
    assert not (tmp_path / "out").exists()
