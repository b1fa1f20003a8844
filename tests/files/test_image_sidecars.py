"""Sidecars of EnMAP and DESIS that are damaged: one line that says what is wrong."""

import os
import subprocess
import sys

import numpy as np
import pytest
from sensor_files import (
    DESIS,
    ENMAP,
    NODATA,
    header_text,
    metadata,
    stored_values,
    write_desis,
    write_enmap,
)

from selfdict.scene import SceneError, read_scene, valid_mask
from selfdict.scene.metadata import notes_of


def refused(path):
    with pytest.raises(SceneError):
        valid_mask(read_scene(path))


@pytest.mark.parametrize("numbers", ["1,2,4,9", "0,2,4,6", "1-6", "9" * 6000, ",", "1,2,,4"])
def test_lists_of_detectors_that_cannot_be_used(tmp_path, numbers):
    path, sidecar = write_enmap(tmp_path)
    sidecar.write_text(metadata().replace("1,2,4,6", numbers))
    scene = read_scene(path)
    assert scene.sizes["band"] == 8
    assert "does not say which detector a band belongs to" in notes_of(scene)[-1]


@pytest.mark.parametrize("spread", ["", "nan", "x"])
def test_damaged_statistics_are_no_loss(tmp_path, spread):
    path, sidecar = write_enmap(tmp_path)
    sidecar.write_text(metadata().replace("0.125</std", f"{spread}</std"))
    assert read_scene(path).good_band.values.tolist() == [True] * 4 + [False, True]


def test_metadata_in_another_encoding(tmp_path):
    path, sidecar = write_enmap(tmp_path)
    sidecar.write_bytes(metadata().replace("UTF-8", "UTF-16").encode("utf-16"))
    assert read_scene(path).sizes["band"] == 6


def test_metadata_of_any_size_is_not_loaded(tmp_path):
    path, sidecar = write_enmap(tmp_path)
    with sidecar.open("wb") as file:
        file.truncate(2**33)
    refused(path)


def test_a_sidecar_that_is_no_file(tmp_path):
    """A pipe would wait for ever, a folder has no bytes."""
    for make in (os.mkfifo, os.mkdir):
        path, sidecar = write_enmap(tmp_path)
        sidecar.unlink()
        make(sidecar)
        assert "is missing" in notes_of(read_scene(path))[0]
        sidecar.rmdir() if sidecar.is_dir() else sidecar.unlink()


@pytest.mark.parametrize("target", ["/etc/passwd", "/dev/zero"])
def test_a_sidecar_that_is_a_link(tmp_path, target):
    path, sidecar = write_enmap(tmp_path)
    sidecar.unlink()
    sidecar.symlink_to(target)
    if target == "/dev/zero":
        assert "is missing" in notes_of(read_scene(path))[0]
    else:
        refused(path)


def test_names_inside_a_sidecar_are_not_used(tmp_path):
    """The metadata list files of the product, and a header may name its data file."""
    _, sidecar = write_enmap(tmp_path)
    sidecar.write_text(metadata(extra="<image><merge><name>/etc/passwd</name></merge></image>"))
    assert read_scene(sidecar).shape == (6, 6, 5)
    _, sidecar = write_desis(tmp_path, changes={"data file": "/etc/passwd"})
    assert read_scene(sidecar).shape == (8, 6, 5)


def test_headers_that_are_none(tmp_path):
    path, sidecar = write_desis(tmp_path)
    sidecar.write_text("#!/bin/sh\n")
    refused(path)
    with sidecar.open("wb") as file:
        file.truncate(2**33)
    refused(path)
    sidecar.write_text(header_text() + "a = {\n" * 100_000)
    assert read_scene(path).sizes["band"] == 8


@pytest.mark.parametrize("write", [write_enmap, write_desis])
def test_images_that_are_cut(tmp_path, write):
    values = np.random.default_rng(0).integers(1, 5000, (8, 60, 50)).astype("int16")
    changes = {}
    if write is write_desis:
        changes = {"changes": {"lines": 60, "samples": 50}}
    path, _ = write(tmp_path, values, **changes)
    whole = path.read_bytes()
    for share in (0.0, 0.01, 0.5, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        refused(path)


# Runs the command for each file; prints the exit codes.
COMMAND = """
import sys
from selfdict.cli import main
for path in sys.argv[1:]:
    try:
        main(["info", path, "--json"])
    except SystemExit as end:
        print("exit", end.code)
"""


def test_the_command_answers_with_one_line(tmp_path):
    for name in ("enmap", "desis"):
        (tmp_path / name).mkdir()
    paths = []
    # Names that are no text: no library opens them, and none may fail in another way.
    for write, stem in ((write_enmap, ENMAP), (write_desis, DESIS)):
        for path in write(tmp_path / write.__name__.removeprefix("write_")):
            name = path.name.replace(stem, "STEM").encode().replace(b"STEM", b"\xff\xfe")
            paths.append(os.fsencode(path.parent) + b"/" + name)
            os.rename(path, paths[-1])
    result = subprocess.run(
        [sys.executable, "-c", COMMAND, *paths], capture_output=True, timeout=300
    )
    assert result.returncode == 0
    assert result.stdout.splitlines() == [b"exit 2"] * len(paths)
    assert len(result.stderr.splitlines()) == len(paths)
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("nodata", [NODATA, None])
def test_gains_and_no_data_of_any_size(tmp_path, nodata):
    """Numbers that leave the range of the values make pixels without data, not a failure."""
    path, sidecar = write_enmap(tmp_path, image={"nodata": nodata})
    text = metadata().replace("0.0005", "1e300").replace(f">{NODATA}<", ">1e30<")
    sidecar.write_text(text)
    scene = read_scene(path)
    assert scene.attrs["_FillValue"] == (nodata or int(1e30))
    assert not valid_mask(scene, drop_bad_bands=True).values.any()
    np.testing.assert_array_equal(scene.values, stored_values()[[0, 1, 3, 5, 6, 7]])
