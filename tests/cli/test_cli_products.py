"""Products and matrices on the command line: --overlap, --shape, gains, and the record of a run."""

import json

import numpy as np
import pytest
from scipy.io import savemat
from sensor_files import NODATA, write_desis, write_enmap

from cli.runner import run
from selfdict.cli.source import parse_shape


def facts(*arguments):
    result = run("info", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_info_tells_the_scale_of_bands(tmp_path):
    write_enmap(tmp_path)
    found = facts(tmp_path)
    assert found["format"] == "enmap"
    assert found["bands"] == 6
    assert found["band_gains"] == [1e-4, 5e-4]
    assert found["band_offsets"] == [0.0, 0.01]
    assert found["scale_factor"] is None
    assert found["no_data_value"] == NODATA


@pytest.mark.parametrize(("overlap", "n_bands"), [("vnir", 6), ("swir", 6), ("both", 8)])
def test_overlap(tmp_path, overlap, n_bands):
    path, _ = write_enmap(tmp_path)
    assert facts(path, "--overlap", overlap)["bands"] == n_bands
    assert run("info", path, "--overlap", "uv").exit_code == 2
    path, _ = write_desis(tmp_path)
    result = run("info", path, "--overlap", overlap)
    assert result.exit_code == 2
    assert "DESIS is read without the option overlap" in result.output


def test_shape(tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.random.default_rng(0).uniform(0.1, 1, (5, 12))})
    found = facts(tmp_path / "a.mat", "--shape", "3,4")
    assert (found["rows"], found["columns"]) == (3, 4)


@pytest.mark.parametrize("text", ["0,3", "3", "3,4,5", "a,b", "-3,4", "9" * 20 + ",1", "٣,٤", ""])
def test_shapes_that_are_none(text):
    with pytest.raises(ValueError, match="--shape must be rows and columns"):
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
