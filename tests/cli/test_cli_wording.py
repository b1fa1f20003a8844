"""What the commands print is that of golden files, one per command; numbers are left out.

``python -m pytest tests/cli/test_cli_wording.py --renew-golden`` writes the files anew: read the
difference before you commit it.
"""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from cli.runner import run
from scene.mineral_library import mineral_library
from selfdict.scene import write_spectra

GOLDEN = Path(__file__).parent / "golden"
QUICK = "--method spa --no-compare"
COMMANDS = {
    "unmix": [
        "unmix cube.hdr -r 3 --candidates 40 --prove -o out",
        "unmix cube.hdr -r 3 --candidates 40 --prove -o out",
        "unmix cube.hdr -r auto --time-limit 0 --prove -o late",
        f"unmix cube.hdr -r 2 {QUICK} --names minerals.csv -o named",
        "unmix cube.hdr -r 2 --library minerals.csv -o chosen",
        f"unmix plain.npy -r 2 {QUICK} -o plain",
        "unmix cube.hdr -r 4 --bands 1-3 --candidates 40 -o more",
        f"unmix cube.hdr -r 3 {QUICK} --bands 1-2 -o few",
        "unmix cube.hdr -r 1000 -o many",
        "unmix cube.hdr -r some",
        "unmix cube.hdr -r 3 --candidates few",
        "unmix cube.hdr -r 3 --mu -1",
        "unmix cube.hdr -r 3 --roi rows",
        "unmix cube.hdr -r 3 --roi 50:60,:",
        "unmix cube.hdr -r 3 --bands 0-5",
        "unmix cube.hdr -r 3 --bands 25-31",
        "unmix cube.hdr -r 3 --mask nowhere.npy",
        "unmix cube.hdr -r 3 --library far.csv",
        "unmix cube.hdr -r 3 --library none.csv",
        "unmix cube.hdr -r 3 --method spa --library far.csv",
        "unmix cube.hdr -r 3 --method spa --prove",
        "unmix cube.hdr -r 3 --method spa --time-limit 5",
        "unmix cube.hdr -r 3 --method spa --endmembers average",
        "unmix --help",
        "unmix --help-all",
    ],
    "info": [
        "info cube.hdr",
        "info plain.npy",
        "info plain.npy --layout bands-first",
        "info plain.npy --max-bytes 10",
        "info nowhere.npy",
        "info bad.hdr",
        "info matrix.npz",
        "info matrix.npz --shape 3,4",
        "info matrix.npz --shape 4,4",
        "info matrix.npz --shape 3x4",
    ],
    "rank": ["rank cube.hdr"],
    "compare": ["compare cube.hdr -r 3"],
    "convert": [
        "convert cube.hdr copy.nc",
        "convert cube.hdr copy.nc",
        "convert cube.hdr cube.hdr --force",
    ],
    "identify": [
        "identify minerals.csv --library minerals.csv",
        "identify out --library far.csv",
        "identify nowhere --library minerals.csv",
    ],
    "demo": ["demo --help", "--help"],
}


@pytest.fixture
def folder(cube, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for suffix in (".hdr", ".img"):
        shutil.copy(cube.with_suffix(suffix), tmp_path)
    random = np.random.default_rng(0)
    np.save("plain.npy", random.random((12, 14, 10)))
    np.savez("matrix.npz", X=random.random((5, 12)))
    Path("bad.hdr").write_text("just some text\n")
    Path("far.csv").write_text("wavelength_um,a\n8,0.5\n12,0.6\n")
    library = mineral_library(n_minerals=4, seed=1)
    write_spectra(library.rename(spectrum="endmember"), "minerals.csv")
    return tmp_path


def said(result, folder) -> str:
    """Return what a command printed, its exit code, and ``#`` for every measured number."""
    text = result.stdout
    if result.stderr:
        text += "--- standard error\n" + result.stderr
    text = text.replace(f"{folder}/", "")
    text = re.sub(r"(less than )?\d[\d,]*\.\d+(e-?\d+)?", "#", text)
    text = re.sub(r"\d+(?= (%|s\b))", "#", text)
    text = re.sub(r"\(\d+, \d+\)(?=.* \(row, column\))", "(#, #)", text)
    text = re.sub(r"over \d+(, \d+)* pixels", "over # pixels", text)
    # Columns are as wide as their numbers.
    return re.sub(r"  +(?=#)", "  ", text) + f"--- exit code {result.exit_code}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_wording(request, folder, name):
    if name == "identify":
        run("unmix", "cube.hdr", "-r", 3, *QUICK.split(), "-o", "out")
    parts = [f"$ selfdict {words}\n{said(run(*words.split()), folder)}" for words in COMMANDS[name]]
    text = "\n".join(parts)
    # What is refused leaves no folder.
    assert not (folder / "many").exists()
    assert not (folder / "cube-unmixed").exists()
    golden = GOLDEN / f"{name}.txt"
    if request.config.getoption("--renew-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text.splitlines() == golden.read_text(encoding="utf-8").splitlines()
