"""The wavelengths of a scene in nanometres, whatever their unit was."""

from typing import Any

import xarray as xr

from selfdict.files.units import to_nanometres, unit_note, unit_of
from selfdict.scene.notes import add_notes


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
