"""The other commands: info, convert, compare, rank, demo; hostile names; a quick start."""

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
from selfdict.cli.console import json_value
from selfdict.cli.progress import ProgressLine
from selfdict.datasets import make_scene
from selfdict.scene import build_scene, read_scene, write_scene

HOSTILE = "[red]<b>x</b></script>[/]\x1b]0;title\x07"


def test_help_starts_without_the_heavy_libraries():
    code = (
        "import sys; from selfdict.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'numpy', 'scipy', 'numba', 'sklearn', 'xarray', 'matplotlib', 'rasterio'}\n"
        "heavy.add('jinja2')\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert "unmix" in result.stdout


def test_info_imports_what_it_shows(cube):
    code = (
        "import sys; from selfdict.cli import main\n"
        "try: main(['info', sys.argv[1]])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'sklearn', 'numba', 'scipy', 'dask', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(cube)], capture_output=True, text=True, timeout=60
    )
    assert result.stderr == "[]\n"


def test_missing_click_is_met_with_a_hint():
    code = (
        "import sys; sys.modules['click'] = None; from selfdict.cli import main; main(['--help'])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 2
    assert "selfdict[cli]" in result.stderr


def test_json_holds_no_number_that_it_cannot():
    value = {"a": np.float32(0.5), "b": [np.nan, (np.inf, 1)], 3: np.arange(2), "d": None}
    assert json_value(value) == {"a": 0.5, "b": [None, [None, 1]], "3": [0, 1], "d": None}


def test_info(cube):
    facts = json.loads(run("info", cube, "--json").stdout)
    assert (facts["bands"], facts["rows"], facts["columns"]) == (30, 16, 18)
    assert facts["crs"] == "EPSG:32633"
    assert facts["valid_pixels"] == 12 * 14
    assert facts["no_data_value"] == -9999
    assert "EPSG:32633" in run("info", cube).stdout


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


def test_compare_runs_every_method(cube):
    result = run("compare", cube, "-r", 3, "--json")
    assert result.exit_code == 0, result.output
    lines = json.loads(result.stdout)["methods"]
    names = [line["method"] for line in lines]
    assert names == ["SPA", "SNPA", "XRAY", "VCA", "H2NMF", "FGNSR-100", "FGNSR"]
    errors = {line["method"]: line["relative_error"] for line in lines}
    assert errors["FGNSR"] <= errors["VCA"] + 1e-3


def test_progress_as_json(cube):
    done = run("rank", cube, "--json", "--progress-json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    shares = {line["step"]: line["share"] for line in lines}
    assert shares == {"preflight": 1, "read": 1, "rank": 1}
    assert json.loads(done.stdout)["r"] == 3


def test_rank_recommends_the_number_of_materials(cube, tmp_path):
    ranks = json.loads(run("rank", cube, "--json").stdout)
    assert ranks["r"] == 3
    assert len(ranks["errors"]) > 3
    assert len(ranks["preflight"]) == 2
    # What the plugin for QGIS reads, whose own tests need QGIS.
    plugin = Path(__file__).parents[2] / "qgis" / "selfdict_qgis" / "rank.py"
    assert set(re.findall(r'advice\["(\w+)"\]', plugin.read_text())) <= ranks.keys()
    assert json.loads(run("rank", cube, "--max", 2, "--json").stdout)["r"] == 2
    done = run("unmix", cube, "-r", "auto", "-o", tmp_path / "auto", "--no-compare", "--json")
    record = json.loads(done.stdout)
    assert len(record["pure_pixels"]) == 3
    assert record["rank_advice"]["r"] == 3
    assert record["rank_advice"]["sentences"] == ranks["sentences"]
    assert run("unmix", cube, "-r", "many", "-o", tmp_path / "out").exit_code == 2


def test_names_from_files_are_data(tmp_path):
    folder = tmp_path / "[bold]odd[bold] name"
    folder.mkdir()
    scene = build_scene(
        np.random.default_rng(0).random((5, 8, 9)), band_name=[HOSTILE.replace(",", "")] * 5
    )
    path = write_scene(scene, folder / "a<img src=x>.nc")
    shown = run("info", path)
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output
    assert "[red]<b>x</b></script>[/]" in shown.output
    done = run("unmix", path, "-r", 2, "-o", folder / "out [1]", "--method", "spa", "--no-compare")
    assert done.exit_code == 0, done.output
    page = (folder / "out [1]" / "report.html").read_text(encoding="utf-8")
    assert "<img src=x>" not in page
    assert "<b>x</b>" not in page
    assert page.count("</script>") == 2
    missing = run("info", folder / "\x1b[31mmissing\n.nc")
    assert missing.exit_code == 2
    assert "\x1b" not in missing.stderr
    assert len(missing.stderr.splitlines()) == 1


def test_undecodable_file_name(cube, tmp_path):
    path = tmp_path / "odd\udcff.npy"
    np.save(path, np.moveaxis(read_scene(cube).values, 0, -1))
    done = run(
        "unmix", path, "-r", 2, "-o", tmp_path / "out", "--method", "spa", "--no-compare", "--json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["input"]["path"] == str(path)


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
