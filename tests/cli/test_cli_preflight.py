"""Each fault of a file: its sentence as ``info`` and ``unmix`` print it, and in the report."""

import html
import json

import numpy as np
import pytest
from click.testing import CliRunner
from test_preflight import FAULTS, clean_scene, clean_values

from selfdict.cli.app import app
from selfdict.scene import write_scene


def run(*arguments):
    done = CliRunner().invoke(app, [str(word) for word in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def report_text(folder):
    """Return the report, its numbers and units separated by plain spaces."""
    text = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    return text.replace("\u00a0", " ")


def check_everywhere(folder, path, expected, *options):
    """Compare the sentences of both commands, of the record and of the report."""
    n_sentences = len(expected)
    said = run("info", path, *options)
    assert said[len(said) - n_sentences :] == expected
    output = folder / "out"
    quick = ["-r", 2, "--method", "spa", "--no-compare", "--no-uncertainty", "-o", output]
    printed = run("unmix", path, *quick, *options)
    notes = [line.removeprefix("note: ") for line in printed if line.startswith("note: ")]
    assert notes[:n_sentences] == expected
    assert json.loads((output / "run.json").read_text())["preflight"] == expected
    report = report_text(output)
    for sentence in expected:
        assert sentence in report


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault(tmp_path, fault):
    scene, expected = FAULTS[fault]
    check_everywhere(tmp_path, write_scene(scene, tmp_path / "cube.nc"), expected)


UNNAMED = "no wavelengths are known: bands are named by their numbers"


def test_the_axis_that_is_taken_as_bands(tmp_path):
    np.save(tmp_path / "cube.npy", clean_values().transpose(1, 2, 0))
    taken = "the axes 12 × 14 × 10 are taken as y, x, band"
    why = ": spectra along the third axis are most alike; layout=… (--layout) takes another"
    check_everywhere(tmp_path, tmp_path / "cube.npy", [taken + why, UNNAMED])


def test_axes_that_cannot_be_told_apart(tmp_path):
    np.save(tmp_path / "cube.npy", np.random.default_rng(0).uniform(0.2, 0.4, (12, 14, 10)))
    guess = (
        "the axes 12 × 14 × 10 are taken as y, x, band, which is a guess: the values do not tell; "
        "layout='bands-first' (--layout bands-first) takes the first axis as the bands"
    )
    check_everywhere(tmp_path, tmp_path / "cube.npy", [guess, UNNAMED])


def test_the_layout_that_was_asked_for(tmp_path):
    np.save(tmp_path / "cube.npy", clean_values())
    told = "the axes 10 × 12 × 14 are band, y, x, as layout says"
    options = ("--layout", "bands-first")
    check_everywhere(tmp_path, tmp_path / "cube.npy", [told, UNNAMED], *options)


def test_bands_that_are_marked_as_bad_and_used(tmp_path):
    scene = clean_scene(good_band=[True] * 6 + [False] * 4)
    path = write_scene(scene, tmp_path / "cube.hdr")
    used = "4 bands are marked as bad and are used all the same: 7–10"
    quick = ["-r", 2, "--method", "spa", "--no-compare", "-o", tmp_path / "out"]
    assert f"note: {used}" in run("unmix", path, *quick, "--keep-bands")
    assert used in report_text(tmp_path / "out")
