"""A spectral library as an array: spectra, names, materials, wavelengths and widths."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.files.errors import SceneError
from selfdict.files.limits import allowed_bytes
from selfdict.scene.model import check_text

DELETED_BELOW = -1e30  # the USGS libraries mark bands without a value by −1.23e34
# Words that are numbered where nothing is known about materials.
_NO_MATERIALS = {"class", "endmember", "material", "pixel", "sample", "spectrum"}


def build_library(
    spectra: ArrayLike,
    names: ArrayLike,
    wavelength: ArrayLike | None = None,
    *,
    fwhm: ArrayLike | None = None,
    material: ArrayLike | None = None,
) -> xr.DataArray:
    """Return spectra, their names and their wavelengths as a library.

    Parameters
    ----------
    spectra : (n_spectra, n_bands) array_like
        Values; NaN for bands in which a spectrum has none.
    names : (n_spectra,) array_like of str
        Any text.
    wavelength : (n_bands,) or (n_spectra, n_bands) array_like, optional
        In nanometres; with two axes each spectrum has wavelengths of its own, NaN where it has
        fewer than others.
    fwhm : array_like, optional
        Widths of the bands at half their maximum, in nanometres, in the shape of ``wavelength``.
    material : (n_spectra,) array_like of str, optional
        What each spectrum is a sample of. By default the words of its name before the first that
        holds a digit, ``#`` or a bracket, which is the number of the sample.

    Returns
    -------
    xarray.DataArray (spectrum, band)
        With the coordinates ``name (spectrum)``, ``material (spectrum)``, and ``wavelength`` and
        ``fwhm`` if given.

    Examples
    --------
    >>> from selfdict.scene import build_library
    >>> library = build_library([[0.2, 0.4]], ["Quartz GDS31 0-74um fr"], [500.0, 600.0])
    >>> library["material"].item()
    'Quartz'
    """
    values = np.asarray(spectra)
    if values.ndim != 2 or values.size == 0 or values.dtype.kind not in "biuf":
        raise InputError(
            "spectra must be numbers of shape (spectra, bands), "
            f"got {values.dtype} of {values.shape}"
        )
    values = values.astype(np.float32 if values.dtype.itemsize < 8 else np.float64)
    values[~np.isfinite(values) | (values < DELETED_BELOW)] = np.nan
    texts = _texts(names, "name", len(values))
    if material is None:
        materials = np.array([material_of(name) for name in texts.tolist()])
    else:
        materials = _texts(material, "material", len(values))
    coords: dict[str, Any] = {"name": ("spectrum", texts), "material": ("spectrum", materials)}
    if wavelength is not None:
        coords["wavelength"] = _band_coordinate(wavelength, "wavelength", values.shape)
    if fwhm is not None:
        coords["fwhm"] = _band_coordinate(fwhm, "fwhm", values.shape)
    return xr.DataArray(values, dims=("spectrum", "band"), coords=coords, name="spectra")


def _texts(given: ArrayLike, what: str, n_spectra: int) -> Array:
    texts = np.asarray(given).astype(np.str_)
    check_text(texts, f"{what}s")
    if texts.shape != (n_spectra,):
        raise InputError(
            f"there must be a {what} for each of the {n_spectra} spectra, got {texts.shape}"
        )
    return texts


def _band_coordinate(
    given: ArrayLike, what: str, shape: tuple[int, ...]
) -> tuple[tuple[str, ...], Array]:
    values = np.asarray(given, dtype=np.float64)
    if values.shape == shape:
        return ("spectrum", "band"), values
    if values.shape == shape[1:]:
        return ("band",), values
    raise InputError(f"{what} must have the shape {shape[1:]} or {shape}, got {values.shape}")


def material_of(name: str) -> str:
    """Return the material of a spectrum: the words of its name before the number of the sample.

    Examples
    --------
    >>> from selfdict.scene.libraries.model import material_of
    >>> material_of("Kaolinite KGa-1 (wxyl)"), material_of("dry grass"), material_of("spectrum 3")
    ('Kaolinite', 'dry grass', 'spectrum 3')
    """
    words = name.split()
    # ENVI's copy of the USGS library puts the name of a file first: "alunite1.spc Alunite GDS84".
    if len(words) > 1 and words[0].lower().endswith(".spc"):
        words = words[1:]
    # A name may begin with a number, and then there is nothing else to tell materials apart.
    material = words[:1]
    for word in words[1:]:
        if re.search(r"[0-9#(\[]", word):
            break
        material.append(word)
    together = " ".join(material)
    # The number is then what tells them apart.
    if together.casefold() in _NO_MATERIALS:
        return name
    return together


def material_names(library: xr.DataArray) -> Array:
    """Return the material of each spectrum, also of a library that names spectra only."""
    if "material" in library.coords:
        materials: Array = library["material"].values
        return materials
    return np.array([material_of(str(name)) for name in library["name"].values])


@dataclass(frozen=True)
class Record:
    """One spectrum of a library whose spectra have files of their own.

    Attributes
    ----------
    name, material : str
        See :func:`build_library`.
    values, wavelength : (n_bands,) ndarray
        Rising wavelengths, in nanometres.
    fwhm : (n_bands,) ndarray or None
        Widths of the bands in nanometres, if they are known.
    """

    name: str
    material: str
    values: Array
    wavelength: Array
    fwhm: Array | None = None


def gather_records(records: Sequence[Record], path: Path, held: int) -> xr.DataArray:
    """Return spectra of separate files as one library.

    Parameters
    ----------
    records : sequence of Record
        At least one. If their wavelengths differ, the coordinate ``wavelength`` has two axes.
    path : Path
        The folder or file, for messages.
    held : int
        The size in bytes of all files together, which limits the size of the library.
    """
    first = records[0]
    n_bands = max(len(record.values) for record in records)
    shape = (len(records), n_bands)
    # One long spectrum makes all rows of the library long.
    n_bytes = 3 * 8 * shape[0] * shape[1]
    if n_bytes > allowed_bytes(held):
        raise SceneError(path, f"declares {n_bytes} bytes of data for a library but holds {held}")
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
        raise SceneError(path, "holds no value that is not deleted")
    names = [record.name for record in records]
    materials = [record.material for record in records]
    if all(np.array_equal(record.wavelength, first.wavelength) for record in records):
        wavelength = first.wavelength
    widths = None
    if np.isfinite(fwhm).any():
        widths = fwhm
    return build_library(values, names, wavelength, fwhm=widths, material=materials)
