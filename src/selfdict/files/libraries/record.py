"""Spectra of a library as its readers return them, without xarray."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.limits import allowed_bytes

DELETED_BELOW = -1e30  # the USGS libraries mark bands without a value by −1.23e34


@dataclass
class StoredLibrary:
    """What a file says about spectra: the arguments of ``build_library``, and notes."""

    spectra: Array
    names: list[str]
    wavelength: Array | None = None
    fwhm: Array | None = None
    material: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    held: int | None = None


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


def gather_records(records: Sequence[Record], path: Path, held: int) -> StoredLibrary:
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
    return StoredLibrary(values, names, wavelength, widths, materials)
