"""USGS Spectral Library version 7: one text file per spectrum, wavelengths in files of their own.

The first line of a file is ``splib07a Record=5932: Kaolinite CM5  BECKb AREF``: the title, the
spectrometer with a letter for purity, and the quantity. One value per line follows. The files
``…_Wavelengths_….txt`` and ``…_Bandpass_….txt`` lie in the folder of the library, the spectra in
its subfolders, the chapters. A value of −1.23e34 marks a deleted channel.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.libraries.record import DELETED_BELOW, Record
from selfdict.files.libraries.text import numbers, read_lines

# The last word of a title: absolute and relative reflectance, reflectance corrected by ground
# targets, and transmittance.
_QUANTITIES = ("AREF", "RREF", "RTGC", "TRAN")
_WAVELENGTHS = re.compile(r"\b(wavelengths?|waves)\b", re.IGNORECASE)
_WIDTHS = re.compile(r"\b(bandpass|bandwidths?|fwhm)\b", re.IGNORECASE)
_OTHER_TABLES = re.compile(r"\b(resolution|wavenumbers?|srf)\b", re.IGNORECASE)
_MAX_LEVELS = 3  # folders above a spectrum in which its wavelengths are looked for


def recognises(start: str) -> bool:
    """Whether a file that begins with this text belongs to the library."""
    return re.match(r"\s*\S+\s+Record=\d+:", start) is not None


def is_spectrum(start: str) -> bool:
    """Whether a file that begins with this text holds a spectrum, not a table of a sensor."""
    title = _title(start)
    tables = (_WAVELENGTHS, _WIDTHS, _OTHER_TABLES)
    return not any(table.search(title) for table in tables)


def is_wavelengths(start: str) -> bool:
    """Whether a file that begins with this text holds wavelengths."""
    return _WAVELENGTHS.search(_title(start)) is not None


@dataclass(frozen=True)
class _Table:
    """A file of wavelengths or bandwidths: its title and its values in nanometres."""

    title: str
    values: Array


class Tables:
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


def read_record(path: Path, tables: Tables) -> Record:
    """Read one spectrum."""
    lines = read_lines(path)
    words = _title(lines[0]).split()
    # Long titles are cut off; the name of a file is not.
    if len(words) < 3 or words[-1] not in _QUANTITIES:
        words = [*words, *path.stem.split("_")[-2:]]
    if words[-1] == "TRAN":
        raise SceneError(path, "must hold reflectances, it holds transmittances (TRAN)")
    spectrometer = words[-2]
    values = numbers(path, lines[1:])
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
        lines = read_lines(path)
        # The name of a spectrum may contain "Leaves".
        if not lines or not recognises(lines[0]) or is_spectrum(lines[0]):
            continue
        title = _title(lines[0])
        factor = 1000.0
        if re.search(r"\bnm\b|nanometer", title):
            factor = 1.0
        # Rounded, since 1.001 · 1000 would otherwise be 1000.9999999999999.
        tables.append(_Table(title, np.round(factor * numbers(path, lines[1:]), 6)))
    return tables
