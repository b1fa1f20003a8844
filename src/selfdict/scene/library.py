"""Spectral libraries: read, built from arrays, and resampled to the bands of a scene."""

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import ndtr

from selfdict._errors import InputError, SceneError
from selfdict._validation import Array
from selfdict.files.formats import FileFormat
from selfdict.files.library_text import DELETED_BELOW
from selfdict.files.reader import Reader
from selfdict.scene.blocks import float_dtype
from selfdict.scene.metadata import add_notes, notes_of, wavelength_ranges
from selfdict.scene.model import check_text


def read_library(path: str | PathLike[str]) -> xr.DataArray:
    r"""Read a spectral library.

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
    ...     _ = path.write_text("wavelength_nm,quartz,calcite\n500,0.2,0.5\n600,0.4,0.7\n")
    ...     library = read_library(path)
    >>> library["name"].values.tolist(), library["wavelength"].values.tolist()
    (['quartz', 'calcite'], [500.0, 600.0])
    """
    reader = Reader(Path(path), FileFormat("a spectral library", "selfdict.files.libraries"), {})
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
        raise SceneError(path, f"cannot be read as a spectral library: {error}") from error
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
    values = values.astype(float_dtype(values.dtype))
    values[~np.isfinite(values) | (values < DELETED_BELOW)] = np.nan
    texts = _texts(names, "name", len(values))
    if material is None:
        material = [material_of(name) for name in texts.tolist()]
    coords: dict[str, Any] = {
        "name": ("spectrum", texts),
        "material": ("spectrum", _texts(material, "material", len(values))),
    }
    for name, given in (("wavelength", wavelength), ("fwhm", fwhm)):
        if given is None:
            continue
        numbers = np.asarray(given, dtype=np.float64)
        if numbers.shape not in (values.shape, values.shape[1:]):
            raise InputError(
                f"{name} must have the shape {values.shape[1:]} or {values.shape}, "
                f"got {numbers.shape}"
            )
        coords[name] = (("spectrum", "band")[-numbers.ndim :], numbers)
    return xr.DataArray(values, dims=("spectrum", "band"), coords=coords, name="spectra")


def _texts(given: ArrayLike, what: str, n_spectra: int) -> Array:
    texts = np.asarray(given).astype(np.str_)
    check_text(texts, f"{what}s")
    if texts.shape != (n_spectra,):
        raise InputError(
            f"there must be a {what} for each of the {n_spectra} spectra, got {texts.shape}"
        )
    return texts


def material_of(name: str) -> str:
    """Return the material of a spectrum: the words of its name before the number of the sample."""
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
    # Words that are numbered where nothing is known about materials: the number tells them apart.
    if together.casefold() in {"class", "endmember", "material", "pixel", "sample", "spectrum"}:
        return name
    return together


