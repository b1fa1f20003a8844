"""Headings of a table that tell wavelengths and widths of bands, with their units."""

import re
from dataclasses import dataclass

from selfdict.files.units import to_nanometres

_WORD = r"(?:(?:center|centre|central)[ _])?(wavelengths?|wl|lambda|fwhm)"
# "wavelength (nm)", "wavelength [um]"
_IN_BRACKETS = re.compile(_WORD + r"\s*[(\[]([^()\[\]]{0,40})[)\]]")
# "wavelength_nm", "wavelength nm", "wavelength in nm", "wavelength/nm", "wavelength"
_PLAIN = re.compile(_WORD + r"(?:(?:\s*/\s*|[ _]+(?:in[ _]+)?)([^\s_/]{1,40}))?")
# Units that stand alone above wavelengths. Not "m" and "cm", which may be names of materials.
_UNIT_ALONE = re.compile(r"nm|nanomet(?:er|re)s?|[uµμ]m|microns?|micromet(?:er|re)s?")
# Not a material, and no length either: it is refused by its unit.
_WAVENUMBER = re.compile(r"wave[ _]?numbers?(?:[ _/(\[].{0,40})?")


@dataclass(frozen=True)
class Heading:
    """What a column holds: ``wavelength`` or ``fwhm``, and the unit, None if it is not named."""

    kind: str
    unit: str | None


def parse_heading(text: str) -> Heading | None:
    """Return what a heading says about bands, or None if it names something else.

    Examples
    --------
    >>> parse_heading("Wavelength (nm)")
    Heading(kind='wavelength', unit='nm')
    >>> parse_heading("FWHM")
    Heading(kind='fwhm', unit=None)
    >>> parse_heading("wavelength calibration") is None
    True
    """
    name = " ".join(text.lower().split())
    if _UNIT_ALONE.fullmatch(name):
        return Heading("wavelength", name)
    if _WAVENUMBER.fullmatch(name):
        return Heading("wavelength", "cm-1")
    match = _IN_BRACKETS.fullmatch(name)
    # What is in brackets is a unit, also one that cannot be used.
    if match is not None:
        return Heading(_kind(match[1]), match[2].strip() or None)
    match = _PLAIN.fullmatch(name)
    if match is None:
        return None
    if match[2] is not None and to_nanometres(0.0, match[2]) is None:
        return None
    return Heading(_kind(match[1]), match[2])


def _kind(word: str) -> str:
    if word == "fwhm":
        return "fwhm"
    return "wavelength"
