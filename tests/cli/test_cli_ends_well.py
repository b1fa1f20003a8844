"""However a run ends, its output is complete or has no record of a run."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from selfdict.cli.run import output_folder
from selfdict.datasets import make_scene
from selfdict.scene import SceneError, read_scene, unmix, write_scene


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    scene = make_scene(shape=(150, 150), n_bands=60, n_endmembers=3, random_state=0).scene
    return write_scene(scene, tmp_path_factory.mktemp("scene") / "cube.hdr")


def test_ctrl_c_leaves_nothing(cube, tmp_path):
    out = tmp_path / "out"
    words = ["unmix", str(cube), "-r", "3", "-o", str(out), "--candidates", "all"]
    command = [sys.executable, "-m", "selfdict", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (stdout, stderr.strip()) == ("", "interrupted")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_in_the_solver_ends_unmix(cube):
    # The solver itself returns the best point it has.
    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unmix(read_scene(cube), 3, callback=interrupt, prove=False)


def write_outputs(out, text, *, force=False):
    with output_folder(out, force=force) as folder:
        record = {"selfdict": text, "files": ["run.json", "report.html"]}
        (folder / "run.json").write_text(json.dumps(record))
        (folder / "report.html").write_text(text)


def test_an_error_leaves_the_old_output(tmp_path):
    out = tmp_path / "out"
    write_outputs(out, "old")
    with pytest.raises(KeyboardInterrupt), output_folder(out, force=True):
        raise KeyboardInterrupt
    assert (out / "report.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_an_error_while_files_are_replaced_restores_the_old_ones(tmp_path, monkeypatch, step):
    out = tmp_path / "out"
    write_outputs(out, "old")
    moved = []
    rename = os.rename

    def refuse(old, new):
        moved.append(new.name)
        if len(moved) == step:
            raise KeyboardInterrupt
        rename(old, new)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(KeyboardInterrupt):
        write_outputs(out, "new", force=True)
    # The record leaves first and comes last.
    assert moved[:step] == ["run.json", "report.html", "report.html", "run.json"][:step]
    assert {path.name for path in out.iterdir()} == {"run.json", "report.html"}
    assert (out / "report.html").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_outputs_that_are_not_written_again_are_removed(tmp_path):
    out = tmp_path / "out"
    write_outputs(out, "old")
    with output_folder(out, force=True) as folder:
        (folder / "run.json").write_text("{}")
    assert [path.name for path in out.iterdir()] == ["run.json"]


def test_an_empty_folder_is_filled(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    inode = out.stat().st_ino
    write_outputs(out, "new")
    assert out.stat().st_ino == inode
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_two_runs_with_one_target(tmp_path):
    def run_two():
        with output_folder(tmp_path / "out") as first:
            write_outputs(tmp_path / "out", "second")
            (first / "run.json").write_text("first")

    with pytest.raises(SceneError):
        run_two()
    assert (tmp_path / "out" / "report.html").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_matter(tmp_path, closed):
    path = tmp_path / "cube.npy"
    np.save(path, np.random.default_rng(0).random((12, 15, 20)))
    words = shlex.join([sys.executable, "-m", "selfdict", "unmix", str(path), "-r", "3"])
    out = tmp_path / "out"
    subprocess.run(f"{words} -o {shlex.quote(str(out))} {closed}", shell=True, check=True)
    assert "report.html" in json.loads((out / "run.json").read_text())["files"]
