"""Wavelengths in nanometres, whatever their unit was."""

import numpy as np
from numpy.typing import ArrayLike

from selfdict.files.cube import Array

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


def unit_of(wavelength: ArrayLike, units: str | None) -> str:
    """Return the unit if it is named, else a guess: wavelengths below 100 are micrometres.

    Examples
    --------
    >>> unit_of([0.4, 2.5], None)
    'um'
    """
    if units and units.strip().lower() != "unknown":
        return units
    # Imaging spectrometers cover 0.35 to 15 micrometres, that is 350 to 15,000 nm.
    if np.nanmax(np.asarray(wavelength, dtype=np.float64), initial=0.0) < 100:
        return "um"
    return "nm"


def unit_note(wavelength: ArrayLike, units: str | None) -> list[str]:
    """Return a note about the unit of wavelengths, if it is guessed or is none of length.

    Examples
    --------
    >>> unit_note([400.0, 2500.0], None)
    ['the file names no unit of its wavelengths: 400 to 2500 are taken as nm']
    >>> unit_note([400.0, 2500.0], "nm")
    []
    """
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
    >>> from selfdict.files.units import to_nanometres
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
