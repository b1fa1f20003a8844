"""Spectral libraries: spectra with names, and their values at the wavelengths of a scene."""

import csv
from os import PathLike
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats import envi, npy
from selfdict.scene.formats.arrays import WAVELENGTH
from selfdict.scene.formats.envi_header import integer, number, numbers, read_header, words
from selfdict.scene.model import to_nanometres, unit_of

_DELETED = -1e30  # the USGS libraries mark bands without a value by −1.23e34
_NO_SPECTRUM = {"band", "band_name", "fwhm_nm"}  # columns of a CSV file that are none


def build_library(
    spectra: ArrayLike, names: ArrayLike, wavelength: ArrayLike | None = None
) -> xr.DataArray:
    """Put spectra, their names and their wavelengths together as a library.

    Parameters
    ----------
    spectra : (n_spectra, n_bands) array_like
        Values; NaN where a spectrum has none.
    names : (n_spectra,) array_like of str
        Any text.
    wavelength : (n_bands,) array_like, optional
        In nanometres.

    Returns
    -------
    xarray.DataArray (spectrum, band)
        With the coordinates ``name (spectrum)`` and ``wavelength (band)``.

    Examples
    --------
    >>> from selfdict.scene import build_library
    >>> build_library([[0.2, 0.4]], ["quartz"], [500.0, 600.0])["name"].item()
    'quartz'
    """
    values = np.asarray(spectra)
    if values.ndim != 2 or values.size == 0 or values.dtype.kind not in "biuf":
        raise InputError(
            f"spectra must be numbers of shape (spectra, bands), got {values.dtype} of {values.shape}"
        )
    values = values.astype(np.float32 if values.dtype.itemsize < 8 else np.float64)
    values[~np.isfinite(values) | (values < _DELETED)] = np.nan
    coords = {"name": ("spectrum", np.asarray(names).astype(np.str_))}
    if coords["name"][1].shape != values.shape[:1]:
        raise InputError(
            f"there must be a name for each of the {len(values)} spectra, got {coords['name'][1].shape}"
        )
    if wavelength is not None:
        coords["wavelength"] = ("band", np.asarray(wavelength, dtype=np.float64))
    return xr.DataArray(values, dims=("spectrum", "band"), coords=coords, name="spectra")


def read_library(path: str | PathLike[str]) -> xr.DataArray:
    """Read a spectral library.

    Parameters
    ----------
    path : str or path-like
        An ENVI spectral library (``.sli`` or its header); an ``.npz`` with a matrix ``spectra`` or
        ``D``, ``names`` and ``wavelength``; or a ``.csv`` with a row for each band and a column for
        each spectrum, its name above it, beside a column ``wavelength_nm`` or ``wavelength_um``, as
        :func:`write_spectra` makes it.

    Returns
    -------
    xarray.DataArray (spectrum, band)
        With the coordinates ``name (spectrum)`` and, where the file has them, ``wavelength (band)``
        in nanometres.

    Raises
    ------
    SceneError
        The file is missing, damaged, or no library: one line with the file and the reason.
    """
    path = Path(path)
    if not path.is_file():
        raise SceneError(path, "no such file")
    read = {".csv": _read_csv, ".npz": _read_npz}.get(path.suffix.lower(), _read_envi)
    try:
        return read(path)
    except SceneError:
        raise
    except (
        Exception
    ) as error:  # whatever a library says about a damaged file becomes one line with its name
        first_line = (str(error).splitlines() or [""])[0]
        raise SceneError(
            path, f"cannot be read as a spectral library: {first_line or type(error).__name__}"
        ) from error


def match_wavelengths(library: xr.DataArray, scene: xr.DataArray) -> xr.DataArray:
    """Return the library at the wavelengths of a scene, by linear interpolation.

    Nothing is extrapolated: the library must cover all bands of the scene. Where either has no
    wavelengths, both must have the same number of bands, which are then taken to be the same.

    Parameters
    ----------
    library : xarray.DataArray (spectrum, band)
        See :func:`read_library`.
    scene : xarray.DataArray
        Anything with a dim ``band`` and a coordinate ``wavelength (band)`` in nanometres.

    Returns
    -------
    xarray.DataArray (spectrum, band)

    Raises
    ------
    ValueError
        The ranges of wavelengths do not overlap, or bands of the scene lie outside the library.

    Examples
    --------
    >>> import xarray as xr
    >>> from selfdict.scene import build_library, match_wavelengths
    >>> library = build_library([[0.2, 0.4]], ["quartz"], [500.0, 600.0])
    >>> scene = xr.DataArray([0.0], dims="band", coords={"wavelength": ("band", [550.0])})
    >>> match_wavelengths(library, scene).values
    array([[0.3]])
    """
    n_bands = scene.sizes["band"]
    if "wavelength" not in library.coords or "wavelength" not in scene.coords:
        if library.sizes["band"] == n_bands and not np.isnan(library.values).any():
            return library
        missing = "the scene" if "wavelength" in library.coords else "the library"
        raise InputError(
            f"{missing} has no wavelengths, and the bands cannot be taken one for one: "
            f"the library has {library.sizes['band']}, the scene {n_bands}"
        )
    known, wanted = library["wavelength"].values, scene["wavelength"].values
    values = np.empty((library.sizes["spectrum"], n_bands), dtype=library.dtype)
    for k, spectrum in enumerate(library.values):
        values[k] = _interpolate(known, spectrum, wanted, str(library["name"].values[k]))
    return build_library(values, library["name"].values, wanted)