def resample_library(library: xr.DataArray, scene: xr.DataArray) -> tuple[xr.DataArray, Array]:
    """Return the spectra of a library as the sensor of a scene would measure them.

    If the scene has widths (``fwhm``), each value is the average of the spectrum under a Gaussian
    of that width. The library has already been smoothed by its own instrument: that width, or the
    sampling distance if it is unknown, is subtracted in quadrature. If nothing is left to smooth,
    or the scene has no widths, values are interpolated linearly.

    Nothing is extrapolated, and deleted values are not bridged. Bands that the library does not
    cover are left out, and so are spectra that do not cover the bands of most others.

    Parameters
    ----------
    library : xarray.DataArray (spectrum, band)
        See :func:`read_library`.
    scene : xarray.DataArray
        Anything with a dim ``band`` and coordinates ``wavelength (band)`` and perhaps ``fwhm
        (band)`` in nanometres. If scene or library has no wavelengths, both must have the same
        number of bands, which are then matched one to one.

    Returns
    -------
    resampled : xarray.DataArray (spectrum, band)
        The remaining spectra and bands, without missing values. The attribute ``selfdict_notes``
        says what was left out.
    is_covered : (n_bands,) ndarray of bool
        Which bands of the scene remain.

    Raises
    ------
    ValueError
        No band is covered.

    Examples
    --------
    >>> import xarray as xr
    >>> from selfdict.scene import build_library, resample_library
    >>> library = build_library([[0.2, 0.4]], ["quartz"], [500.0, 600.0])
    >>> bands = {"wavelength": ("band", [550.0, 650.0])}
    >>> resampled, is_covered = resample_library(
    ...     library, xr.DataArray([0.0, 0.0], dims="band", coords=bands)
    ... )
    >>> resampled.values, is_covered
    (array([[0.3]]), array([ True, False]))
    >>> resampled.attrs["selfdict_notes"]
    ['1 of 2 bands are left out, which the library does not cover: 650 nm']
    """
    if "wavelength" not in library.coords or "wavelength" not in scene.coords:
        return _same_bands(library, scene)
    values = _values_at_bands(library, scene)
    has_value = np.isfinite(values)
    if not has_value.any():
        raise InputError(
            f"the ranges do not overlap: the library covers {_range_of(library)}, the scene "
            f"{_range_of(scene)}; check the units"
        )
    # Spectra of another range, such as thermal ones, go first: they must not cost bands. Then go
    # bands that fewer than nine in ten spectra cover, and the spectra that miss one that stays.
    spectra = has_value.sum(axis=1) >= 0.5 * has_value.any(axis=0).sum()
    bands = has_value[spectra].sum(axis=0) >= max(1.0, 0.9 * spectra.sum())
    spectra &= has_value[:, bands].all(axis=1)
    if not bands.any() or not spectra.any():
        raise InputError(
            "no range of wavelengths is covered by the scene and by all spectra of the library: "
            "split the library"
        )
    kept = build_library(
        values[np.ix_(spectra, bands)],
        library["name"].values[spectra],
        scene["wavelength"].values[bands],
        material=library["material"].values[spectra],
    )
    notes = notes_of(library)
    if not bands.all():
        notes.append(
            f"{np.sum(~bands)} of {len(bands)} bands are left out, which the library does not "
            f"cover: {wavelength_ranges(scene, ~bands)}"
        )
    if not spectra.all():
        notes.append(
            f"{np.sum(~spectra)} of {len(spectra)} spectra of the library are left out, which do "
            "not cover the bands of the scene"
        )
    return add_notes(kept, *notes), bands


def _same_bands(library: xr.DataArray, scene: xr.DataArray) -> tuple[xr.DataArray, Array]:
    """Return the library as it is, if it has as many bands as the scene."""
    n_bands = scene.sizes["band"]
    missing = "the library"
    if "wavelength" in library.coords:
        missing = "the scene"
    if library.sizes["band"] != n_bands or np.isnan(library.values).any():
        raise InputError(
            f"{missing} has no wavelengths, and the bands cannot be matched one to one: "
            f"the library has {library.sizes['band']}, the scene {n_bands}"
        )
    # If neither has wavelengths, nothing could be compared.
    if "wavelength" in library.coords or "wavelength" in scene.coords:
        note = f"{missing} has no wavelengths: its {n_bands} bands are matched one to one"
        library = add_notes(library, note)
    return library, np.ones(n_bands, dtype=bool)


def _range_of(data: xr.DataArray) -> str:
    wavelength = data["wavelength"].values
    return f"{np.nanmin(wavelength):.5g}–{np.nanmax(wavelength):.5g} nm"


def _values_at_bands(library: xr.DataArray, scene: xr.DataArray) -> Array:
    """Return the spectra at the bands of a scene (n_spectra, n_bands), NaN where not covered."""
    centres = scene["wavelength"].values.astype(np.float64)
    widths = np.zeros(len(centres))
    if "fwhm" in scene.coords:
        # A band without a width is one without a response to integrate.
        widths = np.nan_to_num(scene["fwhm"].values.astype(np.float64))
    values = np.full((library.sizes["spectrum"], len(centres)), np.nan, dtype=library.dtype)
    # A file may leave out the wavelengths of some bands.
    known = np.flatnonzero(np.isfinite(centres))
    # Sums of damaged values may leave the range of floats.
    with np.errstate(all="ignore"):
        for rows, x, spectra, own_widths in _same_samples(library):
            if len(x) > 1:
                for k in known:
                    values[rows, k] = _at_band(x, spectra, own_widths, centres[k], widths[k])
    values[~np.isfinite(values)] = np.nan
    return values


