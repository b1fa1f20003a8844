"""Wavelengths in nanometres: their units, lengths in names and headings, overlapping detectors."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from selfdict._errors import InputError, SceneError
from selfdict.files.cube import Array, StoredCube
from selfdict.files.formats import read_bytes

_NANOMETRES_PER_UNIT = {
    "nm": 1.0,
    "nanometer": 1.0,
    "nanometre": 1.0,
    "um": 1e3,
    "µm": 1e3,  # the micro sign
    "μm": 1e3,  # the Greek letter
    "micron": 1e3,
    "micrometer": 1e3,
    "micrometre": 1e3,
    "mm": 1e6,
    "millimeter": 1e6,
    "cm": 1e7,
    "centimeter": 1e7,
    "m": 1e9,
    "meter": 1e9,
    "metre": 1e9,
    "angstrom": 0.1,
}
_UNIT = r"nanomet(?:er|re)s?|micromet(?:er|re)s?|microns?|nm|um|µm|μm"


def unit_of(wavelength: ArrayLike, units: str | None) -> str:
    """Return the unit if it is named, else a guess: wavelengths below 100 are micrometres."""
    if units and units.strip().lower() != "unknown":
        return units
    # Imaging spectrometers cover 0.35 to 15 micrometres, that is 350 to 15,000 nm.
    if np.nanmax(np.asarray(wavelength, dtype=np.float64), initial=0.0) < 100:
        return "um"
    return "nm"


def unit_note(wavelength: ArrayLike, units: str | None) -> list[str]:
    """Return a note about the unit of wavelengths, if it is guessed or not a unit of length."""
    values = np.asarray(wavelength, dtype=np.float64)
    unit = unit_of(values, units)
    if to_nanometres(values, unit) is None:
        return [f"wavelengths in the unit {unit[:40]!r} are not used"]
    if unit == units:
        return []
    span = f"{np.nanmin(values, initial=np.inf):.5g} to {np.nanmax(values, initial=-np.inf):.5g}"
    return [f"the file names no unit of its wavelengths: {span} are taken as {unit}"]


def to_nanometres(values: ArrayLike, units: str) -> Array | None:
    """Return wavelengths in nm, or None if the unit is not one of length.

    Examples
    --------
    >>> from selfdict.files import to_nanometres
    >>> to_nanometres([0.4, 2.5], "Micrometers")
    array([ 400., 2500.])
    """
    unit = units.strip().lower()
    factor = _NANOMETRES_PER_UNIT.get(unit)
    if factor is None:
        # a plural, such as "Nanometers"
        factor = _NANOMETRES_PER_UNIT.get(unit.removesuffix("s"))
    if factor is None:
        return None
    # Rounded, since 1.001 · 1000 would otherwise be 1000.9999999999999.
    return np.round(np.asarray(values, dtype=np.float64) * factor, 6)


class _WithBands(Protocol):
    """A cube or a library."""

    wavelength: Array | None
    fwhm: Array | None
    notes: list[str]


def describe_bands(
    cube: _WithBands,
    wavelength: Array | None,
    units: str | None,
    fwhm: Array | None,
    fwhm_units: str | None = None,
) -> None:
    """Add wavelengths and widths; ``units`` of None are guessed from the wavelengths.

    Widths without a unit have that of the wavelengths: by their size it cannot be guessed.
    """
    unit = unit_of([], units)
    if wavelength is not None:
        cube.notes += unit_note(wavelength, units)
        unit = unit_of(wavelength, units)
        converted = to_nanometres(wavelength, unit)
        if converted is not None:
            cube.wavelength = converted
    if fwhm is not None:
        converted = to_nanometres(fwhm, fwhm_units or unit)
        if converted is not None:
            cube.fwhm = converted


# Digits with a decimal point or comma, and an exponent: "503.2", "400,5", "4.0e2".
_NUMBER = r"[0-9]{1,6}(?:[.,][0-9]{1,9})?(?:e[+-]?[0-9]{1,2})?"
# The ends of a range, "0.45-0.51 um" or "450 nm to 510 nm", or one number; and the unit, which must
# end there, so that "5 numbers" is no length.
_LENGTH = re.compile(
    rf"(?<![0-9.,])(?:({_NUMBER})\s{{0,9}}(?:{_UNIT})?\s{{0,9}}(?:-|–|—|\bto\b)\s{{0,9}})?"
    rf"({_NUMBER})\s{{0,9}}({_UNIT})(?![a-z])",
    re.IGNORECASE,
)
# "Green_503", "503.2". Not "Band 12": GDAL and ENVI count bands in this way.
_AT_THE_END = re.compile(r"(?:^|_)([0-9]{1,6}(?:\.[0-9]{1,9})?)$")
# The range of imaging spectrometers.
_SHORTEST_NM = 300.0
_LONGEST_NM = 15_000.0


def wavelengths_in(names: list[str]) -> Array | None:
    """Return the wavelengths in nm that are parts of the names of all bands, or None."""
    lengths = [_length(name) for name in names]
    known = [length for length in lengths if length is not None]
    if len(known) == len(names) and _may_be_wavelengths(np.array(known)):
        return np.array(known)
    at_the_end = [_AT_THE_END.search(name) for name in names]
    numbers = np.array([float(match[1]) for match in at_the_end if match is not None])
    # Numbers without a unit may just count the bands.
    counts = numbers.size > 1 and (np.diff(numbers) == 1).all()
    if numbers.size == len(names) and not counts and _may_be_wavelengths(numbers):
        return numbers
    return None


def _length(name: str) -> float | None:
    """Return the only length in a name in nm, the middle of a range, or None."""
    matches = list(_LENGTH.finditer(name))
    # With several lengths one may be a width.
    if len(matches) != 1:
        return None
    first, last, unit = matches[0].groups()
    ends = to_nanometres([float(end.replace(",", ".")) for end in (first or last, last)], unit)
    assert ends is not None
    low = float(ends[0])
    high = float(ends[1])
    # "Band 3-450 nm" is no range, but a number of a band and a wavelength.
    if first is None or not _SHORTEST_NM <= low <= _LONGEST_NM:
        return high
    if low >= high:
        return None
    return round((low + high) / 2, 6)


def _may_be_wavelengths(lengths: Array) -> bool:
    """Whether lengths lie in the range of spectrometers, and tell bands apart."""
    in_range = (lengths >= _SHORTEST_NM).all() and (lengths <= _LONGEST_NM).all()
    differ = lengths.size == 1 or bool((lengths != lengths[0]).any())
    return bool(in_range) and differ


_SEPARATOR = re.compile("[,;\t]")  # of the columns of a table
_WORD = r"(?:(?:center|centre|central)[ _])?(wavelengths?|wl|lambda|fwhm)"
# "wavelength (nm)", "wavelength [um]"
_IN_BRACKETS = re.compile(_WORD + r"\s*[(\[]([^()\[\]]{0,40})[)\]]")
# "wavelength_nm", "wavelength nm", "wavelength in nm", "wavelength/nm", "wavelength"
_PLAIN = re.compile(_WORD + r"(?:(?:\s*/\s*|[ _]+(?:in[ _]+)?)([^\s_/]{1,40}))?")
# Not a material, and no length either: it is refused by its unit.
_WAVENUMBER = re.compile(r"wave[ _]?numbers?(?:[ _/(\[].{0,40})?")


def parse_heading(text: str) -> tuple[str, str | None] | None:
    """Return "wavelength" or "fwhm" and the unit that a heading names, or None for another one."""
    name = " ".join(text.lower().split())
    # A unit alone. Not "m" and "cm", which may be names of materials.
    if re.fullmatch(_UNIT, name):
        return "wavelength", name
    if _WAVENUMBER.fullmatch(name):
        return "wavelength", "cm-1"
    # What is in brackets is a unit, also one that cannot be used.
    match = _IN_BRACKETS.fullmatch(name)
    if match is None:
        match = _PLAIN.fullmatch(name)
        if match is None or (match[2] is not None and to_nanometres(0.0, match[2]) is None):
            return None
    kind = "wavelength"
    if match[1] == "fwhm":
        kind = "fwhm"
    return kind, (match[2] or "").strip() or None


def headings_of(kind: str, names: Iterable[str]) -> dict[str, str | None]:
    """Return the names that may be "wavelength" or "fwhm" with their units, the best one first."""
    found = {}
    for name in names:
        # Without the groups of HDF5 and the structs of MATLAB.
        heading = parse_heading(re.split("[/.]", name)[-1])
        if heading is not None and heading[0] == kind:
            found[name] = heading[1]
    # A name that tells the unit leaves nothing to guess.
    return dict(sorted(found.items(), key=lambda entry: entry[1] is None))


def add_stac_bands(cube: StoredCube, bands: Any) -> None:
    """Add wavelengths and widths of ``eo:bands`` of STAC, which are in micrometres."""
    if not isinstance(bands, list):
        return
    described = [band for band in bands if isinstance(band, dict)]
    for key, name in (("wavelength", "center_wavelength"), ("fwhm", "full_width_half_max")):
        values: list[Any] = [band.get(name, band.get(f"eo:{name}")) for band in described]
        are_numbers = all(isinstance(value, int | float) for value in values)
        if are_numbers and len(values) == cube.shape[0]:
            setattr(cube, key, to_nanometres(values, "um"))


def kept_bands(
    wavelength: Array, is_vnir: Array, is_good: Array, overlap: str | None
) -> tuple[Array, list[str]]:
    """Return which bands of two detectors are kept, by default those of VNIR, and notes."""
    overlap = overlap or "vnir"
    if overlap not in ("vnir", "swir", "both"):
        raise InputError(f"overlap must be 'vnir', 'swir' or 'both', got {overlap!r}")
    # Bands that are not good cover no wavelengths: they are kept, and displace none of the other
    # detector.
    keep = np.ones(wavelength.size, dtype=bool)
    vnir = is_good & is_vnir
    swir = is_good & ~is_vnir
    if not vnir.any() or not swir.any():
        return keep, []
    low = wavelength[swir].min()
    high = wavelength[vnir].max()
    if low > high:
        return keep, []
    span = f"VNIR and SWIR overlap from {low:.0f} to {high:.0f} nm"
    if overlap == "both":
        return keep, [f"{span}: the bands of both are kept, by wavelength (overlap=…)"]
    other = vnir
    if overlap == "vnir":
        other = swir
    is_dropped = other & (wavelength >= low) & (wavelength <= high)
    note = f"{span}: {overlap.upper()} is kept (overlap=…); bands left out: {is_dropped.sum()}"
    return ~is_dropped, [note]


def parse_wavelengths(given: "ArrayLike | str | os.PathLike[str]") -> Array | tuple[float, float]:
    """Return wavelengths in nm that a user gives: numbers, a file of them, or ``"start:stop"``."""
    if not isinstance(given, str | os.PathLike):
        return _as_nanometres(np.asarray(given, dtype=np.float64).ravel())
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*:\s*([0-9]+\.?[0-9]*)\s*", str(given))
    if match is not None:
        first, last = _as_nanometres(np.array([float(match[1]), float(match[2])])).tolist()
        if first == last:
            raise InputError(f"wavelengths must be a range such as 400:2500, got {given!r}")
        return first, last
    path = Path(given)
    text = read_bytes(path).decode("utf-8", "replace")
    if text.startswith("ENVI"):
        from selfdict.files.envi import Header

        header = Header(path)
        numbers = header.numbers("wavelength", len(header.entries("wavelength")))
        if numbers is None:
            raise SceneError(path, "is an ENVI header without wavelengths")
        return _as_nanometres(numbers, header.fields.get("wavelength units"))
    try:
        return _as_nanometres(_listed_numbers(text))
    except ValueError:
        raise SceneError(
            path, "must hold wavelengths: numbers alone, or a table with a column wavelength"
        ) from None


def _listed_numbers(text: str) -> Array:
    """Return the numbers of a text, or of the column of its table that holds wavelengths."""
    lines = [line for line in text.splitlines() if line.strip()]
    # A heading may stand above the numbers.
    if lines and not re.match(r"\s*[0-9.]", lines[0]):
        headings = _SEPARATOR.split(lines[0])
        lines = lines[1:]
        named = list(headings_of("wavelength", headings))
        if len(headings) > 1 and named:
            column = headings.index(named[0])
            lines = [(_SEPARATOR.split(line) + [""] * column)[column] for line in lines]
    rows = [_SEPARATOR.sub(" ", line).split() for line in lines]
    numbers = np.array([float(word) for row in rows for word in row])
    if all(len(row) == 3 for row in rows) and (np.diff(numbers) < 0).any():
        # As JPL's software writes them: the number of the band, its wavelength, its width.
        return numbers[1::3]
    return numbers


def _as_nanometres(numbers: Array, units: str | None = None) -> Array:
    units = unit_of(numbers, units)
    converted = to_nanometres(numbers, units)
    if converted is None:
        raise InputError(f"wavelengths must be lengths, got the unit {units[:40]!r}")
    if converted.size == 0 or not np.isfinite(converted).all():
        raise InputError("wavelengths must be finite numbers")
    return converted
