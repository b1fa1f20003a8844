"""Spectral libraries, read in the reader process: ENVI, tables, and text files of a folder."""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from selfdict._display import from_csv_cell
from selfdict._errors import InputError, SceneError
from selfdict.files import envi
from selfdict.files.cube import Array, parse_floats
from selfdict.files.formats import header_names, is_plain_file
from selfdict.files.library_text import DELETED_BELOW, Record, read_records
from selfdict.files.wavelengths import describe_bands, headings_of, parse_heading

_OF_BANDS = ("band", "bands", "band_name")  # columns of tables beside wavelengths
_CSV_FORMS = (
    "a table has one row per band and one column per spectrum, headed by its name, beside a column "
    "'wavelength_nm' or 'wavelength_um'; or one row per spectrum, with the wavelengths as headings "
    "and columns 'name' and 'class'"
)


@dataclass
class StoredLibrary:
    """What a file says about spectra: the arguments of ``build_library``, and notes."""

    spectra: Array
    names: list[str]
    wavelength: Array | None = None
    fwhm: Array | None = None
    material: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    held: int | None = None


def read(path: Path) -> StoredLibrary:
    """Read a library of any format. ENVI files have many suffixes: they are told by the header."""
    suffix = path.suffix.lower()
    if path.is_dir() or suffix == ".txt":
        records, notes = read_records(path)
        library = _gather(records)
        library.notes += notes
        return library
    if suffix == ".csv":
        return _read_csv(path)
    if suffix == ".npz":
        return _read_npz(path)
    if suffix != ".hdr" and not any(map(is_plain_file, header_names(path))):
        raise SceneError(
            path,
            "is no spectral library: expected an ENVI library beside its header, .csv, .npz, .txt, "
            "or a folder of .txt",
        )
    return _read_envi(path)


def _gather(records: Sequence[Record]) -> StoredLibrary:
    """Return spectra of separate files as one library, with wavelengths of two axes if needed."""
    first = records[0]
    shape = (len(records), max(len(record.values) for record in records))
    values = np.full(shape, np.nan)
    wavelength = np.full(shape, np.nan)
    fwhm = np.full(shape, np.nan)
    for k, record in enumerate(records):
        n = len(record.values)
        values[k, :n] = record.values
        wavelength[k, :n] = record.wavelength
        if record.fwhm is not None:
            fwhm[k, :n] = record.fwhm
    if np.isnan(values).all():
        raise InputError("all its values are marked as deleted")
    if all(np.array_equal(record.wavelength, first.wavelength) for record in records):
        wavelength = first.wavelength
    library = StoredLibrary(values, [record.name for record in records], wavelength)
    library.material = [record.material for record in records]
    if np.isfinite(fwhm).any():
        library.fwhm = fwhm
    return library


def _read_envi(path: Path) -> StoredLibrary:
    """Read an ENVI spectral library, named by its header or by its data file."""
    header, data = envi.find_files(path)
    if header.fields.get("file type", "").lower() != "envi spectral library":
        raise SceneError(
            header.path, "is no spectral library: its 'file type' is not ENVI Spectral Library"
        )
    # A library is an image of one band: its lines are the spectra, its samples their bands.
    n_spectra = header.integer("lines", 1)
    n_bands = header.integer("samples", 1)
    values = envi.map_values(header, data)[0].astype(np.float64)
    scale = header.number("reflectance scale factor")
    if scale is not None and scale > 0:
        # The mark of a missing value must stay below the limit.
        values = np.where(values < DELETED_BELOW, values, values / scale)
    library = StoredLibrary(values, header.entries("spectra names"))
    # The list is separated by commas. If a name holds one, it cannot be told where names end.
    if len(library.names) != n_spectra:
        library.notes.append(
            f"the header lists {len(library.names)} names for {n_spectra} spectra: "
            "they are numbered"
        )
        library.names = _numbered(n_spectra)
    wavelength = header.numbers("wavelength", n_bands)
    fwhm = header.numbers("fwhm", n_bands)
    describe_bands(library, wavelength, header.fields.get("wavelength units"), fwhm)
    return library


def _numbered(n_spectra: int) -> list[str]:
    return [f"spectrum {k + 1}" for k in range(n_spectra)]


def _read_npz(path: Path) -> StoredLibrary:
    """Read arrays ``spectra`` or ``D``, ``names``, and what is known about bands."""
    with np.load(path, allow_pickle=False) as stored:
        used = [key for key in ("spectra", "D", "names", "materials") if key in stored]
        used += [key for key in stored if parse_heading(key) is not None]
        arrays = {key: stored[key] for key in used}
    matrices = [key for key in ("spectra", "D") if key in arrays and arrays[key].ndim == 2]
    if not matrices or "names" not in arrays:
        raise InputError("must contain 'names' and a matrix 'spectra' or 'D'")
    values = arrays[matrices[0]]
    names = arrays["names"].ravel().astype(np.str_).tolist()
    # D is a dictionary, with its atoms as columns. Spectra are found by the number of names.
    if values.shape[0] != len(names) or matrices[0] == "D":
        values = values.T
    library = StoredLibrary(values, names)
    if "materials" in arrays:
        library.material = arrays["materials"].ravel().astype(np.str_).tolist()
    listed = {}
    for key, each in arrays.items():
        if parse_heading(key) is not None and each.shape == values.shape[1:]:
            listed[key] = each
    _add_bands(library, listed)
    return library


