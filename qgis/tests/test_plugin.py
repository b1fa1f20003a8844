"""The plugin in a QGIS without windows: ``make test-qgis``."""

import csv
import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import h5py
import pytest

from selfdict._display import class_colours
from selfdict.datasets import make_scene
from selfdict.scene import read_scene, write_scene

# Debian's qgis_process is a script that passes an option which the program does not know.
QGIS_PROCESS = shutil.which("qgis_process.bin") or "qgis_process"
QGIS_PYTHON = os.environ.get("QGIS_PYTHON", "/usr/bin/python3")
BUILD = Path(__file__).parents[1] / "build_zip.py"
IN_QGIS = Path(__file__).with_name("in_qgis.py")
NAMES = [f"Material {k}" for k in range(1, 6)]
COLOURS = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in class_colours(5)]
LEGEND = [list(entry) for entry in zip(NAMES, COLOURS)]


class Desk:
    """A QGIS with a profile of its own, in which the plugin is installed."""

    def __init__(self, folder):
        self.folder = folder
        self.profile = folder / "profiles" / "default"
        plugins = self.profile / "python" / "plugins"
        plugins.mkdir(parents=True)
        subprocess.run([sys.executable, str(BUILD), str(folder)], check=True)
        with zipfile.ZipFile(folder / "selfdict_qgis.zip") as archive:
            archive.extractall(plugins)
        # Without the PATH of the tests: QGIS starts the Python that it finds there.
        self.environment = os.environ | {
            "PATH": "/usr/bin:/bin",
            "QGIS_CUSTOM_CONFIG_PATH": str(folder),
            "QT_QPA_PLATFORM": "offscreen",
        }
        self.environment.pop("PYTHONPATH", None)
        self.command("plugins", "enable", "selfdict_qgis")

    def command(self, *words, **environment):
        return subprocess.run(
            [QGIS_PROCESS, *map(str, words)],
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def run(self, algorithm, **parameters):
        """Return the results of an algorithm."""
        words = [f"{name}={value}" for name, value in parameters.items()]
        done = self.command("--json", "run", f"selfdict:{algorithm}", "--", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["results"]

    def refusal(self, algorithm, environment=None, **parameters):
        """Return the message of an algorithm that fails."""
        words = [f"{name}={value}" for name, value in parameters.items()]
        environment = environment or {}
        done = self.command("run", f"selfdict:{algorithm}", "--", *words, **environment)
        assert done.returncode != 0
        return done.stderr

    def inside(self, *words):
        """Return what ``in_qgis.py`` answers."""
        words = [QGIS_PYTHON, str(IN_QGIS), *map(str, words)]
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def bare_desk(tmp_path_factory):
    """A QGIS whose plugin has no command yet."""
    return Desk(tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A QGIS whose setting names the command of this environment."""
    desk = Desk(tmp_path_factory.mktemp("desk"))
    command = desk.folder / "selfdict"
    path = os.environ.get("PYTHONPATH", "")
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" -m selfdict "$@"\n')
    command.chmod(0o755)
    with (desk.profile / "QGIS" / "QGIS3.ini").open("a") as settings:
        settings.write(f"\n[Processing]\nConfiguration\\SELFDICT_COMMAND={command}\n")
    return desk


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    made = make_scene(shape=(60, 60), n_endmembers=5, random_state=1).scene
    return write_scene(made, tmp_path_factory.mktemp("scene") / "scene.tif")


@pytest.fixture(scope="module")
def result(desk, scene, tmp_path_factory):
    # By relative paths, as people type them.
    output = os.path.relpath(tmp_path_factory.mktemp("unmixed") / "result")
    return desk.run("unmix", INPUT=os.path.relpath(scene), MATERIALS=5, OUTPUT=output)


def test_unmix_writes_files_that_open_with_their_styles(desk, result):
    folder = Path(result["OUTPUT"])
    assert Path(result["REPORT"]).is_file()
    assert list(folder.parent.iterdir()) == [folder]
    found = desk.inside("styles", folder)
    assert found["abundances.tif"] == [True, 5, "singlebandpseudocolor", 1, []]
    assert found["dominant.tif"] == [True, 1, "paletted", 1, LEGEND]
    valid, count, kind, _, classes = found["pixels.geojson"]
    assert (valid, kind, classes) == (True, "categorizedSymbol", LEGEND)
    points = json.loads((folder / "pixels.geojson").read_text())["features"]
    assert count == len(points) >= 5


def test_the_desktop_shows_styled_layers(desk, scene, tmp_path):
    picture = os.environ.get("PICTURE", tmp_path / "picture.png")
    answer = desk.inside("show", scene, tmp_path / "result", picture)
    shares = []
    for band, name in enumerate(NAMES, start=1):
        shares.append([f"Share of {name}", True, "singlebandpseudocolor", band, []])
    assert answer["layers"] == [
        ["Pure pixels", True, "categorizedSymbol", None, LEGEND],
        ["Dominant material", True, "paletted", 1, LEGEND],
        *shares,
    ]
    assert answer["ok"]
    assert Path(picture).stat().st_size > 10_000


def test_cancel_leaves_nothing(desk, scene, tmp_path):
    answer = desk.inside("cancel", scene, tmp_path / "result")
    assert answer == {"ok": False, "results": {}}
    assert list(tmp_path.iterdir()) == []
    # The reader of files ends by itself when the command is gone.
    for _ in range(100):
        if not processes_of(scene):
            break
        time.sleep(0.1)
    assert processes_of(scene) == []


def processes_of(path):
    """Return the processes that were started with a path."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if os.fsencode(path) in file.read_bytes():
                found.append(file.parent.name)
        except OSError:
            # It ended meanwhile.
            continue
    return found


def test_rank(desk, scene, tmp_path):
    table = tmp_path / "errors.csv"
    results = desk.run("rank", INPUT=scene, OUTPUT=table)
    assert results["MATERIALS"] == 5
    with table.open() as file:
        errors = [float(row["error"]) for row in csv.DictReader(file)]
    assert errors == sorted(errors, reverse=True)


def test_an_array_of_a_file_with_many(desk, scene, tmp_path):
    path = write_scene(read_scene(scene), tmp_path / "scene.nc")
    with h5py.File(path) as file:
        variable = max(file, key=lambda name: file[name].size)
    assert desk.inside("file", f'NETCDF:"{path}":{variable}') == [str(path), variable]
    assert desk.inside("file", f'HDF5:"{path}"://{variable}') == [str(path), variable]


def test_identify(desk, result, tmp_path):
    """The spectra of a result are their own nearest ones."""
    library = Path(result["OUTPUT"]) / "endmembers.csv"
    table = tmp_path / "materials.csv"
    desk.run("identify", RESULT=result["OUTPUT"], LIBRARY=library, OUTPUT=table)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    for row in rows:
        assert row["nearest_spectrum"] == row["endmember"]
        assert float(row["angle"]) < 0.1


def test_a_folder_with_files_is_refused(desk, scene, tmp_path):
    (tmp_path / "notes.txt").touch()
    assert "not empty" in desk.refusal("unmix", INPUT=scene, OUTPUT=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_error_of_the_command_is_shown(desk, scene, tmp_path):
    refusal = desk.refusal("unmix", INPUT=scene, OUTPUT=tmp_path / "a", EXTRA="--bands 900")
    assert "--bands" in refusal
    assert list(tmp_path.iterdir()) == []


def test_a_layer_that_is_no_file_is_refused(desk, scene, tmp_path):
    archive = tmp_path / "scene.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.write(scene, "scene.tif")
    refusal = desk.inside("file", f"/vsizip/{archive}/scene.tif")
    assert "not a file on this computer" in refusal


def test_without_a_command_the_way_to_one_is_named(bare_desk, scene, tmp_path):
    assert "Set up" in bare_desk.refusal("unmix", INPUT=scene, OUTPUT=tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_setup_that_fails_leaves_nothing(bare_desk):
    assert "code 1" in bare_desk.refusal("setup", {"PIP_NO_INDEX": "1"})
    assert list((bare_desk.profile / "selfdict").iterdir()) == []


def test_an_old_python_is_refused(bare_desk, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    assert "3.11" in bare_desk.refusal("setup", PYTHON=python)


def test_setup_makes_an_environment_that_works(bare_desk, scene):
    """Last, since it changes the profile; it needs an index of packages."""
    folder = Path(bare_desk.run("setup")["ENVIRONMENT"])
    assert folder.is_relative_to(bare_desk.profile)
    assert bare_desk.run("rank", INPUT=scene)["MATERIALS"] == 5
