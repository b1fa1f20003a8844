"""Errors of the user are one line and exit code 2, defects exit code 1; messages name options."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from affine import Affine

from cli.runner import run
from selfdict import InputError
from selfdict.cli.run import map_format
from selfdict.cli.source import Source
from selfdict.scene import SceneError, build_scene

QUICK = ["-r", "3", "--method", "spa", "--no-compare"]


def info_with(monkeypatch, error):
    def read(self, **options):
        raise error

    monkeypatch.setattr(Source, "read", read)
    return run("info", "cube.npy")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (InputError("too\n  many\n"), "too many"),
        (FileNotFoundError(2, "No such file", "x.npy"), "[Errno 2] No such file: 'x.npy'"),
        (ModuleNotFoundError("this needs torch"), "this needs torch"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_what_a_user_can_change_is_one_line(monkeypatch, error, line):
    result = info_with(monkeypatch, error)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {line}\n")


def test_anything_else_is_a_defect(monkeypatch):
    error = ValueError("x")
    result = info_with(monkeypatch, error)
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
    result = run("unmix", tmp_path / "cube.npy", "-r", 1, "-o", tmp_path / "out", *words)
    assert result.exit_code == 2
    assert words[0] in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_warning_comes_before_what_it_warns_of(cube, tmp_path):
    words = ["-r", 4, "--bands", "1-3", "--method", "snpa", "--no-compare", "--progress-json"]
    lines = run("unmix", cube, *words, "-o", tmp_path / "out").stderr.splitlines()
    (warned,) = (k for k, line in enumerate(lines) if line.startswith("warning: "))
    assert all("abundances" not in line for line in lines[:warned])
    assert '"step": "abundances"' in lines[-1]


def test_an_output_whose_name_is_not_utf_8_is_refused_before_the_work(cube, tmp_path):
    result = run("unmix", cube, *QUICK, "-o", tmp_path / os.fsdecode(b"caf\xe9"))
    assert result.exit_code == 2
    assert result.stderr.endswith("the name is not UTF-8: choose another output by --output\n")
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_an_input_whose_name_is_not_utf_8(cube, tmp_path):
    for suffix in (".hdr", ".img"):
        odd = tmp_path / os.fsdecode(b"caf\xe9" + suffix.encode())
        odd.write_bytes(cube.with_suffix(suffix).read_bytes())
    result = run("unmix", odd.with_suffix(".hdr"), *QUICK, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "run.json").exists()


def test_record_and_report_name_options_not_arguments(tmp_path):
    np.save(tmp_path / "plain.npy", np.random.default_rng(0).random((12, 14, 10)))
    out = tmp_path / "out"
    result = run("unmix", tmp_path / "plain.npy", *QUICK, "--seed", "4", "-o", out)
    assert result.exit_code == 0, result.output
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["parameters"]["seed"] == 4
    assert record["parameters"]["rank"] == 3
    assert not {"r", "random_state", "max_seconds"} & record["parameters"].keys()
    for text in (json.dumps(record), (out / "report.html").read_text(encoding="utf-8")):
        assert "--layout bands-first" in text
        assert "layout='" not in text


def south_up():
    values = np.random.default_rng(0).random((5, 6, 7))
    return build_scene(values, crs="EPSG:32633", transform=Affine(10, 0, 5e5, 0, 10, 5e6))


def test_a_grid_that_envi_cannot_hold_is_written_as_geotiff():
    name, notes = map_format(None, Source(Path("cube.h5")), south_up())
    assert name == "geotiff"
    assert len(notes) == 1
    with pytest.raises(SceneError):
        map_format("envi", Source(Path("cube.h5")), south_up())
    north_up = build_scene(np.ones((2, 3, 4)), transform=Affine(10, 0, 0, 0, -10, 0))
    assert map_format(None, Source(Path("cube.h5")), north_up) == ("envi", [])


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break in another way there")
@pytest.mark.parametrize("command", ["unmix", "info"])
def test_a_reader_that_leaves_does_not_fail_the_run(cube, tmp_path, command):
    words = []
    if command == "unmix":
        words = [*QUICK, "-o", tmp_path / "out"]
    words = [sys.executable, "-m", "selfdict", command, cube, *words]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # as ``| head`` does
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert (process.wait(timeout=120), errors) == (0, "")
    assert (tmp_path / "out" / "run.json").exists() == (command == "unmix")