def _interpolate(known: Array, spectrum: Array, wanted: Array, name: str) -> Array:
    there = np.isfinite(spectrum)
    order = np.argsort(
        known[there], kind="stable"
    )  # channels of neighbouring spectrometers overlap
    x, y = known[there][order], spectrum[there][order]
    outside = int(np.sum((wanted < x[0]) | (wanted > x[-1]))) if x.size else wanted.size
    if outside:
        covers = f"{x[0]:.5g}–{x[-1]:.5g} nm" if x.size else "nothing"
        here = f"{wanted.min():.5g}–{wanted.max():.5g} nm"
        if outside == wanted.size:
            raise InputError(
                f"the ranges do not overlap: {name!r} covers {covers}, the scene {here}; check the units"
            )
        raise InputError(
            f"{name!r} covers {covers}, the scene {here}: leave out the {outside} bands of the scene outside that"
        )
    return np.interp(wanted, x, y)


def _read_envi(path: Path) -> xr.DataArray:
    header, data = envi.find_files(path)
    fields = read_header(header)
    if fields.get("file type", "").lower() != "envi spectral library":
        raise SceneError(
            header, "is no spectral library: its 'file type' is not ENVI Spectral Library"
        )
    n_spectra, n_bands = (integer(header, fields, key, minimum=1) for key in ("lines", "samples"))
    values = envi.map_values(header, data, fields, (1, n_spectra, n_bands))[0].astype(np.float64)
    scale = number(header, fields, "reflectance scale factor")
    if scale is not None and scale > 0:
        values = np.where(values < _DELETED, values, values / scale)
    wavelength = numbers(header, fields, "wavelength", n_bands)
    names = words(fields, "spectra names")
    if len(names) != n_spectra:  # a name may hold commas: then none is known
        names = [f"spectrum {k + 1}" for k in range(n_spectra)]
    if wavelength is not None:
        wavelength = to_nanometres(wavelength, unit_of(wavelength, fields.get("wavelength units")))
    return build_library(values, names, wavelength)


def _read_npz(path: Path) -> xr.DataArray:
    shapes = npy.array_shapes(path)
    with np.load(path, allow_pickle=False) as arrays:
        matrices = [key for key in ("spectra", "D") if len(shapes.get(key, ())) == 2]
        if not matrices or "names" not in arrays:
            raise SceneError(path, "must hold a matrix 'spectra' or 'D', and 'names'")
        values, names = arrays[matrices[0]], arrays["names"].ravel()
        if values.shape[0] != names.size or matrices[0] == "D":  # D has its atoms as columns
            values = values.T
        for key, unit in WAVELENGTH.items():
            if shapes.get(key) == (values.shape[1],):
                return build_library(
                    values, names, to_nanometres(arrays[key], unit_of(arrays[key], unit))
                )
        return build_library(values, names)


def _read_csv(path: Path) -> xr.DataArray:
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [row for row in csv.reader(file) if row]
    if len(lines) < 2 or any(len(row) != len(lines[0]) for row in lines):
        raise SceneError(
            path, "must have one row of names, and as many numbers in each row below it"
        )
    columns = {name.strip(): [row[k] for row in lines[1:]] for k, name in enumerate(lines[0])}
    if len(columns) != len(lines[0]):
        raise SceneError(path, "has two columns of the same name")
    wavelength = None
    for key, unit in WAVELENGTH.items():
        if key in columns:
            listed = np.array(columns.pop(key), dtype=np.float64)
            wavelength = to_nanometres(listed, unit_of(listed, unit))
    spectra = {name: column for name, column in columns.items() if name not in _NO_SPECTRUM}
    return build_library(
        np.array(list(spectra.values()), dtype=np.float64), list(spectra), wavelength
    )
