"""Wavelengths in nanometres, whatever their unit was."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._validation import Array
from selfdict.scene.notes import add_notes

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
    >>> from selfdict.scene.units import to_nanometres
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


def in_nanometres(scene: xr.DataArray) -> xr.DataArray:
    """Return a scene with its wavelengths and their widths in nanometres.

    Those in a unit that is none of length are left out, and a note says so. Coordinates that are no
    numbers stay as they are.

    Parameters
    ----------
    scene : xarray.DataArray
        With a dim ``band``.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> from selfdict.scene.units import in_nanometres
    >>> data = xr.DataArray(np.zeros((2, 3, 4)), dims=("band", "y", "x"))
    >>> in_nanometres(data.assign_coords(wavelength=("band", [0.4, 0.5]))).wavelength.values
    array([400., 500.])
    """
    unit = None
    if _is_of_bands(scene, "wavelength"):
        values = scene["wavelength"].values
        named = _unit_named(scene["wavelength"])
        unit = unit_of(values, named)
        scene = _converted(scene, "wavelength", unit, unit_note(values, named))
    if _is_of_bands(scene, "fwhm"):
        # Widths in nanometres are below 100, too: only the unit of the wavelengths tells theirs.
        of_widths = _unit_named(scene["fwhm"]) or unit
        if of_widths is not None:
            scene = _converted(scene, "fwhm", of_widths, unit_note([], of_widths))
    return scene


def _is_of_bands(scene: xr.DataArray, name: str) -> bool:
    """Whether the scene has a coordinate of numbers of this name, one for each band."""
    if name not in scene.coords:
        return False
    return scene[name].dims == ("band",) and scene[name].dtype.kind in "iuf"


def _unit_named(coordinate: xr.DataArray) -> str | None:
    """Return the unit that a coordinate names, or None."""
    units: Any = coordinate.attrs.get("units")
    if isinstance(units, str) and units.strip().lower() not in ("", "unknown"):
        return units
    return None


def _converted(scene: xr.DataArray, name: str, unit: str, notes: list[str]) -> xr.DataArray:
    """Return the scene with one coordinate in nanometres, or without it, and the notes."""
    coordinate = scene[name]
    if coordinate.attrs.get("units") == "nm":
        return scene
    scene = add_notes(scene, *notes)
    values = to_nanometres(coordinate.values, unit)
    if values is None:
        return scene.drop_vars(name)
    return scene.assign_coords({name: ("band", values, coordinate.attrs | {"units": "nm"})})
