"""What a command reads and records of its input, and the command that repeats a run."""

import json
import shlex

import numpy as np
import pytest
from counting_scene import counted
from sensor_files import NODATA, write_enmap

from cli.runner import run
from selfdict import InputError
from selfdict.cli.source import Source, parse_shape


@pytest.fixture
def array(cube, monkeypatch):
    """Count what is read of the scene, whatever the command."""
    scene, array = counted(Source(cube).read())
    monkeypatch.setattr(Source, "read", lambda self, **options: scene)
    return array


def answer(*words):
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("fits", [True, False])
def test_a_run_reads_a_scene_at_most_three_times(cube, array, tmp_path, monkeypatch, fits):
    most = 1
    if not fits:
        monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
        # and three of 30 bands for the image in the report
        most = 3 + 3 / 30
    words = [cube, "-r", 3, "--candidates", 40]
    record = answer("unmix", *words, "-o", tmp_path / "out")
    assert [row["method"] for row in record["comparison"]] == ["SPA", "VCA"]
    assert array.n_times <= most
    # A hash would read the file once more.
    hashes = {file["sha256"] is not None for file in record["input"]["files"].values()}
    assert hashes == {fits}


def test_comparing_all_methods_reads_a_scene_three_times(cube, array, monkeypatch):
    monkeypatch.setattr("selfdict.scene.plan.physical_memory", lambda: 0.0)
    assert len(answer("compare", cube, "-r", 3)["methods"]) == 7
    assert array.n_times == 3


@pytest.mark.parametrize(
    "words",
    [
        ["-r", 3, "--roi", "2:14,1:17", "--bands", "1-25", "--no-uncertainty", "--no-compare"],
        ["-r", "auto", "--method", "vca", "--seed", 4, "--abundances", "fcls", "--keep-bands"],
    ],
)
def test_the_recorded_command_repeats_the_run(cube, tmp_path, words):
    first = answer("unmix", cube, *words, "-o", tmp_path / "a")
    command = shlex.split(first["command"])
    assert command[:2] == ["selfdict", "unmix"]
    again = [word.replace("OUTPUT", str(tmp_path / "b")) for word in command[1:]]
    second = answer(*again)
    assert second["command"] == first["command"]
    assert second["pure_pixels"] == first["pure_pixels"]
    assert second["parameters"].keys() == first["parameters"].keys()
    assert second["relative_error"] == first["relative_error"]


def test_info_tells_the_scale_of_bands(tmp_path):
    write_enmap(tmp_path)
    found = answer("info", tmp_path)
    assert found["format"] == "enmap"
    assert found["bands"] == 6
    assert found["band_gains"] == [1e-4, 5e-4]
    assert found["band_offsets"] == [0.0, 0.01]
    assert found["scale_factor"] is None
    assert found["no_data_value"] == NODATA


@pytest.mark.parametrize("text", ["0,3", "3", "3,4,5", "a,b", "-3,4", "9" * 20 + ",1", "٣,٤", ""])
def test_shapes_that_are_none(text):
    with pytest.raises(InputError):
        parse_shape(text)


def test_a_run_records_the_options_and_the_files(tmp_path):
    values = np.random.default_rng(0).integers(100, 6000, (8, 9, 10)).astype("int16")
    image, sidecar = write_enmap(tmp_path, values)
    result = run(
        "unmix", sidecar, "-r", 2, "-o", tmp_path / "out", "--method", "spa", "--overlap", "swir"
    )
    assert result.exit_code == 0, result.output
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert set(record["input"]["files"]) == {image.name, sidecar.name}
    assert record["parameters"]["overlap"] == "swir"
    assert "--overlap swir" in record["command"]
    # Maps are GeoTIFFs, as the image of the product.
    assert (tmp_path / "out" / "abundances.tif").is_file()
