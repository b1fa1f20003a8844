"""What an HDF5 file says about its bands."""

from pathlib import Path
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.hdf5 import text_attribute
from selfdict.scene.units import to_nanometres, unit_note, unit_of


def band_data(
    path: Path,
    n_bands: int,
    wavelength: Array | None,
    units: str | None,
    fwhm: Array | None,
    is_good: Array | None,
) -> tuple[dict[str, Any], list[str]]:
    """Return what is known about the bands as arguments of ``build_scene``, and notes.

    Parameters
    ----------
    path : pathlib.Path
        The file, for messages.
    n_bands : int
        Bands of the cube.
    wavelength, fwhm : (n_bands,) ndarray, optional
        As the file lists them.
    units : str, optional
        Of both; None: guessed from the wavelengths, with a note.
    is_good : (n_bands,) ndarray, optional
        0 for bad bands.
    """
    listed = {"wavelength": wavelength, "fwhm": fwhm, "good_band": is_good}
    for name, values in listed.items():
        if values is not None and values.shape != (n_bands,):
            raise SceneError(
                path,
                f"{name} must have one entry for each of the {n_bands} bands, "
                f"got shape {values.shape}",
            )
    notes = []
    data: dict[str, Any] = {}
    if wavelength is not None:
        if not np.isfinite(wavelength).all():
            raise SceneError(path, "has wavelengths that are no finite numbers")
        notes += unit_note(wavelength, units)
        unit = unit_of(wavelength, units)
        data["wavelength"] = to_nanometres(wavelength, unit)
        # Widths have the unit of the wavelengths; by their size it cannot be guessed.
        if fwhm is not None:
            data["fwhm"] = to_nanometres(fwhm, unit)
    if is_good is None:
        notes.append("the file marks no bands as bad")
    else:
        data["good_band"] = is_good != 0
    return data, notes


def unit_attribute(path: Path, node: Any) -> str | None:
    """Return the unit that a dataset names, under any of the usual names."""
    for name in ("units", "Units", "unit", "Unit"):
        text = text_attribute(path, node, name)
        if text:
            return text
    return None
