"""``selfdict unmix``: the same result from every format, whole outputs, one-line errors."""

import csv
import hashlib
import html
import json

import numpy as np
import pytest
import scipy.io

from cli.runner import run
from selfdict import nnls
from selfdict.cli.outputs import EXPORT_NAMES
from selfdict.datasets import make_scene
from selfdict.scene import build_library, read_scene, unmix, write_scene, write_spectra

WHOLE = {"endmembers.csv", "report.html", "run.json", *EXPORT_NAMES}


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


def spectra_and_bands(folder):
    """Return the columns of endmembers.csv by their names, and the bands, counted from 0."""
    with (folder / "endmembers.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = {}
    for name in rows[0]:
        if name.startswith("endmember_"):
            columns[name] = np.array([float(row[name]) for row in rows])
    return columns, [int(row["band"]) - 1 for row in rows]


def test_outputs_are_whole_and_tell_how_they_were_made(truth, cube, tmp_path):
    out = tmp_path / "out"
    record = unmix_json(cube, "-r", 4, "-o", out, "--candidates", 40, "--seed", 5)
    assert {path.name for path in out.iterdir()} == WHOLE | MAPS
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

    # averages with their spread, shares with their errors, groups with their weights and a proof
    assert record["parameters"]["endmembers"] == "average"
    assert record["parameters"]["abundances"] == "shares"
    columns, bands = spectra_and_bands(out)
    assert len(columns) == 8
    assert all((columns[f"endmember_{k}_spread"] > 0).all() for k in range(1, 5))
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
    assert record["negative_values"]["treatment"] == "used as they are"
    assert record["negative_values"]["n_values"] == inside.sum() * len(bands)

    # the spectra explain the scene as well as the record says, at any brightness
    spectra = np.stack([columns[f"endmember_{k}"] for k in range(1, 5)], axis=1)
    M = truth.scene.values[bands][:, inside].astype(float)
    error = np.linalg.norm(M - spectra @ nnls(spectra, M)) / np.linalg.norm(M)
    assert error <= record["relative_error"] <= 1.05 * error


def test_pixels_and_coefficients(truth, cube, tmp_path):
    out = tmp_path / "out"
    options = ["--endmembers", "pixels", "--abundances", "nnls", "--no-uncertainty", "--no-prove"]
    record = unmix_json(cube, "-r", 4, "-o", out, "--candidates", 40, "--no-compare", *options)
    assert not list(out.glob("uncertainty.*"))
    assert record["proof"] is None
    for option in ("--no-uncertainty", "--no-prove", "--endmembers pixels"):
        assert option in record["command"]
    columns, bands = spectra_and_bands(out)
    for pixel in record["pure_pixels"]:
        values = truth.scene.values[bands, pixel["row"], pixel["column"]]
        np.testing.assert_allclose(columns[f"endmember_{pixel['endmember']}"], values, rtol=1e-6)
    maps = read_scene(out / "abundances.hdr").values
    inside = np.isfinite(maps[0])
    spectra = np.stack([columns[f"endmember_{k}"] for k in range(1, 5)], axis=1)
    M = truth.scene.values[bands][:, inside]
    error = np.linalg.norm(M - spectra @ maps[:, inside]) / np.linalg.norm(M)
    assert error <= record["relative_error"] <= 1.05 * error
    assert record["pixel_error"] == record["relative_error"]


def formats(scene, folder):
    """Yield the scene in every format: the file, and how its maps are written."""
    for name, ending in (
        ("a.hdr", ".hdr"),
        ("b.tif", ".tif"),
        ("c.nc", ".nc"),
        ("d.zarr", ".zarr"),
    ):
        yield write_scene(scene, folder / name), ending
    np.save(folder / "e.npy", np.moveaxis(scene.values, 0, -1))
    yield folder / "e.npy", ".hdr"
    scipy.io.savemat(folder / "f.mat", {"cube": np.moveaxis(scene.values, 0, -1)})
    yield folder / "f.mat", ".hdr"


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_every_format_gives_the_same_pixels_and_maps(truth, tmp_path):
    # .npy and .mat keep neither a no-data value nor wavelengths and marks of bad bands.
    scene = truth.scene.isel(y=slice(2, -2), x=slice(2, -2)).drop_vars("good_band")
    expected = unmix(scene, 4, candidates=40, keep_bands=True, random_state=0)
    options = ["--candidates", 40, "--no-compare", "--keep-bands"]
    for path, ending in formats(scene, tmp_path):
        out = tmp_path / f"out-{path.suffix[1:]}"
        record = unmix_json(path, "-r", 4, "-o", out, *options)
        pixels = [[pixel["row"], pixel["column"]] for pixel in record["pure_pixels"]]
        assert pixels == expected.pixels.tolist(), path.name
        maps = read_scene(out / f"abundances{ending}").values
        np.testing.assert_allclose(maps, expected.abundances.values, atol=1e-5, err_msg=path.name)
        residual = read_scene(out / f"residual{ending}").values[0]
        np.testing.assert_allclose(residual, expected.residual.values, atol=1e-5, err_msg=path.name)


def test_part_of_a_scene(truth, cube, tmp_path):
    mask = np.zeros((18, 22), dtype=np.uint8)
    mask[:, 12:] = 1
    np.save(tmp_path / "mask.npy", mask[..., None])
    part = [
        "--roi",
        "4:16,3:20",
        "--bands",
        "1-30",
        "--drop-bad-bands",
        "--mask",
        tmp_path / "mask.npy",
    ]
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
        "--format": "netcdf",
        "--threads": 1,
        "--time-limit": 30,
    }
    words = [word for option in options.items() for word in option]
    record = unmix_json(cube, *words)
    assert record["parameters"]["candidates"] == record["candidates"] == 60
    assert record["mu"] == pytest.approx(0.05)
    assert [line["method"] for line in record["comparison"]] == ["SPA", "VCA"]
    sums = read_scene(tmp_path / "a" / "abundances.nc").values.sum(axis=0)
    np.testing.assert_allclose(sums[np.isfinite(sums)], 1, atol=1e-5)


