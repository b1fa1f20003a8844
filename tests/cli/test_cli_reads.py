"""What a run reads and records of its input, and the command that repeats it."""

import json
import shlex

import pytest
from click.testing import CliRunner
from counting_scene import counted

from selfdict.cli.app import app
from selfdict.cli.source import Source
from selfdict.datasets import make_scene
from selfdict.scene import write_scene


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    scene = make_scene(shape=(30, 14), n_bands=30, n_endmembers=3, random_state=0).scene
    return write_scene(scene, tmp_path_factory.mktemp("scene") / "cube.hdr")


@pytest.fixture
def array(cube, monkeypatch):
    """Count what is read of the scene, whatever the command."""
    scene, array = counted(Source(cube).read())
    monkeypatch.setattr(Source, "read", lambda self, **options: scene)
    return array


def run(*arguments):
    result = CliRunner().invoke(app, [str(word) for word in arguments])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("fits", [True, False])
def test_a_run_reads_a_scene_at_most_three_times(cube, array, tmp_path, monkeypatch, fits):
    most = 1
    if not fits:
        monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
        # and three of 30 bands for the image in the report
        most = 3 + 3 / 30
    words = [cube, "-r", 3, "--candidates", 40, "--json"]
    record = run("unmix", *words, "-o", tmp_path / "out")
    assert [row["method"] for row in record["comparison"]] == ["SPA", "VCA"]
    assert array.n_times <= most
    # A hash would read the file once more.
    hashes = {file["sha256"] is not None for file in record["input"]["files"].values()}
    assert hashes == {fits}


def test_comparing_all_methods_reads_a_scene_three_times(cube, array, monkeypatch):
    monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
    assert len(run("compare", cube, "-r", 3, "--json")["methods"]) == 7
    assert array.n_times == 3


@pytest.mark.parametrize(
    "words",
    [
        ["-r", 3, "--roi", "2:28,1:13", "--bands", "1-25", "--no-uncertainty", "--no-compare"],
        ["-r", "auto", "--method", "vca", "--seed", 4, "--abundances", "fcls", "--keep-bands"],
    ],
)
def test_the_recorded_command_repeats_the_run(cube, tmp_path, words):
    first = run("unmix", cube, *words, "-o", tmp_path / "a", "--json")
    command = shlex.split(first["command"])
    assert command[:2] == ["selfdict", "unmix"]
    again = [word.replace("OUTPUT", str(tmp_path / "b")) for word in command[1:]]
    second = run(*again, "--json")
    assert second["command"] == first["command"]
    assert second["pure_pixels"] == first["pure_pixels"]
    assert second["parameters"].keys() == first["parameters"].keys()
    assert second["relative_error"] == first["relative_error"]