def _read_csv(path: Path) -> StoredLibrary:
    """Read a table of spectra, one in each column or one in each row."""
    # utf-8-sig: spreadsheets write a byte order mark, which would become part of the first name.
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        file.seek(0)
        # Spreadsheets write semicolons and decimal commas in many languages.
        separator = max(",;\t", key=first.count)
        lines = [row for row in csv.reader(file, delimiter=separator) if row]
    if separator != ",":
        lines = [[re.sub(r"^(-?\d*),(\d)", r"\1.\2", cell) for cell in row] for row in lines]
    if len(lines) < 2 or any(len(row) != len(lines[0]) for row in lines):
        raise InputError(f"has rows of different lengths, or only one; {_CSV_FORMS}")
    columns = {}
    for k, name in enumerate(lines[0]):
        columns[from_csv_cell(name.strip())] = [row[k] for row in lines[1:]]
    if len(columns) != len(lines[0]):
        raise InputError(f"has two columns of the same name; {_CSV_FORMS}")
    # Names of spectra may be numbers, too: a column that describes bands decides.
    has_bands = any(parse_heading(name) or name.lower() in _OF_BANDS for name in columns)
    if not has_bands and sum(parse_floats([name]) is not None for name in columns) > 1:
        return _spectra_in_rows(columns)
    # Columns that describe bands are taken out: what is left are spectra.
    listed = {}
    for name in list(columns):
        if parse_heading(name) is not None:
            listed[name] = _numbers(name, columns.pop(name))
        elif name.lower() in _OF_BANDS:
            del columns[name]
    # Standard deviations of averaged spectra, as ``write_spectra`` adds them.
    for name in list(columns):
        if f"{name}_spread" in columns:
            del columns[f"{name}_spread"]
    spectra = np.array([_numbers(name, column) for name, column in columns.items()])
    library = StoredLibrary(spectra, list(columns))
    _add_bands(library, listed)
    return library


def _spectra_in_rows(columns: Mapping[str, list[str]]) -> StoredLibrary:
    """Return spectra of which each is a row, below headings that are its wavelengths."""
    headings = [name for name in columns if parse_floats([name]) is not None]
    texts = {name.lower(): column for name, column in columns.items() if name not in headings}
    wavelength = np.array([float(name) for name in headings])
    # No instrument covers two decades: these are values below no headings at all.
    if not texts and wavelength.max() > 100 * wavelength.min():
        raise InputError(f"has no headings; {_CSV_FORMS}")
    spectra = np.array([_numbers(name, columns[name]) for name in headings]).T
    library = StoredLibrary(spectra, _numbered(len(spectra)))
    describe_bands(library, wavelength, None, None)
    # The libraries of EMIT hold 0 in water vapour absorption.
    is_deleted = (spectra == 0).all(axis=0)
    if is_deleted.any():
        spectra[:, is_deleted] = np.nan
        library.notes.append(f"{is_deleted.sum()} bands, 0 in all spectra, count as deleted")
    for key in ("class", "material", "category", "level_1"):
        if key in texts:
            library.material = texts[key]
    # Without names spectra are told apart by their class and their number.
    if library.material is not None:
        library.names = [f"{name} {k + 1}" for k, name in enumerate(library.material)]
    for key in ("name", "spectrum", "sample"):
        if key in texts:
            library.names = texts[key]
    return library


def _numbers(name: str, column: list[str]) -> Array:
    # Spreadsheets leave the cells of deleted values empty.
    is_gap = [cell.strip().lower() in ("", "na", "n/a") for cell in column]
    values = parse_floats("nan" if gap else cell for cell, gap in zip(column, is_gap))
    if values is None or all(is_gap):
        raise InputError(f"the column {name!r} holds no numbers; {_CSV_FORMS}")
    return values


def _add_bands(library: StoredLibrary, listed: Mapping[str, Array]) -> None:
    """Add wavelengths and widths, from arrays by their headings."""
    chosen: dict[str, tuple[Array | None, str | None]] = {}
    for kind in ("wavelength", "fwhm"):
        chosen[kind] = (None, None)
        headings = headings_of(kind, listed)
        if headings:
            name, *others = headings
            chosen[kind] = (listed[name], headings[name])
            if others:
                names = ", ".join(map(repr, others))
                library.notes.append(f"{name!r} is used, not {names}")
    describe_bands(library, *chosen["wavelength"], *chosen["fwhm"])
    if chosen["wavelength"][0] is not None and library.wavelength is None:
        raise InputError("the unit of its wavelengths is not a length")
