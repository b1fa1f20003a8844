"""Libraries as tables: ``.csv`` and NumPy's ``.npz``."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._display import from_csv_cell
from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.libraries.headings import Heading, parse_heading
from selfdict.files.libraries.record import StoredLibrary
from selfdict.files.numpy_file import load_archive
from selfdict.files.units import to_nanometres, unit_note, unit_of

_MAX_CSV_BYTES = 2**28  # in memory a table of text takes ten times as much


def read_npz(path: Path) -> StoredLibrary:
    """Read arrays ``spectra`` or ``D``, ``names``, and what is known about bands."""
    shapes = load_archive(path).shapes
    with np.load(path, allow_pickle=False) as arrays:
        matrices = [key for key in ("spectra", "D") if len(shapes.get(key, ())) == 2]
        if not matrices or "names" not in arrays:
            raise SceneError(path, "must hold a matrix 'spectra' or 'D', and 'names'")
        values = arrays[matrices[0]]
        names = arrays["names"].ravel().astype(np.str_).tolist()
        # D is a dictionary, with its atoms as columns. Spectra are found by the number of names.
        if values.shape[0] != len(names) or matrices[0] == "D":
            values = values.T
        listed = {}
        for key, shape in shapes.items():
            if parse_heading(key) is not None and shape == (values.shape[1],):
                listed[key] = arrays[key]
        material = None
        if "materials" in arrays:
            material = arrays["materials"].ravel().astype(np.str_).tolist()
    bands, notes = _bands(path, listed)
    return StoredLibrary(values, names, material=material, **bands, notes=notes)


def read_csv(path: Path) -> StoredLibrary:
    """Read one column per spectrum, with its name above it, and one row per band."""
    if path.stat().st_size > _MAX_CSV_BYTES:
        raise SceneError(path, f"is larger than {_MAX_CSV_BYTES} bytes; make it an .npz")
    # utf-8-sig: spreadsheets write a byte order mark, which would become part of the first name.
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [row for row in csv.reader(file) if row]
    if len(lines) < 2 or any(len(row) != len(lines[0]) for row in lines):
        raise SceneError(
            path, "must have one row of names, and as many numbers in each row below it"
        )
    columns = {}
    for k, name in enumerate(lines[0]):
        columns[from_csv_cell(name.strip())] = [row[k] for row in lines[1:]]
    if len(columns) != len(lines[0]):
        raise SceneError(path, "has two columns of the same name")
    # Columns that describe bands are taken out: what is left are spectra.
    listed = {}
    for name in list(columns):
        if parse_heading(name) is not None:
            listed[name] = np.array(columns.pop(name), dtype=np.float64)
        elif name.lower() in ("band", "bands", "band_name"):
            del columns[name]
    # Standard deviations of averaged spectra, as ``write_spectra`` adds them.
    for name in list(columns):
        if f"{name}_spread" in columns:
            del columns[f"{name}_spread"]
    spectra = np.array(list(columns.values()), dtype=np.float64)
    bands, notes = _bands(path, listed)
    return StoredLibrary(spectra, list(columns), **bands, notes=notes)


def _bands(path: Path, listed: Mapping[str, Array]) -> tuple[dict[str, Any], list[str]]:
    """Return wavelengths and widths in nanometres, from the arrays that are there, and notes."""
    headings = {}
    for name in listed:
        heading = parse_heading(name)
        if heading is not None:
            headings[name] = heading
    bands: dict[str, Any] = {}
    notes: list[str] = []
    # Widths without a unit have that of the wavelengths; by their size it cannot be guessed.
    unit = "nm"
    for kind in ("wavelength", "fwhm"):
        names = [name for name, heading in headings.items() if heading.kind == kind]
        if not names:
            continue
        chosen = _preferred(names, headings)
        named_unit = headings[chosen].unit
        if kind == "wavelength":
            notes += unit_note(listed[chosen], named_unit)
            unit = unit_of(listed[chosen], named_unit)
        bands[kind] = to_nanometres(listed[chosen], named_unit or unit)
        if bands[kind] is None:
            raise SceneError(path, f"{chosen!r} is in a unit that is none of length")
        others = [name for name in names if name != chosen]
        if others:
            notes.append(f"{chosen!r} is used, {', '.join(map(repr, others))} not")
    return bands, notes


def _preferred(names: Iterable[str], headings: Mapping[str, Heading]) -> str:
    """Return the first name that tells a unit, else the first."""
    return sorted(names, key=lambda name: headings[name].unit is None)[0]
