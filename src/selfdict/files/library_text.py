"""Libraries whose spectra have text files of their own: USGS, ECOSTRESS and ASTER.

The first line of a file of the USGS library is ``splib07a Record=5932: Kaolinite CM5 BECKb AREF``:
the title, the spectrometer with a letter for purity, and the quantity. One value per line follows.
ECOSTRESS and ASTER have a header of names and values, then two columns.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from selfdict._errors import SceneError
from selfdict.files.cube import Array, parse_floats
from selfdict.files.formats import is_plain_file
from selfdict.files.wavelengths import to_nanometres

DELETED_BELOW = -1e30  # the USGS libraries mark bands without a value by −1.23e34
_USGS = re.compile(r"\s*\S+\s+Record=\d+:")
_WAVELENGTHS = re.compile(r"\b(wavelengths?|waves)\b", re.IGNORECASE)
_WIDTHS = re.compile(r"\b(bandpass|bandwidths?|fwhm)\b", re.IGNORECASE)
_OTHER_TABLES = re.compile(r"\b(resolution|wavenumbers?|srf)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Record:
    """One spectrum, its wavelengths rising and in nanometres."""

    name: str
    material: str
    values: Array
    wavelength: Array
    fwhm: Array | None = None


def _read_record(path: Path) -> Record:
    start = _read_start(path)
    # ISO 8859-1 decodes any bytes. The files are ASCII but for names of persons and places.
    lines = path.read_text(encoding="iso-8859-1").splitlines()
    if _is_usgs_spectrum(start):
        return _read_usgs(path, lines)
    if _is_ecostress(start):
        return _read_ecostress(path, lines)
    raise SceneError(
        path,
        "is not a spectrum: expected 'splib07a Record=…' (USGS) or 'Name: …' (ECOSTRESS, ASTER) in "
        "the first line; tables are .csv files",
    )


def read_records(path: Path) -> tuple[list[Record], list[str]]:
    """Read the spectrum of a file, or all that can be read in a folder, with notes on others."""
    _tables_in.cache_clear()
    if not path.is_dir():
        return [_read_record(path)], []
    records = []
    failures = []
    spectra = _find_spectra(path)
    for file in spectra:
        try:
            records.append(_read_record(file))
        except SceneError as error:
            # It names the file: the spectrum, or its wavelengths.
            failures.append(str(error))
    if not records:
        raise SceneError(path, f"holds no spectrum that can be read; the first is {failures[0]}")
    if not failures:
        return records, []
    note = f"{len(failures)} of {len(spectra)} spectra are left out; the first is {failures[0]}"
    return records, [note]


def _find_spectra(path: Path) -> list[Path]:
    """Return the files of spectra in a folder."""
    spectra = []
    samplings = set()
    for file in sorted(path.rglob("*.txt")):
        # The USGS library keeps the uncertainties of its spectra in a folder of this name.
        if "errorbars" in file.relative_to(path).parts or not is_plain_file(file):
            continue
        start = _read_start(file)
        if _USGS.match(start) and _WAVELENGTHS.search(_title(start)):
            samplings.add(str(file.parent.relative_to(path)))
        if _is_usgs_spectrum(start) or _is_ecostress(start):
            spectra.append(file)
    if len(samplings) > 1:
        # Each has all spectra of the library, convolved to one sensor.
        names = ", ".join(sorted(samplings))
        raise SceneError(
            path, f"contains the library several times: give one of its folders {names}"
        )
    if not spectra:
        raise SceneError(path, "holds no text file of the USGS, ECOSTRESS or ASTER libraries")
    return spectra


def _read_start(path: Path) -> str:
    """Return the first characters of a file, by which its format is told."""
    with path.open("rb") as file:
        return file.read(200).decode("iso-8859-1")


def _table(path: Path, lines: list[str], n_columns: int) -> Array:
    """Return the numbers of lines that hold so many each; empty lines are left out."""
    try:
        rows = [[float(word) for word in line.split()] for line in lines if line.strip()]
        return np.array(rows).reshape(len(rows), n_columns)
    except ValueError as error:
        raise SceneError(path, f"must hold {n_columns} numbers per line: {error}") from None


def _is_ecostress(start: str) -> bool:
    # A byte order mark of UTF-8 reads as "ï»¿".
    return start.removeprefix("ï»¿").lstrip().lower().startswith("name:")


def _is_usgs_spectrum(start: str) -> bool:
    """Whether a file that begins with this text holds a spectrum, not a table of a sensor."""
    tables = (_WAVELENGTHS, _WIDTHS, _OTHER_TABLES)
    is_table = any(table.search(_title(start)) for table in tables)
    return _USGS.match(start) is not None and not is_table


def _title(start: str) -> str:
    """Return the title in the first line of a file of the USGS library."""
    return start.partition("\n")[0].partition(":")[2].strip()


def _read_usgs(path: Path, lines: list[str]) -> Record:
    """Read one spectrum of the USGS library."""
    words = _title(lines[0]).split()
    # The last word is the quantity: absolute and relative reflectance, reflectance corrected by
    # ground targets, and transmittance. Long titles are cut off; the name of a file is not.
    if len(words) < 3 or words[-1] not in ("AREF", "RREF", "RTGC", "TRAN"):
        words = [*words, *path.stem.split("_")[-2:]]
    if words[-1] == "TRAN":
        raise SceneError(path, "contains transmittances (TRAN), expected reflectances")
    values = _table(path, lines[1:], 1)[:, 0]
    values[values < DELETED_BELOW] = np.nan
    wavelength = _nearest_table(path, _WAVELENGTHS, len(values), words[-2])
    if wavelength is None:
        raise SceneError(
            path,
            f"has {len(values)} values, but no file …Wavelengths….txt next to it or above it "
            "belongs to it",
        )
    fwhm = _nearest_table(path, _WIDTHS, len(values), words[-2])
    # The channels of neighbouring detectors overlap, so that they need not be in order.
    order = np.argsort(wavelength, kind="stable")
    if fwhm is not None:
        fwhm = fwhm[order]
    # By the rule of the library the first word is the material; its parts are joined by "_".
    return Record(" ".join(words[:-1]), words[0], values[order], wavelength[order], fwhm)


def _nearest_table(
    path: Path, kind: re.Pattern[str], n_values: int, spectrometer: str
) -> Array | None:
    """Return the table with as many values as a spectrum has, or None if it cannot be told."""
    tables: list[tuple[str, Array]] = []
    # The nearest of the three folders above the file that has any counts.
    for folder in path.absolute().parents[:3]:
        if not tables:
            tables = [table for table in _tables_in(folder) if kind.search(table[0])]
    # The number comes first: spectra that were convolved to another sensor keep the name of the
    # spectrometer they were measured with.
    fitting = [table for table in tables if len(table[1]) == n_values]
    if len(fitting) > 1:
        # Three letters: the spectrometers ASDFR, ASDHR and ASDNG have one file, named ASD.
        fitting = [table for table in fitting if spectrometer[:3] in table[0]] or fitting
    values = [values for _, values in fitting]
    # The same values may be there twice, in micrometres and in nanometres.
    if not values or not all(np.allclose(other, values[0], rtol=1e-4) for other in values[1:]):
        return None
    return values[0]


@cache  # a chapter has thousands of spectra
def _tables_in(folder: Path) -> list[tuple[str, Array]]:
    """Return titles and values, in nm, of the wavelengths and bandwidths of a folder."""
    tables = []
    for path in sorted(folder.glob("*.txt")):
        if not re.search("wavelength|waves|bandpass|bandwidth|fwhm", path.name, re.IGNORECASE):
            continue
        lines = path.read_text(encoding="iso-8859-1").splitlines()
        # The name of a spectrum may contain "Leaves".
        if not lines or not _USGS.match(lines[0]) or _is_usgs_spectrum(lines[0]):
            continue
        title = _title(lines[0])
        unit = "um"
        if re.search(r"\bnm\b|nanometer", title):
            unit = "nm"
        values = to_nanometres(_table(path, lines[1:], 1)[:, 0], unit)
        assert values is not None
        tables.append((title, values))
    return tables


def _read_ecostress(path: Path, lines: list[str]) -> Record:
    """Read one spectrum of the ECOSTRESS or ASTER library."""
    header, data = _divide(path, lines)
    # "Wavelength (micrometers)", and "Reflectance (percent)"; some spectra are transmittances.
    x = re.fullmatch(r"wavelength\s*\((.*)\)", header["x units"].lower())
    if x is None or not header["y units"].lower().startswith("reflectance"):
        raise SceneError(
            path,
            "must hold reflectances over wavelengths, its units are "
            f"{header['x units'][:60]!r}, {header['y units'][:60]!r}",
        )
    wavelength, values = _table(path, data, 2).T
    nanometres = to_nanometres(wavelength, x[1])
    if nanometres is None or not (nanometres > 0).all():
        raise SceneError(path, f"wavelengths must be positive lengths; their unit is {x[1][:60]!r}")
    if re.search("percent|%", header["y units"].lower()):
        values = values / 100
    # Files of the ASTER library begin at the longest wavelength.
    order = np.argsort(nanometres, kind="stable")
    # Many samples and grain sizes have one name, which is that of the material.
    material = " ".join(header.get("name", "").split()) or path.stem
    sample = " ".join(header.get("sample no.", "").split())
    return Record(f"{material} {sample}".strip(), material, values[order], nanometres[order])


def _divide(path: Path, lines: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the fields of the header by their names in lower case, and the lines below it."""
    # A description may take several lines. The header ends with the first line of two numbers after
    # the units.
    header: dict[str, str] = {}
    for k, line in enumerate(lines):
        numbers = parse_floats(line.split())
        is_data = numbers is not None and numbers.size == 2
        if is_data and "x units" in header and "y units" in header:
            return header, lines[k:]
        name, colon, value = line.partition(":")
        if colon:
            header.setdefault(name.strip().lower(), value.strip())
    raise SceneError(path, "must have 'X Units' and 'Y Units', and two numbers per line below them")