def test_a_time_limit_is_one_for_all_steps(cube, tmp_path):
    """Nothing that can be left out is done after it, and all of it is named."""
    result = run("unmix", cube, "-r", 12, "-o", tmp_path / "out", "--time-limit", 0, "--prove")
    assert result.exit_code == 0, result.output
    assert "Warning" not in result.stderr
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["status"] == "max_seconds"
    assert record["comparison"] == []
    report = html.unescape((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert len(record["skipped"]) > 2
    for what in record["skipped"]:
        assert what in result.stdout
        assert what in report


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
    assert run(*words, "--force").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cube-unmixed"]


def test_same_seed_same_bytes(cube, tmp_path):
    for name in "ab":
        unmix_json(
            cube, "-r", 3, "-o", tmp_path / name, "--method", "vca", "--seed", 9, "--no-compare"
        )
    for file in ("endmembers.csv", "abundances.img"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_summary_ends_with_the_report(cube, tmp_path):
    result = run("unmix", cube, "-r", 3, "-o", tmp_path / "out", "--method", "spa", "--no-compare")
    assert result.stdout.splitlines()[-1] == str(tmp_path / "out" / "report.html")
    quiet = run(
        "unmix", cube, "-r", 3, "-o", tmp_path / "q", "--method", "spa", "--no-compare", "--quiet"
    )
    assert (quiet.exit_code, quiet.output) == (0, "")


def test_more_materials_than_bands_leave_the_comparison_out(cube, tmp_path):
    result = run("unmix", cube, "-r", 4, "--bands", "1-3", "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    record = json.loads(result.stdout)
    assert len(record["pure_pixels"]) == 4
    assert record["comparison"] == []
    assert result.stderr.startswith("warning: 4 components are more than the 3 features (bands)")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["-r", "1000"],
        ["-r", "3", "--roi", "50:60,:"],
        ["-r", "3", "--bands", "900"],
        ["-r", "3", "--mask", "nowhere.npy"],
        ["-r", "3", "--library", "nowhere.csv"],
    ],
)
def test_bad_requests_are_one_line_and_write_nothing(cube, tmp_path, words):
    result = run("unmix", cube, "-o", tmp_path / "out", *words)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert list(tmp_path.iterdir()) == []


def test_a_defect_of_the_program_is_not_blamed_on_the_file(cube, tmp_path, monkeypatch):
    monkeypatch.setattr("selfdict.cli.run.unmix_scene", lambda *args, **options: [].remove(0))
    result = run("unmix", cube, "-r", 3, "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert type(result.exception) is ValueError
    assert result.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_a_library_gives_named_materials(truth, cube, tmp_path):
    names = [f"mineral {k}" for k in range(len(truth.endmembers))]
    library = build_library(truth.endmembers, names, truth.scene["wavelength"].values)
    write_spectra(library.rename(spectrum="endmember"), tmp_path / "library.csv")
    record = unmix_json(
        cube, "-r", 3, "-o", tmp_path / "out", "--library", tmp_path / "library.csv"
    )
    found = [pixel["name"] for pixel in record["pure_pixels"]]
    assert len(set(found)) == 3
    assert set(found) <= set(names)
    assert f"--library {tmp_path / 'library.csv'}" in record["command"]
    assert (
        record["library"]["sha256"]
        == hashlib.sha256((tmp_path / "library.csv").read_bytes()).hexdigest()
    )
    assert record["comparison"] == []
    assert read_scene(tmp_path / "out" / "abundances.hdr")["band_name"].values.tolist() == found
