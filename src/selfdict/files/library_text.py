"""Libraries whose spectra have text files of their own: USGS, ECOSTRESS and ASTER.

USGS Spectral Library version 7: the first line of a file is ``splib07a Record=5932: Kaolinite CM5
BECKb AREF``: the title, the spectrometer with a letter for purity, and the quantity. One value per
line follows. The files ``…_Wavelengths_….txt`` and ``…_Bandpass_….txt`` lie in the folder of the
library, the spectra in its subfolders, the chapters. A value of −1.23e34 marks a deleted channel.

ECOSTRESS and ASTER: a header of names and values, then two columns.
"""

import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.limits import is_plain_file
from selfdict.files.wavelengths import to_nanometres

DELETED_BELOW = -1e30  # the USGS libraries mark bands without a value by −1.23e34
# Far more than the libraries hold: USGS 2,500 files and 100 MB, ECOSTRESS 3,500 and 150 MB.
_MAX_FILES = 50_000
_MAX_BYTES = 2**30
_MAX_SPECTRUM_BYTES = 4 * 2**20  # the largest of the USGS library take 0.5 MB
# The last word of a title: absolute and relative reflectance, reflectance corrected by ground
# targets, and transmittance.
_QUANTITIES = ("AREF", "RREF", "RTGC", "TRAN")
_WAVELENGTHS = re.compile(r"\b(wavelengths?|waves)\b", re.IGNORECASE)
_WIDTHS = re.compile(r"\b(bandpass|bandwidths?|fwhm)\b", re.IGNORECASE)
_OTHER_TABLES = re.compile(r"\b(resolution|wavenumbers?|srf)\b", re.IGNORECASE)
_MAX_LEVELS = 3  # folders above a spectrum in which its wavelengths are looked for


@dataclass(frozen=True)
class Record:
    """One spectrum, its wavelengths rising and in nanometres."""

    name: str
    material: str
    values: Array
    wavelength: Array
    fwhm: Array | None = None


def read_record(path: Path) -> Record:
    """Read the spectrum of one file."""
    return _read(path, _read_start(path), _Tables())


def read_records(path: Path) -> tuple[list[Record], int, list[str]]:
    """Read all spectra in a folder and its subfolders, in the order of their names.

    Files of other kinds are ignored. Spectra that cannot be read are left out, and a note says how
    many. Also returned is the size of all files together.
    """
    spectra = _find_spectra(path)
    held = sum(file.stat().st_size for file, _ in spectra)
    if held > _MAX_BYTES:
        raise SceneError(path, f"holds {held} bytes of spectra, at most {_MAX_BYTES} are read")
    tables = _Tables()
    records = []
    failures = []
    for file, start in spectra:
        try:
            records.append(_read(file, start, tables))
        except SceneError as error:
            # It names the file: the spectrum, or its wavelengths.
            failures.append(str(error))
    if not records:
        raise SceneError(path, f"holds no spectrum that can be read; the first is {failures[0]}")
    if not failures:
        return records, held, []
    note = f"{len(failures)} of {len(spectra)} spectra are left out; the first is {failures[0]}"
    return records, held, [note]


def _find_spectra(path: Path) -> list[tuple[Path, str]]:
    """Return the files of spectra in a folder, each with its first characters."""
    files = sorted(islice(path.rglob("*.txt"), _MAX_FILES + 1))
    if len(files) > _MAX_FILES:
        raise SceneError(path, f"holds more than {_MAX_FILES} text files")
    spectra = []
    samplings = set()
    for file in files:
        # The USGS library keeps the uncertainties of its spectra in a folder of this name.
        if "errorbars" in file.relative_to(path).parts or not is_plain_file(file):
            continue
        start = _read_start(file)
        if _is_usgs(start) and _is_wavelengths(start):
            samplings.add(str(file.parent.relative_to(path)))
        if (_is_usgs(start) and _is_spectrum(start)) or _is_ecostress(start):
            spectra.append((file, start))
    if len(samplings) > 1:
        # Each has all spectra of the library, convolved to one sensor.
        names = ", ".join(sorted(samplings))
        raise SceneError(path, f"holds the library several times: name one folder of {names}")
    if not spectra:
        raise SceneError(path, "holds no text file of the USGS, ECOSTRESS or ASTER libraries")
    return spectra


