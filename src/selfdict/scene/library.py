"""Spectral libraries: spectra with names, and their values at the wavelengths of a scene."""

import csv
from os import PathLike
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.errors import SceneError, first_line
from selfdict.scene.formats import envi, npy
from selfdict.scene.formats.arrays import WAVELENGTH
from selfdict.scene.formats.envi_header import (
    integer_field,
    list_field,
    number_field,
    number_list,
    read_header,
)
from selfdict.scene.formats.limits import Limit
from selfdict.scene.model import check_text, to_nanometres, unit_of
from selfdict.scene.quiet import quiet

_DELETED_BELOW = -1e30  # the USGS libraries mark bands without a value by −1.23e34


def build_library(
    spectra: ArrayLike, names: ArrayLike, wavelength: ArrayLike | None = None
) -> xr.DataArray:
    """Return spectra, their names and their wavelengths as a library.

    Parameters
    ----------
    spectra : (n_spectra, n_bands) array_like
        Values; NaN for bands in which a spectrum has none.
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
            "spectra must be numbers of shape (spectra, bands), "
            f"got {values.dtype} of {values.shape}"
        )
    values = values.astype(np.float32 if values.dtype.itemsize < 8 else np.float64)
    values[~np.isfinite(values) | (values < _DELETED_BELOW)] = np.nan
    texts = np.asarray(names).astype(np.str_)
    check_text(texts, "names")
    if texts.shape != values.shape[:1]:
        raise InputError(
            f"there must be a name for each of the {len(values)} spectra, got {texts.shape}"
        )
    coords = {"name": ("spectrum", texts)}
    if wavelength is not None:
        coords["wavelength"] = ("band", np.asarray(wavelength, dtype=np.float64))
    return xr.DataArray(values, dims=("spectrum", "band"), coords=coords, name="spectra")


def read_library(path: str | PathLike[str]) -> xr.DataArray:
    """Read a spectral library.

    Parameters
    ----------
    path : str or path-like
        An ENVI spectral library (``.sli`` or its header); an ``.npz`` with a matrix ``spectra`` or
        ``D``, ``names`` and ``wavelength``; or a ``.csv`` with one row per band and one column per
        spectrum, headed by its name, and a column ``wavelength_nm`` or ``wavelength_um``, as
        :func:`write_spectra` makes it.

    Returns
    -------
    xarray.DataArray (spectrum, band)
        With the coordinates ``name (spectrum)`` and, if the file has them, ``wavelength (band)`` in
        nanometres.

    Raises
    ------
    SceneError
        The file is missing, damaged, or no library: one line with the file and the reason.

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
    path = Path(path)
    if not path.is_file():
        raise SceneError(path, "no such file")
    # ENVI files have many suffixes: it is told by the header.
    read = _read_envi
    if path.suffix.lower() == ".csv":
        read = _read_csv
    elif path.suffix.lower() == ".npz":
        read = _read_npz
    try:
        with quiet():
            return read(path)
    except SceneError:
        raise
    except Exception as error:
        # NumPy and csv have many exceptions for damaged files, and their messages name no file.
        raise SceneError(
            path, f"cannot be read as a spectral library: {first_line(error)}"
        ) from error


