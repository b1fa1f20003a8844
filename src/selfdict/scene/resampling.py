"""Spectra of a library at the bands of a scene, by the response of the bands."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import ndtr

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.library import build_library, material_names
from selfdict.scene.metadata import wavelength_ranges

# Full width of a Gaussian at half its maximum, in standard deviations: √(8 ln 2).
_WIDTH_IN_SIGMAS = 2.3548200450309493
_REACH_IN_SIGMAS = 5.0  # a response is integrated this far on both sides of its centre
_MIN_COVERAGE = 0.9  # share of its response for which a band must have values
# Spectra that cover fewer of the bands are left out before bands are.
_MIN_SPECTRUM_SHARE = 0.5
# Bands that fewer of the remaining spectra cover are left out, and then the spectra that miss one
# of the bands that stay.
_MIN_BAND_SHARE = 0.9


@dataclass(frozen=True)
class ResampledLibrary:
    """A library at the bands of a scene.

    Attributes
    ----------
    library : xarray.DataArray (spectrum, band)
        The remaining spectra and bands, without missing values.
    bands : (n_bands,) ndarray of bool
        Which bands of the scene remain.
    spectra : (n_spectra,) ndarray of bool
        Which spectra of the library remain.
    notes : tuple of str
        What was left out.
    """

    library: xr.DataArray
    bands: Array
    spectra: Array
    notes: tuple[str, ...]


def resample_library(library: xr.DataArray, scene: xr.DataArray) -> ResampledLibrary:
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
    ResampledLibrary

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
    >>> resampled = resample_library(library, xr.DataArray([0.0, 0.0], dims="band", coords=bands))
    >>> resampled.library.values, resampled.notes
    (array([[0.3]]), ('1 of 2 bands are left out, which the library does not cover: 650 nm',))
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
    spectra = has_value.sum(axis=1) >= _MIN_SPECTRUM_SHARE * has_value.any(axis=0).sum()
    # As a number of spectra: there is no share of none.
    bands = has_value[spectra].sum(axis=0) >= max(1.0, _MIN_BAND_SHARE * spectra.sum())
    spectra &= has_value[:, bands].all(axis=1)
    if not bands.any() or not spectra.any():
        raise InputError(
            "the spectra of the library have no range of wavelengths in common with the scene and "
            "with each other: divide the library"
        )
    kept = build_library(
        values[np.ix_(spectra, bands)],
        library["name"].values[spectra],
        scene["wavelength"].values[bands],
        material=material_names(library)[spectra],
    )
    return ResampledLibrary(kept, bands, spectra, _notes(scene, bands, spectra))


def _same_bands(library: xr.DataArray, scene: xr.DataArray) -> ResampledLibrary:
    """Return the library as it is, if it has as many bands as the scene."""
    n_bands = scene.sizes["band"]
    missing = "the library"
    if "wavelength" in library.coords:
        missing = "the scene"
    if library.sizes["band"] != n_bands or np.isnan(library.values).any():
        raise InputError(
            f"{missing} has no wavelengths, and the bands cannot be taken one for one: "
            f"the library has {library.sizes['band']}, the scene {n_bands}"
        )
    notes: tuple[str, ...] = ()
    # Where neither has wavelengths, nothing could be compared.
    if "wavelength" in library.coords or "wavelength" in scene.coords:
        notes = (f"{missing} has no wavelengths: its {n_bands} bands are taken one for one",)
    all_spectra = np.ones(library.sizes["spectrum"], dtype=bool)
    return ResampledLibrary(library, np.ones(n_bands, dtype=bool), all_spectra, notes)


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
    for rows in _same_samples(library):
        x, spectra, own_widths = _samples(library, rows)
        if len(x) < 2:
            continue
        for band, (centre, width) in enumerate(zip(centres, widths)):
            # A file may leave out the wavelengths of some bands.
            if np.isfinite(centre):
                with np.errstate(all="ignore"):
                    values[rows, band] = _at_band(x, spectra, own_widths, centre, width)
    # Sums of damaged values may leave the range of floats.
    values[~np.isfinite(values)] = np.nan
    return values


def _same_samples(library: xr.DataArray) -> list[Array]:
    """Return the rows of the library in groups that have the same wavelengths and widths."""
    groups: dict[bytes, list[int]] = {}
    for k in range(library.sizes["spectrum"]):
        key = b""
        for coordinate in ("wavelength", "fwhm"):
            if coordinate in library.coords and library[coordinate].ndim == 2:
                key += library[coordinate].values[k].tobytes()
        groups.setdefault(key, []).append(k)
    return [np.array(rows) for rows in groups.values()]


def _samples(library: xr.DataArray, rows: Array) -> tuple[Array, Array, Array]:
    """Return rising wavelengths (n,), spectra (k, n), and widths (n,) of rows that share them."""
    wavelength = library["wavelength"].values
    if wavelength.ndim == 2:
        wavelength = wavelength[rows[0]]
    known = np.flatnonzero(np.isfinite(wavelength))
    order = known[np.argsort(wavelength[known], kind="stable")]
    x = wavelength[order]
    widths = np.full(len(x), np.nan)
    if "fwhm" in library.coords:
        fwhm = library["fwhm"].values
        if fwhm.ndim == 2:
            fwhm = fwhm[rows[0]]
        widths = fwhm[order]
    return x, library.values[rows][:, order].astype(np.float64), widths


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
    return _averaged(x, spectra, centre, left_to_smooth / _WIDTH_IN_SIGMAS)


def _interpolated(x: Array, spectra: Array, centre: float, right: int) -> Array:
    """Return the values on the lines between the samples ``right − 1`` and ``right``."""
    if not x[right - 1] <= centre <= x[right]:
        return np.full(len(spectra), np.nan)
    # A sample at the centre itself needs no neighbour, which may be deleted.
    if x[right] == centre:
        return spectra[:, right]
    if x[right - 1] == centre:
        return spectra[:, right - 1]
    share = float((centre - x[right - 1]) / (x[right] - x[right - 1]))
    values: Array = (1 - share) * spectra[:, right - 1] + share * spectra[:, right]
    return values


def _averaged(x: Array, spectra: Array, centre: float, sigma: float) -> Array:
    """Return the averages under a Gaussian of the lines between neighbouring samples.

    On a segment from a to b, in standard deviations from the centre, the line is the sum of its
    ends with weights (b − z) / (b − a) and (z − a) / (b − a). The integrals of 1 and z under the
    Gaussian φ are Φ(b) − Φ(a) and φ(a) − φ(b).
    """
    low = max(0, int(np.searchsorted(x, centre - _REACH_IN_SIGMAS * sigma)) - 1)
    high = int(np.searchsorted(x, centre + _REACH_IN_SIGMAS * sigma)) + 1
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
    is_covered = coverage >= _MIN_COVERAGE
    averages: Array = np.where(is_covered, totals / np.where(is_covered, coverage, 1.0), np.nan)
    return averages


def _notes(scene: xr.DataArray, bands: Array, spectra: Array) -> tuple[str, ...]:
    """Return what is left out of a scene and of a library."""
    notes = []
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
    return tuple(notes)