def _read(path: Path, start: str, tables: "_Tables") -> Record:
    if _is_usgs(start):
        if not _is_spectrum(start):
            raise SceneError(path, "is no spectrum: it holds wavelengths or widths of a sensor")
        return _read_usgs(path, tables)
    if _is_ecostress(start):
        return _read_ecostress(path)
    raise SceneError(
        path,
        "is no spectrum: its first line is neither that of the USGS library "
        "('splib07a Record=…') nor that of ECOSTRESS and ASTER ('Name: …')",
    )


def _read_start(path: Path) -> str:
    """Return the first characters of a file, by which its format is told."""
    with path.open("rb") as file:
        return file.read(200).decode("iso-8859-1")


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a text file.

    ISO 8859-1 decodes any bytes. The files are ASCII but for names of persons and places.
    """
    n_bytes = path.stat().st_size
    if n_bytes > _MAX_SPECTRUM_BYTES:
        raise SceneError(path, f"is too large for a spectrum: {n_bytes} bytes")
    return path.read_text(encoding="iso-8859-1").splitlines()


def _table(path: Path, lines: list[str], n_columns: int) -> Array:
    """Return the numbers of lines that hold so many each; empty lines are left out."""
    what = "one number"
    if n_columns == 2:
        what = "two numbers"
    rows = []
    for line in lines:
        if not line.strip():
            continue
        row = _line_numbers(line)
        if len(row) != n_columns:
            raise SceneError(path, f"must hold {what} per line, a line is {line.strip()[:40]!r}")
        rows.append(row)
    if not rows:
        raise SceneError(path, "holds no number")
    return np.array(rows)


def _line_numbers(line: str) -> list[float]:
    """Return the numbers of a line, none if a word is no number."""
    try:
        return [float(word) for word in line.split()]
    except ValueError:
        return []


def _is_ecostress(start: str) -> bool:
    # A byte order mark of UTF-8 reads as "ï»¿".
    return start.removeprefix("ï»¿").lstrip().lower().startswith("name:")


def _is_usgs(start: str) -> bool:
    """Whether a file that begins with this text belongs to the library."""
    return re.match(r"\s*\S+\s+Record=\d+:", start) is not None


def _is_spectrum(start: str) -> bool:
    """Whether a file that begins with this text holds a spectrum, not a table of a sensor."""
    title = _title(start)
    tables = (_WAVELENGTHS, _WIDTHS, _OTHER_TABLES)
    return not any(table.search(title) for table in tables)


def _is_wavelengths(start: str) -> bool:
    """Whether a file that begins with this text holds wavelengths."""
    return _WAVELENGTHS.search(_title(start)) is not None


@dataclass(frozen=True)
class _Table:
    """A file of wavelengths or bandwidths: its title and its values in nanometres."""

    title: str
    values: Array


class _Tables:
    """The wavelengths and bandwidths beside spectra, each file read once."""

    def __init__(self) -> None:
        self._by_folder: dict[Path, list[_Table]] = {}

    def wavelengths(self, path: Path, n_values: int, spectrometer: str) -> Array:
        """Return the wavelengths of a spectrum of ``n_values``, in nanometres."""
        tables = self._nearest(path, _WAVELENGTHS)
        if not tables:
            raise SceneError(
                path, "its wavelengths are missing: no file …Wavelengths….txt beside or above it"
            )
        chosen = _choose(tables, n_values, spectrometer)
        if chosen is None:
            raise SceneError(
                path,
                f"holds {n_values} values: it cannot be told which of {len(tables)} wavelength "
                f"files belongs to it ({tables[0].title[:40]!r} has {len(tables[0].values)})",
            )
        return chosen.values

    def widths(self, path: Path, n_values: int, spectrometer: str) -> Array | None:
        """Return the bandwidths of a spectrum in nanometres, or None if they are not known."""
        chosen = _choose(self._nearest(path, _WIDTHS), n_values, spectrometer)
        if chosen is None:
            return None
        return chosen.values

    def _nearest(self, path: Path, kind: re.Pattern[str]) -> list[_Table]:
        """Return the tables of a kind in the nearest folder above a file that has any."""
        for folder in list(path.absolute().parents)[:_MAX_LEVELS]:
            tables = [table for table in self._of_folder(folder) if kind.search(table.title)]
            if tables:
                return tables
        return []

    def _of_folder(self, folder: Path) -> list[_Table]:
        if folder not in self._by_folder:
            # A damaged table is an error once, not for each spectrum again.
            self._by_folder[folder] = []
            self._by_folder[folder] = _read_tables(folder)
        return self._by_folder[folder]


def _read_usgs(path: Path, tables: _Tables) -> Record:
    """Read one spectrum."""
    lines = _read_lines(path)
    words = _title(lines[0]).split()
    # Long titles are cut off; the name of a file is not.
    if len(words) < 3 or words[-1] not in _QUANTITIES:
        words = [*words, *path.stem.split("_")[-2:]]
    if words[-1] == "TRAN":
        raise SceneError(path, "must hold reflectances, it holds transmittances (TRAN)")
    spectrometer = words[-2]
    values = _table(path, lines[1:], 1)[:, 0]
    values[values < DELETED_BELOW] = np.nan
    wavelength = tables.wavelengths(path, len(values), spectrometer)
    fwhm = tables.widths(path, len(values), spectrometer)
    # The channels of neighbouring detectors overlap, so that they need not be in order.
    order = np.argsort(wavelength, kind="stable")
    if fwhm is not None:
        fwhm = fwhm[order]
    return Record(
        name=" ".join(words[:-1]),
        # By the rule of the library the first word is the material; its parts are joined by "_".
        material=words[0],
        values=values[order],
        wavelength=wavelength[order],
        fwhm=fwhm,
    )


def _title(start: str) -> str:
    """Return the title in the first line of a file."""
    return start.partition("\n")[0].partition(":")[2].strip()


def _choose(tables: list[_Table], n_values: int, spectrometer: str) -> _Table | None:
    """Return the table with as many values as a spectrum has, or None if it cannot be told.

    The number comes first: spectra that were convolved to another sensor keep the name of the
    spectrometer they were measured with.
    """
    fitting = [table for table in tables if len(table.values) == n_values]
    if len(fitting) > 1:
        # Three letters: the spectrometers ASDFR, ASDHR and ASDNG have one file, named ASD.
        named = [table for table in fitting if spectrometer[:3] in table.title]
        fitting = named or fitting
    if not fitting:
        return None
    for table in fitting[1:]:
        # The same values may be there twice, in micrometres and in nanometres.
        if not np.allclose(table.values, fitting[0].values, rtol=1e-4):
            return None
    return fitting[0]


def _read_tables(folder: Path) -> list[_Table]:
    """Read the wavelengths and bandwidths of a folder."""
    tables = []
    for path in sorted(folder.glob("*.txt")):
        # By the name first: a chapter has thousands of spectra.
        if not re.search("wavelength|waves|bandpass|bandwidth|fwhm", path.name, re.IGNORECASE):
            continue
        lines = _read_lines(path)
        # The name of a spectrum may contain "Leaves".
        if not lines or not _is_usgs(lines[0]) or _is_spectrum(lines[0]):
            continue
        title = _title(lines[0])
        factor = 1000.0
        if re.search(r"\bnm\b|nanometer", title):
            factor = 1.0
        # Rounded, since 1.001 · 1000 would otherwise be 1000.9999999999999.
        tables.append(_Table(title, np.round(factor * _table(path, lines[1:], 1)[:, 0], 6)))
    return tables


def _read_ecostress(path: Path) -> Record:
    """Read one spectrum."""
    lines = _read_lines(path)
    header, data = _divide(path, lines)
    wavelength, values = _table(path, data, 2).T
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
        if "x units" in header and "y units" in header and len(_line_numbers(line)) == 2:
            return header, lines[k:]
        name, colon, value = line.partition(":")
        if colon:
            header.setdefault(name.strip().lower(), value.strip())
    raise SceneError(path, "must have 'X Units' and 'Y Units', and two numbers per line below them")


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