def _same_samples(library: xr.DataArray) -> Iterator[tuple[list[int], Array, Array, Array]]:
    """Yield the rows that share their samples: wavelengths (n,), rising; spectra; widths (n,)."""
    wavelength = np.broadcast_to(library["wavelength"].values, library.shape)
    widths = np.full(library.shape, np.nan)
    if "fwhm" in library.coords:
        widths = np.broadcast_to(library["fwhm"].values, library.shape)
    groups: dict[bytes, list[int]] = {}
    for k in range(len(wavelength)):
        groups.setdefault(wavelength[k].tobytes() + widths[k].tobytes(), []).append(k)
    for rows in groups.values():
        x = wavelength[rows[0]]
        known = np.flatnonzero(np.isfinite(x))
        order = known[np.argsort(x[known], kind="stable")]
        spectra = library.values[rows][:, order].astype(np.float64)
        yield rows, x[order], spectra, widths[rows[0], order]


def _at_band(x: Array, spectra: Array, own_widths: Array, centre: float, width: float) -> Array:
    """Return the values of spectra (k, n), sampled at x, in one band; NaN where not covered."""
    right = int(np.clip(np.searchsorted(x, centre), 1, len(x) - 1))
    step = x[right] - x[right - 1]
    own_width = own_widths[right]
    if not np.isfinite(own_width):
        own_width = step
    left_to_smooth = np.sqrt(max(0.0, width**2 - own_width**2))
    # A response that is narrower than the distance of the samples sees a straight line.
    if left_to_smooth <= step:
        return _interpolated(x, spectra, centre, right)
    # the full width of a Gaussian at half its maximum is √(8 ln 2) standard deviations
    return _averaged(x, spectra, centre, left_to_smooth / 2.3548200450309493)


def _interpolated(x: Array, spectra: Array, centre: float, right: int) -> Array:
    """Return the values on the lines between the samples ``right − 1`` and ``right``."""
    if not x[right - 1] <= centre <= x[right]:
        return np.full(len(spectra), np.nan)
    # A sample at the centre itself needs no neighbour, which may be deleted.
    for k in (right, right - 1):
        if x[k] == centre:
            return spectra[:, k]
    share = float((centre - x[right - 1]) / (x[right] - x[right - 1]))
    return np.asarray((1 - share) * spectra[:, right - 1] + share * spectra[:, right])


def _averaged(x: Array, spectra: Array, centre: float, sigma: float) -> Array:
    """Return the averages under a Gaussian of the lines between neighbouring samples."""
    # On a segment from a to b, in standard deviations from the centre, the line is the sum of its
    # ends with weights (b − z) / (b − a) and (z − a) / (b − a). The integrals of 1 and z under the
    # Gaussian φ are Φ(b) − Φ(a) and φ(a) − φ(b).
    # five standard deviations on both sides
    low = max(0, int(np.searchsorted(x, centre - 5.0 * sigma)) - 1)
    high = int(np.searchsorted(x, centre + 5.0 * sigma)) + 1
    z = (x[low:high] - centre) / sigma
    near = spectra[:, low:high]
    mass = np.diff(ndtr(z))
    moment = -np.diff(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))
    lengths = np.diff(z)
    # Samples of two detectors at one wavelength: a segment without a length has no mass.
    right_weights = (moment - z[:-1] * mass) / np.where(lengths > 0, lengths, 1.0)
    left_weights = mass - right_weights
    is_known = np.isfinite(near[:, :-1]) & np.isfinite(near[:, 1:])
    totals = np.where(is_known, near[:, :-1], 0.0) @ left_weights
    totals += np.where(is_known, near[:, 1:], 0.0) @ right_weights
    coverage = is_known @ mass
    is_covered = coverage >= 0.9  # the part of its response for which a band needs values
    return np.where(is_covered, totals / np.where(is_covered, coverage, 1.0), np.nan)
