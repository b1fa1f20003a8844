"""What an HDF5 file says about its bands, in the order of rising wavelengths."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.hdf5 import text_attribute
from selfdict.scene.model import to_nanometres, unit_note, unit_of


@dataclass(frozen=True)
class BandTable:
    """The bands of a scene.

    Attributes
    ----------
    order : (n_bands,) ndarray of int
        The band in the file that each band of the scene is.
    data : dict
        Arguments of ``build_scene``: ``wavelength``, ``fwhm``, ``good_band``, in that order.
    notes : tuple of str
        What was assumed.
    """

    order: Array
    data: dict[str, Any]
    notes: tuple[str, ...]


def band_table(
    path: Path,
    n_bands: int,
    wavelength: Array | None,
    units: str | None,
    fwhm: Array | None,
    is_good: Array | None,
) -> BandTable:
    """Return what is known about the bands, sorted by wavelength.

    Parameters
    ----------
    path : pathlib.Path
        The file, for messages.
    n_bands : int
        Bands of the cube.
    wavelength, fwhm : (n_bands,) ndarray, optional
        In the order of the file.
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
    order = np.arange(n_bands)
    data: dict[str, Any] = {}
    if wavelength is None:
        notes.append("the file has no wavelengths")
    else:
        wavelength = wavelength.astype(np.float64)
        if not np.isfinite(wavelength).all():
            raise SceneError(path, "has wavelengths that are no finite numbers")
        notes += unit_note(wavelength, units)
        unit = unit_of(wavelength, units)
        order = np.argsort(wavelength, kind="stable")
        data["wavelength"] = to_nanometres(wavelength[order], unit)
        if fwhm is not None:
            data["fwhm"] = to_nanometres(fwhm[order].astype(np.float64), unit)
    if is_good is None:
        notes.append("the file marks no bands as bad")
    else:
        data["good_band"] = is_good[order] != 0
    if (np.diff(order) < 0).any():
        notes.append("the bands are sorted by wavelength, in the file they are not")
    return BandTable(order, data, tuple(notes))


def unit_attribute(path: Path, node: Any) -> str | None:
    """Return the unit that a dataset names, under any of the usual names."""
    for name in ("units", "Units", "unit", "Unit"):
        text = text_attribute(path, node, name)
        if text:
            return text
    return None
