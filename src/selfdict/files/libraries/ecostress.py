"""ECOSTRESS and ASTER: one text file per spectrum, a header of names and two columns."""

from pathlib import Path

import numpy as np

from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.libraries.record import Record
from selfdict.files.libraries.text import read_lines
from selfdict.files.units import to_nanometres


def recognises(start: str) -> bool:
    """Whether a file that begins with this text is of these libraries."""
    # A byte order mark of UTF-8 reads as "ï»¿".
    return start.removeprefix("ï»¿").lstrip().lower().startswith("name:")


def read_record(path: Path) -> Record:
    """Read one spectrum."""
    lines = read_lines(path)
    header, data = _divide(path, lines)
    wavelength, values = _columns(path, data)
    factor = _reflectance_factor(path, header["y units"])
    nanometres = to_nanometres(wavelength, _unit(path, header["x units"]))
    if nanometres is None or not (nanometres > 0).all():
        raise SceneError(
            path, f"must hold positive wavelengths, its X Units are {header['x units'][:60]!r}"
        )
    # Files of the ASTER library begin at the longest wavelength.
    order = np.argsort(nanometres, kind="stable")
    name = " ".join(header.get("name", "").split()) or path.stem
    sample = " ".join(header.get("sample no.", "").split())
    return Record(
        # Many samples and grain sizes have one name, which is that of the material.
        name=f"{name} {sample}".strip(),
        material=name,
        values=factor * values[order],
        wavelength=nanometres[order],
    )


def _divide(path: Path, lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the fields of the header by their names in lower case, and the lines below it.

    A description may take several lines, so the header has no fixed length. It ends with the
    first line of two numbers after the units.
    """
    header: dict[str, str] = {}
    for k, line in enumerate(lines):
        if "x units" in header and "y units" in header and _is_pair(line):
            return header, lines[k:]
        name, colon, value = line.partition(":")
        if colon:
            header.setdefault(name.strip().lower(), value.strip())
    raise SceneError(path, "must have 'X Units' and 'Y Units', and two numbers per line below them")


def _is_pair(line: str) -> bool:
    words = line.split()
    if len(words) != 2:
        return False
    try:
        float(words[0])
        float(words[1])
    except ValueError:
        return False
    return True


def _columns(path: Path, lines: list[str]) -> tuple[Array, Array]:
    """Return the two columns of numbers; empty lines are left out."""
    filled = [line for line in lines if line.strip()]
    for line in filled:
        if not _is_pair(line):
            raise SceneError(
                path, f"must hold two numbers per line, a line is {line.strip()[:40]!r}"
            )
    table = np.array([line.split() for line in filled], dtype=np.float64)
    return table[:, 0], table[:, 1]


def _unit(path: Path, units: str) -> str:
    """Return the unit in ``Wavelength (micrometers)``."""
    quantity, _, unit = units.partition("(")
    if not quantity.strip().lower().startswith("wavelength"):
        raise SceneError(path, f"must hold wavelengths, its X Units are {units[:60]!r}")
    return unit.strip().removesuffix(")")


def _reflectance_factor(path: Path, units: str) -> float:
    """Return by what values are multiplied: their unit is ``Reflectance (percent)``, or none."""
    text = units.lower()
    # Some spectra are transmittances, which look like no surface.
    if not text.startswith("reflectance"):
        raise SceneError(path, f"must hold reflectances, its Y Units are {units[:60]!r}")
    if "percent" in text or "%" in text:
        return 0.01
    return 1.0
