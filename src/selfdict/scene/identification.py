"""Which material of a spectral library an endmember is, if any.

Spectra are compared by the angle between their slopes over the wavelength, which neither brightness
nor an offset changes. docs/libraries.md compares it with other measures.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.metrics import angles_between
from selfdict.scene.library import resample_library
from selfdict.scene.metadata import notes_of

# A match needs a small angle, and a next material that is much farther. On the USGS library this
# accepts one in ten minerals that are not in it, most of them for one of the same mineral group.
MAX_ANGLE = 20.0
MAX_RATIO = 0.7


@dataclass(frozen=True)
class Candidate:
    """The nearest spectrum of one material."""

    material: str
    name: str  # of the spectrum
    angle: float  # between its slopes and those of the endmember, in degrees


@dataclass(frozen=True)
class Match:
    """What an endmember is.

    Attributes
    ----------
    material : str or None
        The material, None if the library does not decide.
    nearest : tuple of Candidate
        The three nearest materials, the nearest first.
    curve : (n_bands,) ndarray
        The spectrum of the first of them at the bands of the endmember, scaled to its brightness;
        NaN in bands that the library does not cover.
    """

    material: str | None
    nearest: tuple[Candidate, ...]
    curve: Array

    @property
    def angle(self) -> float:
        """The angle to the nearest material, in degrees."""
        return self.nearest[0].angle

    @property
    def margin(self) -> float:
        """How much farther the next material is, in degrees; infinite if there is only one."""
        if len(self.nearest) == 1:
            return np.inf
        return self.nearest[1].angle - self.nearest[0].angle

    @property
    def sentence(self) -> str:
        """The finding in words."""
        first = self.nearest[0]
        found = f"{first.name} at {first.angle:.1f}°"
        if len(self.nearest) > 1:
            second = self.nearest[1]
            found += f", the next material is {second.material} at {second.angle:.1f}°"
        if self.material is not None:
            return f"{self.material}: {found}"
        reason = f"the nearest angle exceeds {MAX_ANGLE:g}°"
        if first.angle <= MAX_ANGLE:
            reason = "two materials have similar angles"
        return f"no match, {reason}: {found}"


@dataclass(frozen=True)
class Identification:
    """What the endmembers of a scene are.

    Attributes
    ----------
    matches : tuple of Match
        One per endmember.
    bands : (n_bands,) ndarray of bool
        The bands of the endmembers that were compared.
    notes : tuple of str
        What was left out of the library and of the bands.
    """

    matches: tuple[Match, ...]
    bands: Array
    notes: tuple[str, ...]


def identify(endmembers: xr.DataArray, library: xr.DataArray) -> Identification:
    """Identify endmembers with materials of a library.

    The library is resampled to the bands of the endmembers by their response
    (:func:`resample_library`). Each endmember and each spectrum is replaced by its slopes with
    respect to wavelength; the nearest spectrum is the one with the smallest angle between slopes.
    Spectra of one material count as one.

    An endmember is identified if the angle is at most 20° and at most 0.7 times that of the next
    material. Otherwise the library does not decide, and the match has no material.

    Parameters
    ----------
    endmembers : xarray.DataArray (endmember, band)
        Such as ``UnmixResult.endmembers``, or a library read from ``endmembers.csv``; reflectances
        in any unit, with a coordinate ``wavelength (band)``, and ``fwhm (band)`` if known.
    library : xarray.DataArray (spectrum, band)
        See :func:`read_library`.

    Raises
    ------
    ValueError
        The endmembers or the library have no wavelengths, or fewer than 10 bands in common.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.scene import build_library, identify
    >>> wavelength = np.linspace(400.0, 2500.0, 100)
    >>> dips = [1 - np.exp(-(((wavelength - centre) / 100) ** 2)) for centre in (900, 2100, 2200)]
    >>> library = build_library(dips, ["hematite", "alunite", "kaolinite"], wavelength)
    >>> endmember = library.isel(spectrum=[2]) * 0.3 + 0.05
    >>> identify(endmember, library).matches[0].sentence
    'kaolinite: kaolinite at 0.0°, the next material is alunite at 84.3°'
    """
    endmembers = endmembers.transpose(..., "band")
    _check_wavelengths(endmembers, library)
    has_values = np.isfinite(endmembers.values).all(axis=0)
    resampled, is_covered = resample_library(library, endmembers.isel(band=has_values))
    bands = has_values.copy()
    bands[has_values] = is_covered
    _check_number(int(bands.sum()))
    wavelength = endmembers["wavelength"].values[bands]
    spectra = endmembers.values[:, bands].astype(np.float64)
    of_library = slopes_of(resampled.values, wavelength)
    angles = np.degrees(angles_between(slopes_of(spectra, wavelength).T, of_library.T))
    matches = []
    for spectrum, row in zip(spectra, angles):
        candidates = _nearest(row, resampled)
        curve = np.full(len(bands), np.nan)
        curve[bands] = _scaled(resampled.values[np.argmin(row)], spectrum)
        matches.append(Match(_decision(candidates), candidates, curve))
    return Identification(tuple(matches), bands, tuple(notes_of(resampled)))


def check_names(scene: xr.DataArray, library: xr.DataArray) -> None:
    """Raise an error if endmembers of a scene cannot be looked up in a library."""
    _check_wavelengths(scene, library)
    _check_number(resample_library(library, scene)[0].sizes["band"])


def _check_wavelengths(scene: xr.DataArray, library: xr.DataArray) -> None:
    for name, data in (("library", library), ("scene", scene)):
        if "wavelength" not in data.coords:
            raise InputError(
                f"identification compares slopes over the wavelength, but the {name} has none"
            )


def _check_number(n_bands: int) -> None:
    # Too many spectra have the same slopes at fewer bands.
    if n_bands < 10:
        raise InputError(
            "identification needs 10 bands or more, "
            f"the library and the scene have {n_bands} in common"
        )
    # Time and memory of slopes grow with the square of this number.
    if n_bands > 3000:
        raise InputError(f"identification takes at most 3000 bands, got {n_bands}")


def slopes_of(spectra: Array, wavelength: Array) -> Array:
    """Return the slope of spectra (k, n) at each wavelength, by weighted linear regression."""
    # Gaussian weights reach over gaps between bands, and take bands in any order.
    order = np.argsort(wavelength, kind="stable")
    steps = np.diff(wavelength[order])
    # To the nearer neighbour: a lonely band needs a wider window to have a slope.
    spacing = np.empty(len(wavelength))
    spacing[order] = np.minimum(np.append(np.inf, steps), np.append(steps, np.inf))
    # Features of minerals are 20 to 200 nm wide; less smoothing lets noise in, more blurs them.
    width = np.maximum(30.0, spacing)
    distance = wavelength[None, :] - wavelength[:, None]
    weights = np.exp(-0.5 * (distance / width[:, None]) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    centred = weights * (distance - (weights * distance).sum(axis=1, keepdims=True))
    # Zero only if all bands have one wavelength.
    variance = np.maximum((centred * distance).sum(axis=1), np.finfo(float).tiny)
    return np.asarray(_relative(spectra) @ (centred / variance[:, None]).T)


def _nearest(angles: Array, library: xr.DataArray) -> tuple[Candidate, ...]:
    """Return the nearest spectrum of each of the three nearest materials."""
    materials = library["material"].values
    names = library["name"].values
    candidates: list[Candidate] = []
    seen = set()
    for k in np.argsort(angles, kind="stable").tolist():
        if len(candidates) == 3:
            break
        # Libraries write one material in upper and in lower case.
        material = str(materials[k]).casefold()
        if material not in seen:
            seen.add(material)
            candidates.append(Candidate(str(materials[k]), str(names[k]), float(angles[k])))
    return tuple(candidates)


def _decision(candidates: tuple[Candidate, ...]) -> str | None:
    """Return the material of the nearest candidate, None if it is too far or not alone."""
    first = candidates[0]
    is_alone = len(candidates) == 1 or first.angle <= MAX_RATIO * candidates[1].angle
    if first.angle <= MAX_ANGLE and is_alone:
        return first.material
    return None


def _scaled(curve: Array, spectrum: Array) -> Array:
    """Return a curve scaled to the brightness of a spectrum, by least squares."""
    relative_curve = _relative(curve[None].astype(np.float64))[0]
    relative_spectrum = _relative(spectrum[None])[0]
    energy = float(relative_curve @ relative_curve)
    if energy == 0:
        return curve
    factor = float(relative_curve @ relative_spectrum) / energy * float(np.abs(spectrum).max())
    return np.asarray(relative_curve * factor)


def _relative(rows: Array) -> Array:
    """Return rows divided by their largest values, so that sums of squares cannot overflow."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(rows / np.where(largest > 0, largest, 1.0))
