"""However a run ends, its output is complete or does not exist."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from selfdict.cli.folder import atomic_folder
from selfdict.datasets import make_scene
from selfdict.scene import SceneError, read_scene, write_scene

# Runs unmix in forks of a warm process and kills each after a share of the time a whole run takes.
KILLER = """
import os, random, signal, sys, time
from selfdict.cli import main

cube, out = sys.argv[1:]
words = ["unmix", cube, "-r", "3", "-o", out, "--method", "spa", "--threads", "1"]
words += ["--no-compare", "--quiet"]

def run(*more):
    try:
        main([*words, *more])
    except SystemExit as end:
        return end.code

assert run() == 0  # loads everything, so that the forks spend their time in the work itself
began = time.monotonic()
assert run("--force") == 0
whole = time.monotonic() - began
print("whole", flush=True)
chance = random.Random(0)
for k in range(10):
    child = os.fork()
    if child == 0:
        os._exit(run("--force"))
    time.sleep(whole * chance.random())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("killed", flush=True)
    assert sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    scene = make_scene(shape=(60, 60), n_bands=60, n_endmembers=3, random_state=0).scene
    return write_scene(scene, tmp_path_factory.mktemp("scene") / "cube.hdr")


def assert_whole(out):
    assert {path.name for path in out.iterdir()} == {
        "abundances.hdr",
        "abundances.img",
        "endmembers.csv",
        "report.html",
        "residual.hdr",
        "residual.img",
        "run.json",
    }
    assert len(json.loads((out / "run.json").read_text())["pure_pixels"]) == 3
    assert (out / "report.html").read_text(encoding="utf-8").endswith("</html>\n")
    assert read_scene(out / "abundances.hdr").shape == (3, 60, 60)
    assert read_scene(out / "residual.hdr").shape == (1, 60, 60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of a process")
def test_killed_at_ten_moments(cube, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLER, str(cube), str(out)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "whole\n"
        assert_whole(out)
        killed = 0
        while process.stdout.readline() == "killed\n":
            killed += 1
            if out.exists():
                assert_whole(out)
            process.stdin.write("on\n")
            process.stdin.flush()
        assert killed == 10
    # the next run takes away what the killed ones left
    with atomic_folder(out, force=True) as folder:
        (folder / "run.json").write_text("{}")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


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


def test_error_inside_leaves_the_old_output(tmp_path):
    out = tmp_path / "out"
    with atomic_folder(out) as folder:
        (folder / "run.json").write_text("old")

    def fail():
        with atomic_folder(out, force=True) as folder:
            (folder / "run.json").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (out / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_cannot_be_moved_into_place_leaves_the_old_output(tmp_path, monkeypatch):
    out, rename = tmp_path / "out", Path.rename
    with atomic_folder(out) as folder:
        (folder / "run.json").write_text("old")

    def fail():
        with atomic_folder(out, force=True) as folder:
            (folder / "run.json").write_text("new")
            monkeypatch.setattr(
                Path, "rename", lambda a, b: refuse() if a == folder else rename(a, b)
            )

    def refuse():
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert (out / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_nothing_is_replaced_without_force_and_nothing_foreign_with_it(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with atomic_folder(out) as folder:  # an empty folder is no loss
        (folder / "run.json").write_text("1")
    for force, reason in ((False, "--force"), (True, "thesis.tex")):
        if force:
            (out / "thesis.tex").write_text("years of work")
        with pytest.raises(SceneError, match=reason), atomic_folder(out, force=force):
            pytest.fail("must be refused before any work")
    assert (out / "thesis.tex").read_text() == "years of work"
    link = tmp_path / "link"
    link.symlink_to(out)
    with pytest.raises(SceneError, match="no folder"), atomic_folder(link, force=True):
        pytest.fail("must be refused before any work")


@pytest.mark.parametrize(
    "names", [("scene.hdr", "scene.img"), ("run.json", "run.py"), ("report.html", "report.docx")]
)
def test_files_that_only_look_like_outputs_are_never_replaced(tmp_path, names):
    out = tmp_path / "out"
    out.mkdir()
    for name in names:
        (out / name).write_text("mine")
    with pytest.raises(SceneError, match="did not write"), atomic_folder(out, force=True):
        pytest.fail("must be refused before any work")
    assert sorted(path.name for path in out.iterdir()) == sorted(names)


def test_a_running_neighbour_is_left_alone(tmp_path):
    def run_two():
        with atomic_folder(tmp_path / "out") as first:
            with atomic_folder(tmp_path / "out") as second:
                (second / "run.json").write_text("second")
            (first / "run.json").write_text("first")

    with pytest.raises(SceneError, match="exists already"):
        run_two()
    assert (tmp_path / "out" / "run.json").read_text() == "second"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_interruption_between_old_and_new_keeps_the_old(tmp_path, monkeypatch):
    target = tmp_path / "out"
    target.mkdir()
    (target / "run.json").write_text("old")
    rename = Path.rename

    def interrupted(path, new):
        moved = rename(path, new)
        if path == target:
            raise KeyboardInterrupt
        return moved

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_folder(target, force=True) as folder:
        (folder / "run.json").write_text("new")
    assert (target / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
