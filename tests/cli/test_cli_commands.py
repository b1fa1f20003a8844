"""The other commands: info, convert, rank, demo; hostile names; a quick start."""

import html
import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli.runner import run
from selfdict.cli.console import ProgressLine, json_value
from selfdict.datasets import make_scene
from selfdict.scene import read_scene, write_scene


def in_python(code, *words):
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ("--help", "numpy scipy numba sklearn xarray matplotlib rasterio jinja2"),
        ("info", "scipy numba sklearn dask matplotlib"),
    ],
)
def test_a_command_imports_what_it_needs(cube, command, heavy):
    code = (
        "import sys; from selfdict.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    words = [command]
    if command == "info":
        words.append(cube)
    done = in_python(code, *words)
    assert done.returncode == 0, done.stderr
    assert not set(heavy.split()) & set(done.stderr.split())


def test_missing_click_is_met_with_a_hint():
    code = "import sys; sys.modules['click'] = None; from selfdict.cli import main; main()"
    done = in_python(code)
    assert done.returncode == 2
    assert "selfdict[cli]" in done.stderr


def test_json_holds_no_number_that_it_cannot():
    value = {"a": np.float32(0.5), "b": [np.nan, (np.inf, 1)], 3: np.arange(2), "d": None}
    assert json_value(value) == {"a": 0.5, "b": [None, [None, 1]], "3": [0, 1], "d": None}


def test_convert_keeps_what_the_scene_knows(cube, tmp_path):
    target = tmp_path / "copy.nc"
    result = run("convert", cube, target, "--bands", "2-11")
    assert result.exit_code == 0
    assert result.stdout == f"{target}\n"
    before, after = read_scene(cube), read_scene(target)
    np.testing.assert_array_equal(after.values, before.values[1:11])
    np.testing.assert_array_equal(after["wavelength"].values, before["wavelength"].values[1:11])
    assert run("convert", cube, target).exit_code == 2
    assert run("convert", cube, target, "--force").exit_code == 0
    assert read_scene(target).sizes["band"] == 30


def test_progress_as_json(cube):
    done = run("rank", cube, "--json", "--progress-json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    shares = {line["step"]: line["share"] for line in lines}
    assert shares == {"preflight": 1, "read": 1, "rank": 1}
    assert json.loads(done.stdout)["r"] == 3


def test_rank_recommends_the_number_of_materials(cube):
    ranks = json.loads(run("rank", cube, "--json").stdout)
    assert ranks["r"] == 3
    assert len(ranks["errors"]) > 3
    assert len(ranks["preflight"]) == 2
    # What the plugin for QGIS reads, whose own tests need QGIS.
    plugin = Path(__file__).parents[2] / "qgis" / "selfdict_qgis" / "rank.py"
    assert set(re.findall(r'advice\["(\w+)"\]', plugin.read_text())) <= ranks.keys()
    assert json.loads(run("rank", cube, "--max", 2, "--json").stdout)["r"] == 2


def test_names_of_files_are_data(cube, tmp_path):
    folder = tmp_path / "[bold]odd[bold] name"
    folder.mkdir()
    path = write_scene(read_scene(cube), folder / "a<img src=x>.nc")
    done = run("unmix", path, "-r", 2, "-o", folder / "out [1]", "--method", "spa", "--no-compare")
    assert done.exit_code == 0, done.output
    assert "<img src=x>" not in (folder / "out [1]" / "report.html").read_text(encoding="utf-8")
    missing = run("info", folder / "\x1b[31mmissing\n.nc")
    assert missing.exit_code == 2
    assert "\x1b" not in missing.stderr
    assert len(missing.stderr.splitlines()) == 1


def test_demo(tmp_path):
    out = tmp_path / "demo"
    result = run("demo", "--output", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == str(out / "report.html")
    record = json.loads((out / "run.json").read_text())
    assert record["input"]["path"] == str(out / "scene.hdr")
    assert record["relative_error"] < min(line["relative_error"] for line in record["comparison"])
    assert run("demo", "--output", out).exit_code == 2


def test_real_demo_reads_the_cube_of_tensorly():
    from selfdict.cli.app import demo_scene

    scene, r, title = demo_scene(real=True)
    assert scene.shape == (200, 145, 145)
    assert r == 8
    assert "Indian Pines" in title
    assert float(scene.mean()) == pytest.approx((2652.4 - 1000) / 500, abs=0.01)


def test_the_log_is_shown_on_a_terminal_only(monkeypatch, capsys):
    logger = logging.getLogger("selfdict")
    before = logger.level
    for is_terminal, quiet in ((True, False), (True, True), (False, False)):
        with monkeypatch.context() as patch:
            patch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer)
            with ProgressLine(quiet) as line:
                line.step("read", 0.5)
                logger.info("compiling [for] this\x1b processor")
        shown = capsys.readouterr().err
        assert ("compiling [for] this\ufffd processor" in shown) is (is_terminal and not quiet)
        assert ("Reading" in shown) is (is_terminal and not quiet)
    logger.warning("later")
    assert "later" not in capsys.readouterr().err
    assert logger.level == before


def test_the_findings_of_a_scene_are_everywhere(tmp_path):
    """In ``info``, in the notes of ``unmix``, in its record and in its report."""
    scene = make_scene(shape=(12, 14), n_bands=20, n_endmembers=3, random_state=0).scene
    scene.values[3] = 0.25
    path = write_scene(scene, tmp_path / "cube.nc")
    found = json.loads(run("info", path, "--json").stdout)["findings"]
    assert len(found) > 1
    out = tmp_path / "out"
    done = run("unmix", path, "-r", 2, "--method", "spa", "--no-compare", "-o", out)
    report = html.unescape((out / "report.html").read_text(encoding="utf-8"))
    assert json.loads((out / "run.json").read_text())["preflight"] == found
    for sentence in found:
        assert f"note: {sentence}" in done.stdout
        assert sentence in report.replace("\u00a0", " ")


def test_profile_has_the_stages_of_the_whole_command(cube, tmp_path):
    words = ["-r", 3, "--method", "spa", "--no-compare", "-o", tmp_path / "out"]
    shown = run("unmix", cube, *words, "--profile").stderr.splitlines()
    seconds = {line.split(" s  ")[1]: float(line.split(" s  ")[0]) for line in shown}
    assert {"imports", "open", "abundances", "report", "total"} <= seconds.keys()
    rest = [value for name, value in seconds.items() if name != "total"]
    assert sum(rest) == pytest.approx(seconds["total"], abs=0.1)
