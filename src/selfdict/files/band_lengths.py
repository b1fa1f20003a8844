"""Wavelengths in the names of bands, such as ``503.2 nm`` or ``Blue (0.45-0.51 um)``."""

import re

import numpy as np

from selfdict.files.cube import Array
from selfdict.files.units import to_nanometres

UNIT = r"nanomet(?:er|re)s?|micromet(?:er|re)s?|microns?|nm|um|µm|μm"
# Digits with a decimal point or comma, and an exponent: "503.2", "400,5", "4.0e2".
_NUMBER = r"[0-9]{1,6}(?:[.,][0-9]{1,9})?(?:e[+-]?[0-9]{1,2})?"
# The ends of a range, "0.45-0.51 um" or "450 nm to 510 nm", or one number; and the unit, which must
# end there, so that "5 numbers" is no length.
_LENGTH = re.compile(
    rf"(?<![0-9.,])(?:({_NUMBER})\s{{0,9}}(?:{UNIT})?\s{{0,9}}(?:-|–|—|\bto\b)\s{{0,9}})?"
    rf"({_NUMBER})\s{{0,9}}({UNIT})(?![a-z])",
    re.IGNORECASE,
)
# "Green_503", "503.2". Not "Band 12": GDAL and ENVI count bands in this way.
_AT_THE_END = re.compile(r"(?:^|_)([0-9]{1,6}(?:\.[0-9]{1,9})?)$")
# The range of imaging spectrometers.
_SHORTEST_NM = 300.0
_LONGEST_NM = 15_000.0


def wavelengths_in(names: list[str]) -> tuple[list[float] | None, list[str]]:
    """Return the wavelengths in nm that are parts of the names of all bands, or None; and notes.

    Examples
    --------
    >>> wavelengths_in(["Blue (0.45-0.51 um)", "Green (560 nm)"])[0]
    [480.0, 560.0]
    >>> wavelengths_in(["10 nm at 400 nm", "10 nm at 410 nm"])
    (None, ["the lengths in the names of the bands, such as '10 nm at 400 nm', are not used"])
    """
    has_unit = [_LENGTH.search(name) is not None for name in names]
    lengths = [_length(name) for name in names]
    known = [length for length in lengths if length is not None]
    if len(known) == len(names) and _may_be_wavelengths(np.array(known)):
        note = f"wavelengths are taken from the names of the bands, such as {names[0]!r}"
        return known, [note]
    at_the_end = [_AT_THE_END.search(name) for name in names]
    numbers = [float(match[1]) for match in at_the_end if match is not None]
    if len(numbers) == len(names) and _may_be_nanometres(np.array(numbers)):
        note = (
            f"wavelengths are taken from the names of the bands, such as {names[0]!r}, "
            "as nanometres"
        )
        return numbers, [note]
    n_named = max(sum(has_unit), sum(_SHORTEST_NM <= number <= _LONGEST_NM for number in numbers))
    if 0 < n_named < len(names):
        note = (
            f"{n_named} of {len(names)} bands have a number in their names that may be a "
            "wavelength: not used"
        )
        return None, [note]
    if all(has_unit):
        note = f"the lengths in the names of the bands, such as {names[0][:60]!r}, are not used"
        return None, [note]
    return None, []


def _length(name: str) -> float | None:
    """Return the only length in a name in nm, the middle of a range, or None."""
    matches = list(_LENGTH.finditer(name))
    # With several lengths one may be a width.
    if len(matches) != 1:
        return None
    first, last, unit = matches[0].groups()
    high = _nanometres(last, unit)
    if first is None:
        return high
    low = _nanometres(first, unit)
    # "Band 3-450 nm" is no range, but a number of a band and a wavelength.
    if not _SHORTEST_NM <= low <= _LONGEST_NM:
        return high
    if low >= high:
        return None
    return round((low + high) / 2, 6)


def _nanometres(number: str, unit: str) -> float:
    length = to_nanometres(float(number.replace(",", ".")), unit)
    if length is None:
        return float("nan")
    return float(length)


def _may_be_wavelengths(lengths: Array) -> bool:
    """Whether lengths lie in the range of spectrometers, and tell bands apart."""
    in_range = (lengths >= _SHORTEST_NM).all() and (lengths <= _LONGEST_NM).all()
    differ = lengths.size == 1 or bool((lengths != lengths[0]).any())
    return bool(in_range) and differ


def _may_be_nanometres(numbers: Array) -> bool:
    """Whether numbers without a unit can be wavelengths in nm, and do not just count the bands."""
    counts = numbers.size > 1 and bool((np.diff(numbers) == 1).all())
    return _may_be_wavelengths(numbers) and not counts
