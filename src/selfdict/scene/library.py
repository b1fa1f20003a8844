"""Spectral libraries: spectra with names, materials, wavelengths and widths, as an array."""

import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.files.errors import SceneError
from selfdict.files.formats import FileFormat
from selfdict.files.library_text import DELETED_BELOW
from selfdict.files.reader import Reader
from selfdict.scene.metadata import add_notes
from selfdict.scene.model import check_text

_FORMAT = FileFormat("a spectral library", "selfdict.files.libraries")
# Words that are numbered where nothing is known about materials.
_NO_MATERIALS = {"class", "endmember", "material", "pixel", "sample", "spectrum"}


def read_library(path: str | PathLike[str]) -> xr.DataArray:
    """Read a spectral library.

    Parameters
    ----------
    path : str or path-like
        One of these:

        - a folder of the USGS library version 7 (``ASCIIdata_splib07a``, one of the convolved
          libraries, or a chapter), or of the ECOSTRESS or ASTER library; or one ``.txt`` of them;
        - an ENVI spectral library (``.sli`` or its header);
        - an ``.npz`` with a matrix ``spectra`` or ``D``, ``names``, ``wavelength``, and perhaps
          ``fwhm`` and ``materials``;
        - a ``.csv`` with one row per band and one column per spectrum, headed by its name, and
          columns ``wavelength_nm`` or ``wavelength_um``, as :func:`write_spectra` makes it.

    Returns
    -------
    xarray.DataArray (spectrum, band)
        With the coordinates ``name (spectrum)``, ``material (spectrum)`` and, if the file has
        them, ``wavelength (band)`` and ``fwhm (band)`` in nanometres. If the spectra of a folder
        have wavelengths of their own, these coordinates have the dims (spectrum, band). The
        attribute ``selfdict_notes`` says what was left out.

    Raises
    ------
    SceneError
        The file is missing, damaged or not a library: one line with the file and the reason.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from selfdict import read_library
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "minerals.csv"
    ...     with path.open("w") as file:
    ...         print("wavelength_nm,quartz,calcite", file=file)
    ...         print("500,0.2,0.5", file=file)
    ...         print("600,0.4,0.7", file=file)
    ...     library = read_library(path)
    >>> library["name"].values.tolist(), library["wavelength"].values.tolist()
    (['quartz', 'calcite'], [500.0, 600.0])
    """
    reader = Reader(Path(path), _FORMAT, {})
    known = reader.open()
    reader.close()
    try:
        # Damaged values may overflow, which is no error: they become NaN.
        with np.errstate(all="ignore"):
            library = build_library(
                known["spectra"],
                known["names"],
                known["wavelength"],
                fwhm=known["fwhm"],
                material=known["material"],
            )
    except InputError as error:
        reason = f"cannot be read as a spectral library: {error}"
        raise SceneError(path, reason) from error
    return add_notes(library, *known["notes"])


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
        In nanometres; with two axes each spectrum has its own wavelengths, padded with NaN.
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
    >>> from selfdict.scene.library import material_of
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
