"""However a run ends, its output is complete or does not exist."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from selfdict.cli.folder import atomic_folder
from selfdict.datasets import make_scene
from selfdict.scene import SceneError, read_scene, staging, write_scene

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
        "dominant.tif",
        "dominant.tif.aux.xml",
        "endmembers.csv",
        "endmembers.hdr",
        "endmembers.sli",
        "pixels.geojson",
        "report.html",
        "residual.hdr",
        "residual.img",
        "run.json",
        "uncertainty.hdr",
        "uncertainty.img",
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


@pytest.mark.parametrize("step", [1, 2])
def test_a_folder_that_cannot_be_moved_into_place_leaves_the_old_output(
    tmp_path, monkeypatch, step
):
    out = tmp_path / "out"
    with atomic_folder(out) as folder:
        (folder / "run.json").write_text("old")
    steps = []
    replace = os.replace

    def refuse(old, new):
        steps.append(new)
        if len(steps) == step:
            raise OSError("disk full")
        replace(old, new)

    def fail():
        with atomic_folder(out, force=True) as folder:
            (folder / "run.json").write_text("new")
            monkeypatch.setattr(os, "replace", refuse)

    # as on a file system that cannot exchange two names
    monkeypatch.setattr(staging, "exchange", lambda first, second: False)
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


# Replaces outputs, each in a fork of its own that dies before one of the steps of the move; prints
# how each ended. One process makes all forks, because its imports take longest.
DIES = """
import json, os, signal, sys
from pathlib import Path
from selfdict.scene import staging

def dying(step, steps, moment):
    def run(*arguments, **options):
        if len(steps) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        steps.append(step)
        return step(*arguments, **options)
    return run

def write(kind, path, text):
    if kind == "file":
        path.write_text(text)
    elif kind == "folder":
        path.mkdir()
        (path / "run.json").write_text(text)
    else:
        path.write_text("header of " + text)
        path.with_suffix(".img").write_text("data of " + text)

def replace(kind, target, moment, can_exchange):
    if kind != "new pair":
        with staging.staged(target) as path:
            write(kind, path, "old")
    if not can_exchange:
        staging.exchange = lambda first, second: False
    steps = []
    with staging.staged(target, overwrite=True) as path:
        write(kind, path, "new")
        os.replace = dying(os.replace, steps, moment)
        staging.exchange = dying(staging.exchange, steps, moment)
        staging.shutil.rmtree = dying(staging.shutil.rmtree, steps, moment)

for case in sys.argv[2:]:
    kind, can_exchange = case.split(",")
    codes = []
    for moment in range(8):
        folder = Path(sys.argv[1], case, str(moment))
        folder.mkdir(parents=True)
        child = os.fork()
        if child == 0:
            replace(kind, folder / "out.hdr", moment, can_exchange == "yes")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        codes.append(os.waitstatus_to_exitcode(status))
    print(json.dumps(codes))
"""
REPLACEMENTS = [
    f"{kind},{can_exchange}"
    for kind in ("file", "folder", "pair", "new pair")
    for can_exchange in ("yes", "no")
]


@pytest.fixture(scope="module")
def replacements(tmp_path_factory):
    """By case: the folders of the forks that died at each moment, and their exit codes."""
    folder = tmp_path_factory.mktemp("replacements")
    command = [sys.executable, "-c", DIES, str(folder), *REPLACEMENTS]
    result = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    found = {}
    for case, line in zip(REPLACEMENTS, lines, strict=True):
        folders = [folder / case / str(moment) for moment in range(8)]
        found[case] = (folders, json.loads(line))
    return found


def contents(kind, target):
    """Return what stands at the target, None if nothing whole does."""
    if kind == "file":
        return target.read_text() if target.is_file() else None
    if kind == "folder":
        return (target / "run.json").read_text() if target.is_dir() else None
    if not target.is_file():
        return None
    header = target.read_text().removeprefix("header of ")
    # a header never describes other data
    assert target.with_suffix(".img").read_text() == f"data of {header}"
    return header


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of a process")
@pytest.mark.parametrize("case", REPLACEMENTS)
def test_killed_between_the_steps_of_a_replacement(replacements, case):
    kind = case.split(",")[0]
    folders, codes = replacements[case]
    n_killed = codes.count(-signal.SIGKILL)
    # the last ones have fewer steps than they were to die after
    assert codes == [-signal.SIGKILL] * n_killed + [0] * (8 - n_killed)
    assert 0 < n_killed < 8
    for k, folder in enumerate(folders):
        # the next one fails, but first it restores what the killed one had moved away
        with pytest.raises(RuntimeError), staging.staged(folder / "out.hdr", overwrite=True):
            raise RuntimeError
        found = contents(kind, folder / "out.hdr")
        names = {path.name for path in folder.iterdir()}
        assert names <= {"out.hdr", "out.img"}
        if k >= n_killed:
            assert found == "new"
        elif kind == "new pair" and found is None:
            assert not names
        else:
            assert found in ("old", "new")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forks of a process")
@pytest.mark.parametrize("moment", [0, 1, 2])
def test_the_next_run_restores_the_output_of_a_killed_one(tmp_path, moment):
    out = tmp_path / "out"
    with atomic_folder(out) as folder:
        (folder / "run.json").write_text("old")
    child = os.fork()
    if child == 0:
        steps = []

        def die(*arguments):
            if len(steps) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            steps.append(arguments)
            return rename(*arguments)

        rename = os.rename
        os.rename = os.replace = die
        staging.exchange = lambda first, second: False
        with atomic_folder(out, force=True) as folder:
            (folder / "run.json").write_text("new")
        os._exit(0)
    os.waitpid(child, 0)

    def fail():
        with atomic_folder(out, force=True):
            raise SceneError("cube.hdr", "no such file")

    with pytest.raises(SceneError):
        fail()
    assert (out / "run.json").read_text() in ("old", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# Presses Ctrl-C while the output moves to its place, and again when the process ends.
TOO_LATE = """
import atexit, os, signal, sys
from selfdict.scene import staging

def press():
    os.kill(os.getpid(), signal.SIGINT)

def replace(old, new):
    rename(old, new)
    press()

rename = os.rename
os.rename = os.replace = replace
atexit.register(press)
from selfdict.cli import main
main()
"""


def test_ctrl_c_after_the_output_is_complete_comes_too_late(cube, tmp_path):
    folder = tmp_path / "out"
    words = ["unmix", str(cube), "-r", "3", "-o", str(folder), "--method", "spa", "--no-compare"]
    convert = ["convert", str(cube), str(tmp_path / "out.tif")]
    for arguments in (words, convert):
        result = subprocess.run(
            [sys.executable, "-c", TOO_LATE, *arguments],
            capture_output=True,
            text=True,
            timeout=100,
        )
        # in the first run files inside the folder are moved, too, long before it is complete
        expected = {words[0]: (130, "interrupted"), convert[0]: (0, "")}[arguments[0]]
        assert (result.returncode, result.stderr.strip()) == expected
    assert [path.name for path in tmp_path.iterdir()] == ["out.tif"]


def test_a_folder_outside_a_command_leaves_ctrl_c_alone(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with atomic_folder(tmp_path / "out", force=False) as folder:
        (folder / "file").write_text("whole")
    assert signal.getsignal(signal.SIGINT) is before
