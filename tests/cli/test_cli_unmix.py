"""``selfdict unmix``: the same result from every format, whole outputs, one-line errors."""

import csv
import hashlib
import json

import numpy as np
import pytest

from cli.runner import run
from selfdict.datasets import make_scene
from selfdict.scene import build_library, read_scene, unmix, write_scene, write_spectra

WHOLE = {"report.html", "run.json", "endmembers.csv", "endmembers.sli", "endmembers.hdr"}
WHOLE |= {"pixels.geojson", "dominant.tif", "dominant.tif.aux.xml"}


@pytest.fixture(scope="module")
def truth():
    return make_scene(shape=(18, 22), n_bands=40, n_endmembers=4, n_outliers=0, random_state=3)


@pytest.fixture(scope="module")
def cube(truth, tmp_path_factory):
    return write_scene(truth.scene, tmp_path_factory.mktemp("scene") / "cube.hdr")


def unmix_json(*arguments):
    result = run("unmix", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


MAPS = {
    f"{name}.{ending}"
    for name in ("abundances", "uncertainty", "brightness", "residual")
    for ending in ("hdr", "img")
}


def test_outputs_are_whole_and_tell_how_they_were_made(truth, cube, tmp_path):
    out = tmp_path / "out"
    record = unmix_json(cube, "-r", 4, "-o", out, "--candidates", 40, "--seed", 5)
    assert {path.name for path in out.iterdir()} == WHOLE | MAPS
    assert record["files"] == sorted(WHOLE | MAPS)
    assert json.loads((out / "run.json").read_text()) == record
    assert record["parameters"]["seed"] == 5
    for name, file in record["input"]["files"].items():
        stored = (cube.parent / name).read_bytes()
        assert file["bytes"] == len(stored)
        assert file["sha256"] == hashlib.sha256(stored).hexdigest()
    assert set(record["input"]["files"]) == {"cube.hdr", "cube.img"}
    assert record["objective"] >= record["dual_bound"]
    assert 0 <= record["gap"] < 0.05
    for pixel in record["pure_pixels"]:
        assert pixel["index"] == pixel["row"] * 22 + pixel["column"]
        assert pixel["x"] == 500_000 + 30 * (pixel["column"] + 0.5)
        assert pixel["y"] == 5_200_000 - 30 * (pixel["row"] + 0.5)

    # averages, shares with their errors, groups with their weights and a proof
    assert record["parameters"]["endmembers"] == "average"
    assert record["parameters"]["abundances"] == "shares"
    with (out / "endmembers.csv").open() as file:
        assert sum(name.endswith("_spread") for name in next(csv.reader(file))) == 4
    maps = read_scene(out / "abundances.hdr").values
    inside = np.isfinite(maps[0])
    np.testing.assert_allclose(maps[:, inside].sum(axis=0), 1, atol=1e-5)
    errors = read_scene(out / "uncertainty.hdr").values
    assert (errors[:, inside] >= 0).all()
    assert len(record["groups"]) == 4
    for group, needed in zip(record["groups"], record["proof"]["needed"], strict=True):
        assert group["pixels"] >= group["averaged"] >= 1
        assert group["needed"] == needed
    assert record["proof"]["complete"]
    assert record["proof"]["about"].startswith("40 candidates that stand for")
    assert record["figures"]["relative_error"] == record["relative_error"]
    assert record["figures"]["pixels"] == inside.sum()


@pytest.mark.parametrize(
    ("name", "ending"), [("b.tif", ".tif"), ("c.nc", ".nc"), ("d.zarr", ".zarr"), ("e.npy", ".hdr")]
)
def test_every_format_gives_the_same_pixels_and_maps(truth, tmp_path, name, ending):
    # .npy keeps neither a no-data value nor wavelengths and marks of bad bands.
    scene = truth.scene.isel(y=slice(2, -2), x=slice(2, -2)).drop_vars("good_band")
    expected = unmix(scene, 4, method="spa", keep_bands=True)
    path = tmp_path / name
    if path.suffix == ".npy":
        np.save(path, np.moveaxis(scene.values, 0, -1))
    else:
        write_scene(scene, path)
    out = tmp_path / "out"
    options = ["--method", "spa", "--no-compare", "--keep-bands"]
    record = unmix_json(path, "-r", 4, "-o", out, *options)
    pixels = [[pixel["row"], pixel["column"]] for pixel in record["pure_pixels"]]
    assert pixels == expected.pixels.tolist()
    maps = read_scene(out / f"abundances{ending}").values
    np.testing.assert_allclose(maps, expected.abundances.values, atol=1e-5)
    residual = read_scene(out / f"residual{ending}").values[0]
    np.testing.assert_allclose(residual, expected.residual.values, atol=1e-5)


def test_part_of_a_scene(truth, cube, tmp_path):
    mask = np.zeros((18, 22), dtype=np.uint8)
    mask[:, 12:] = 1
    np.save(tmp_path / "mask.npy", mask[..., None])
    part = ["--roi", "4:16,3:20", "--bands", "1-30", "--drop-bad-bands"]
    part += ["--mask", tmp_path / "mask.npy"]
    out = tmp_path / "out"
    record = unmix_json(cube, "-r", 2, "-o", out, "--method", "spa", "--no-compare", *part)
    good = truth.scene["good_band"].values[:30]
    assert record["input"]["bands"] == good.sum()
    assert (record["input"]["rows"], record["input"]["columns"]) == (12, 17)
    assert (record["input"]["first_row"], record["input"]["first_column"]) == (4, 3)
    assert record["parameters"]["drop_bad_bands"] is True
    assert all(pixel["column"] + 3 < 12 for pixel in record["pure_pixels"])
    maps = read_scene(out / "abundances.hdr").values
    np.testing.assert_array_equal(np.isnan(maps[0]), mask[4:16, 3:20] == 1)
    assert "--roi 4:16,3:20" in record["command"]


def test_options_reach_the_solver(cube, tmp_path):
    options = {
        "-r": 3,
        "-o": tmp_path / "a",
        "--candidates": 60,
        "--mu": 0.05,
        "--abundances": "fcls",
        "--endmembers": "pixels",
        "--format": "netcdf",
        "--threads": 1,
        "--time-limit": 30,
    }
    words = [word for option in options.items() for word in option]
    record = unmix_json(cube, *words, "--no-uncertainty", "--no-prove")
    assert record["proof"] is None
    assert not list((tmp_path / "a").glob("uncertainty.*"))
    assert record["pixel_error"] is not None
    assert record["parameters"]["candidates"] == record["candidates"] == 60
    assert record["mu"] == pytest.approx(0.05)
    assert [line["method"] for line in record["comparison"]] == ["SPA", "VCA"]
    sums = read_scene(tmp_path / "a" / "abundances.nc").values.sum(axis=0)
    np.testing.assert_allclose(sums[np.isfinite(sums)], 1, atol=1e-5)


def test_the_folder_has_a_name_by_default_and_is_not_replaced(cube, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["unmix", cube, "-r", 3, "--method", "spa", "--no-compare"]
    first = run(*words)
    assert first.exit_code == 0, first.output
    assert "in cube-unmixed: " in first.stdout
    assert first.stdout.splitlines()[-1] == "cube-unmixed/report.html"
    assert (tmp_path / "cube-unmixed" / "report.html").is_file()
    again = run(*words)
    assert again.exit_code == 2
    assert "cube-unmixed: " in again.stderr
    assert "--force" in again.stderr
    quiet = run(*words, "--force", "--quiet")
    assert (quiet.exit_code, quiet.output) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["cube-unmixed"]


def test_a_library_gives_named_materials(truth, cube, tmp_path):
    names = [f"mineral {k}" for k in range(len(truth.endmembers))]
    library = build_library(truth.endmembers, names, truth.scene["wavelength"].values)
    write_spectra(library.rename(spectrum="endmember"), tmp_path / "library.csv")
    path = tmp_path / "library.csv"
    record = unmix_json(cube, "-r", 3, "-o", tmp_path / "out", "--library", path)
    found = [pixel["name"] for pixel in record["pure_pixels"]]
    assert len(set(found)) == 3
    assert set(found) <= set(names)
    assert f"--library {path}" in record["command"]
    assert record["library"]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert record["comparison"] == []
    assert read_scene(tmp_path / "out" / "abundances.hdr")["band_name"].values.tolist() == found
