"""``selfdict identify``, ``unmix --names``, and the files for other software."""

import json

import pytest

from cli.runner import run
from scene.mineral_library import mineral_library, mineral_scene
from selfdict.scene import read_library, write_scene, write_spectra

ROWS = [0, 9, 21]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A scene of three minerals, a library, and the output of ``unmix --names``."""
    folder = tmp_path_factory.mktemp("identify")
    library = mineral_library(n_minerals=12, seed=1)
    scene = mineral_scene(library, ROWS)
    write_scene(scene, folder / "scene.hdr")
    write_spectra(library.rename(spectrum="endmember"), folder / "minerals.csv")
    options = ["--candidates", 60, "--no-compare", "--names", folder / "minerals.csv"]
    result = run("unmix", folder / "scene.hdr", "-r", 3, "-o", folder / "out", *options)
    assert result.exit_code == 0, result.output
    (folder / "said.txt").write_text(result.stdout)
    return folder


@pytest.fixture(scope="module")
def minerals(files):
    return set(read_library(files / "minerals.csv")["material"].values[ROWS].tolist())


def test_unmix_names_the_materials_everywhere(files, minerals):
    out = files / "out"
    record = json.loads((out / "run.json").read_text())
    assert {match["material"] for match in record["names"]} == minerals
    assert f"--names {files / 'minerals.csv'}" in record["command"]
    assert len(record["names_library"]["sha256"]) == 64
    said = (files / "said.txt").read_text()
    page = (out / "report.html").read_text()
    labels = read_library(out / "endmembers.sli")["name"].values.tolist()
    for k, match in enumerate(record["names"]):
        label = f"Material {k + 1} ({match['material']})"
        assert match["endmember"] == label == labels[k]
        assert f"{k + 1}. {match['sentence']}" in said
        assert label in page
        assert match["margin"] > 0
        assert match["nearest"][0]["material"] == match["material"]
    assert page.count('class="line library"') == 3


def test_identify_says_the_same_about_a_folder_and_its_files(files, minerals):
    names = []
    for result in ("out", "out/endmembers.csv", "out/endmembers.sli"):
        said = run("identify", files / result, "--library", files / "minerals.csv", "--json")
        assert said.exit_code == 0, said.output
        found = json.loads(said.stdout)
        assert found["notes"] == []
        names.append([match["material"] for match in found["matches"]])
    assert names[0] == names[1] == names[2]
    assert set(names[0]) == minerals


def test_identify_prints_a_table_and_draws(files, tmp_path):
    library = read_library(files / "minerals.csv")
    # Without the first mineral, and with names that look like formulas and formats.
    rest = library.isel(spectrum=library["material"].values != library["material"].values[ROWS[0]])
    names = [f"$\\frac {name} [b]\u4e2d" for name in rest["name"].values]
    rest = rest.assign_coords(name=("spectrum", names))
    path = write_spectra(rest.rename(spectrum="endmember"), tmp_path / "rest.csv")
    figure = tmp_path / "figure.png"
    said = run("identify", files / "out", "--library", path, "--figure", figure)
    assert said.exit_code == 0, said.output
    assert said.stdout.count("no match") == 1
    assert names[-1].split()[1].split("_")[0] in said.stdout
    assert said.stdout.splitlines()[-1] == str(figure)
    assert figure.read_bytes()[:4] == b"\x89PNG"
    assert said.stderr == ""