def match_wavelengths(library: xr.DataArray, scene: xr.DataArray) -> xr.DataArray:
    """Return the library at the wavelengths of a scene, by linear interpolation.

    Nothing is extrapolated: the library must cover all bands of the scene. If one of them has no
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
        missing = "the library"
        if "wavelength" in library.coords:
            missing = "the scene"
        raise InputError(
            f"{missing} has no wavelengths, and the bands cannot be taken one for one: "
            f"the library has {library.sizes['band']}, the scene {n_bands}"
        )
    known = library["wavelength"].values
    wanted = scene["wavelength"].values
    values = np.empty((library.sizes["spectrum"], n_bands), dtype=library.dtype)
    for k, spectrum in enumerate(library.values):
        values[k] = _interpolate(known, spectrum, wanted, str(library["name"].values[k]))
    return build_library(values, library["name"].values, wanted)


def _interpolate(known: Array, spectrum: Array, wanted: Array, name: str) -> Array:
    """Return a spectrum at the wanted wavelengths; bands without a value are left out."""
    has_value = np.isfinite(spectrum)
    x = known[has_value]
    y = spectrum[has_value]
    # The channels of neighbouring spectrometers overlap, so the bands need not be in order.
    order = np.argsort(x, kind="stable")
    x = x[order]
    y = y[order]
    _check_range(x, wanted, name)
    return np.interp(wanted, x, y)


def _check_range(known: Array, wanted: Array, name: str) -> None:
    """Refuse wanted wavelengths outside the known ones, which are sorted."""
    covers = "nothing"
    outside = wanted.size
    if known.size:
        covers = f"{known[0]:.5g}–{known[-1]:.5g} nm"
        outside = int(np.sum((wanted < known[0]) | (wanted > known[-1])))
    if outside == 0:
        return
    here = f"{wanted.min():.5g}–{wanted.max():.5g} nm"
    if outside == wanted.size:
        # Not a single band fits: most likely one of the two is not in nanometres.
        raise InputError(
            f"the ranges do not overlap: {name!r} covers {covers}, the scene {here}; "
            "check the units"
        )
    raise InputError(
        f"{name!r} covers {covers}, the scene {here}: "
        f"leave out the {outside} bands of the scene outside that"
    )


def _read_envi(path: Path) -> xr.DataArray:
    header, data = envi.find_files(path)
    fields = read_header(header)
    if fields.get("file type", "").lower() != "envi spectral library":
        raise SceneError(
            header, "is no spectral library: its 'file type' is not ENVI Spectral Library"
        )
    # A library is an image of one band: its lines are the spectra, its samples their bands.
    n_spectra = integer_field(header, fields, "lines", minimum=1)
    n_bands = integer_field(header, fields, "samples", minimum=1)
    values = envi.map_values(header, data, fields, (1, n_spectra, n_bands))[0].astype(np.float64)
    scale = number_field(header, fields, "reflectance scale factor")
    if scale is not None and scale > 0:
        # The mark of a missing value must stay below the limit.
        values = np.where(values < _DELETED_BELOW, values, values / scale)
    wavelength = number_list(header, fields, "wavelength", n_bands)
    names = list_field(fields, "spectra names")
    # The list is separated by commas. If a name holds one, it cannot be told where names end.
    if len(names) != n_spectra:
        names = [f"spectrum {k + 1}" for k in range(n_spectra)]
    if wavelength is not None:
        wavelength = to_nanometres(wavelength, unit_of(wavelength, fields.get("wavelength units")))
    return build_library(values, names, wavelength)


def _read_npz(path: Path) -> xr.DataArray:
    # Checks the declared sizes, before anything is loaded.
    shapes = npy.array_shapes(Limit(path, path.stat().st_size))
    with np.load(path, allow_pickle=False) as arrays:
        matrices = [key for key in ("spectra", "D") if len(shapes.get(key, ())) == 2]
        if not matrices or "names" not in arrays:
            raise SceneError(path, "must hold a matrix 'spectra' or 'D', and 'names'")
        values = arrays[matrices[0]]
        names = arrays["names"].ravel()
        # D is a dictionary, with its atoms as columns. Spectra are found by the number of names.
        if values.shape[0] != names.size or matrices[0] == "D":
            values = values.T
        for key, unit in WAVELENGTH.items():
            if shapes.get(key) == (values.shape[1],):
                wavelength = to_nanometres(arrays[key], unit_of(arrays[key], unit))
                return build_library(values, names, wavelength)
        return build_library(values, names)


def _read_csv(path: Path) -> xr.DataArray:
    # utf-8-sig: spreadsheets write a byte order mark, which would become part of the first name.
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [row for row in csv.reader(file) if row]
    if len(lines) < 2 or any(len(row) != len(lines[0]) for row in lines):
        raise SceneError(
            path, "must have one row of names, and as many numbers in each row below it"
        )
    columns = {}
    for k, name in enumerate(lines[0]):
        columns[name.strip()] = [row[k] for row in lines[1:]]
    if len(columns) != len(lines[0]):
        raise SceneError(path, "has two columns of the same name")
    wavelength = None
    # The columns of wavelengths are taken out: what is left are spectra.
    for key, unit in WAVELENGTH.items():
        if key in columns:
            listed = np.array(columns.pop(key), dtype=np.float64)
            wavelength = to_nanometres(listed, unit_of(listed, unit))
    # Columns that write_spectra adds, and that are no spectra.
    for name in ("band", "band_name", "fwhm_nm"):
        columns.pop(name, None)
    spectra = np.array(list(columns.values()), dtype=np.float64)
    return build_library(spectra, list(columns), wavelength)
