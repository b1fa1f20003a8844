"""How numbers are shown; names from files are shown, but never run or obeyed."""

import csv
import re

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from selfdict._display import (
    at_least,
    at_most,
    csv_cell,
    from_csv_cell,
    line,
    number,
    percent,
    plain,
    shortened,
    table,
)
from selfdict.cli.app import app
from selfdict.datasets import make_scene
from selfdict.scene import build_library, read_library, read_scene, write_scene, write_spectra

HOSTILE = [
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1+1",
    "\n=1+2",
    "  =1+1",
    "soil;=1+1",
    "'=1+1",
    "\uff1d1+1",
    "+grass",
    "\x1b[31mred",
    "\x9b31mred",
    "a\x00b\x7f",
    "right\u202eleft",
    "two\u2028lines",
    "{x}, bands = 9",
    "}\nbands = 9",
]
HARMLESS = ["grass", "-0.5", "+1e-3", "Σ μ/ν", "a - b = c", "clay, fine", "O'Hara", "100 %", "草"]
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u202e]")


def test_numbers():
    assert percent(0.012345) == "1.23 %"
    assert [percent(share) for share in (0.0, 1e-9, 0.00012)] == [
        "0 %",
        "less than 0.001 %",
        "0.012 %",
    ]
    assert [percent(share) for share in (0.05, 1.0, 12.345)] == ["5 %", "100 %", "1,234 %"]
    assert {percent(np.inf), percent(None), number(np.nan), at_most(np.inf)} == {"not known"}
    assert number(0.1234567) == "0.123457"


def test_bounds_are_rounded_to_the_safe_side():
    assert [at_most(part) for part in (0.01234, 1e-9, 25.0)] == ["1.3 %", "0.001 %", "2,500 %"]
    assert [at_least(part) for part in (0.01239, 1e-9, 1e9)] == ["1.2 %", "0 %", "10,000 %"]
    rng = np.random.default_rng(0)
    for part in 10 ** rng.uniform(-6, 1, 200):
        upper = float(at_most(part).removesuffix(" %").replace(",", ""))
        lower = float(at_least(part).removesuffix(" %").replace(",", ""))
        assert lower <= 100 * part * (1 + 1e-6) <= upper * (1 + 2e-6)
        assert upper <= max(0.01, 110 * part)
        assert lower >= 90 * part or 100 * part < 0.01


def test_facts():
    assert shortened([str(k) for k in range(5)], most=3) == "0, 1, …, 4"
    assert line("Solution", {"objective": "0.1", "": "converged"}) == (
        "Solution(objective 0.1; converged)"
    )
    assert "&lt;i&gt;" in table("Title", {"name": "<i>"})


@pytest.mark.parametrize("name", HOSTILE)
def test_a_cell_is_no_formula_and_comes_back(name):
    cell = csv_cell(name)
    assert not CONTROL.search(cell)
    for part in cell.split(";"):
        assert part.lstrip()[:1] not in tuple("=+-@\uff1d")
    assert from_csv_cell(cell) == plain(name)


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_names_stay(name):
    assert plain(name) == csv_cell(name) == from_csv_cell(name) == name


def test_a_table_of_spectra(tmp_path):
    values = np.random.default_rng(0).random((len(HOSTILE), len(HOSTILE)))
    spectra = xr.DataArray(
        values - 0.5,
        dims=("endmember", "band"),
        coords={"name": ("endmember", HOSTILE), "band_name": ("band", HOSTILE)},
    )
    path = write_spectra(spectra, tmp_path / "endmembers.csv")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(HOSTILE) + 1
    for cell in (*rows[0], *(row[1] for row in rows)):
        assert cell[:1] not in tuple("=+-@")
        assert not CONTROL.search(cell)
    # Numbers are numbers.
    np.testing.assert_array_equal(np.array([row[2:] for row in rows[1:]], float).T, values - 0.5)
    assert read_library(path)["name"].values.tolist() == [plain(name).strip() for name in HOSTILE]


def test_headers_of_envi(tmp_path):
    scene = make_scene(shape=(8, 9), n_bands=len(HOSTILE), n_endmembers=2, random_state=0).scene
    scene = scene.assign_coords(band_name=("band", HOSTILE))
    write_scene(scene, tmp_path / "cube.hdr")
    write_spectra(scene[:, 0].rename(x="endmember").T, tmp_path / "library.hdr")
    for name in ("cube.hdr", "library.hdr"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert not CONTROL.search(text.replace("\n", ""))
        assert "\nbands = 9" not in text
    assert len(read_scene(tmp_path / "cube.hdr")["band_name"]) == len(HOSTILE)


def test_nothing_reaches_the_terminal_or_the_outputs(tmp_path):
    truth = make_scene(shape=(8, 9), n_bands=20, n_endmembers=3, random_state=0)
    names = [HOSTILE[0], HOSTILE[11], HOSTILE[12]]
    bands = [HOSTILE[k % len(HOSTILE)] for k in range(20)]
    write_scene(truth.scene.assign_coords(band_name=("band", bands)), tmp_path / "cube.nc")
    wavelength = truth.scene["wavelength"].values
    library = build_library(truth.endmembers, names, wavelength)
    np.savez(tmp_path / "lib.npz", spectra=library.values, names=names, wavelength_nm=wavelength)
    out = tmp_path / "out"
    for words in (
        ["info", tmp_path / "cube.nc"],
        ["unmix", tmp_path / "cube.nc", "-r", "2", "--library", tmp_path / "lib.npz", "-o", out],
        ["identify", out, "--library", tmp_path / "lib.npz"],
    ):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        assert not CONTROL.search(result.output.replace("\n", ""))
    texts = [path for path in out.iterdir() if path.suffix in (".csv", ".hdr", ".json", ".geojson")]
    for path in (*texts, out / "dominant.tif.aux.xml"):
        assert not CONTROL.search(path.read_text(encoding="utf-8").replace("\n", "")), path
    with (out / "endmembers.csv").open(newline="", encoding="utf-8") as file:
        assert not any(cell.startswith(tuple("=+-@")) for cell in next(csv.reader(file)))
