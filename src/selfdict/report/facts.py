"""What the page, the plots and the sentences all ask about a result."""

from typing import TYPE_CHECKING

import numpy as np

from selfdict._validation import Array
from selfdict.scene.metadata import band_numbers

# For annotations only: numbers and bands need no xarray.
if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import UnmixResult


def spectrum_kind(result: "UnmixResult") -> str:
    """Return what the spectra are: "library", "average" or "pixels"."""
    if result.atoms is not None:
        return "library"
    # An average over one pixel, for lack of time, is that pixel.
    if result.shows_single_pixels:
        return "pixels"
    return str(result.parameters["endmembers"])


def abundance_kind(result: "UnmixResult") -> str:
    """Return what the abundances are: "shares", "unit", "nnls" or "fcls"."""
    return str(result.parameters["abundances"])


def are_shares(result: "UnmixResult") -> bool:
    """Whether the abundances are parts of a whole, which are written in percent."""
    return abundance_kind(result) != "nnls"


def abundance_word(result: "UnmixResult") -> str:
    """Return what an abundance is called: only parts of a whole are shares."""
    if are_shares(result):
        return "share"
    return "coefficient"


def material_names(result: "UnmixResult") -> list[str]:
    """Return the names of the materials; each contains the number that marks it on the image."""
    if result.atoms is None:
        return result.labels
    return [f"{k}. {name}" for k, name in enumerate(result.labels, start=1)]


def method_name(result: "UnmixResult") -> str:
    """Return a name like the paper's: FGNSR-500 selected from 500 candidates.

    The number counts the candidates there were. A scene with few different pixels has fewer than
    were asked for.
    """
    name = str(result.parameters["method"]).upper()
    if result.solution is None or result.parameters.get("candidates") is None:
        return name
    return f"{name}-{len(result.solution.diagonal)}"


def n_valid(result: "UnmixResult") -> int:
    """Return the number of pixels with data; no map is read."""
    return int(result.parameters["n_valid"])


def candidates_reason(result: "UnmixResult") -> str:
    """Return which pixels the candidates are; empty if they are cluster representatives."""
    if result.parameters.get("candidates") is not None:
        return ""
    return str(result.parameters.get("candidates_reason", ""))


def wavelengths(data: "xr.DataArray") -> Array | None:
    """Return the wavelengths of the bands in nm, NaN where one is not known; None without any."""
    if "wavelength" not in data.coords:
        return None
    return np.asarray(data["wavelength"].values, dtype=np.float64)


def band_axis(endmembers: "xr.DataArray") -> tuple[Array, str]:
    """Return the positions of the bands on the axis of the spectra, and the label of that axis."""
    known = wavelengths(endmembers)
    # A band without a wavelength would have no position on an axis of wavelengths.
    if known is None or not np.isfinite(known).all():
        return band_numbers(endmembers).astype(np.float64), "Band"
    return known, "Wavelength (nm)"


def band_gaps(x: Array) -> Array:
    """Return the bands before which a spectrum is broken: a step five times the median or more."""
    if len(x) < 2:
        return np.empty(0, dtype=int)
    steps = np.abs(np.diff(x))
    return np.flatnonzero(steps > 5 * np.median(steps)) + 1


def band_labels(data: "xr.DataArray") -> list[str]:
    """Return a label for each band: its name or number, and its wavelength if known."""
    labels = [f"Band {number}" for number in band_numbers(data)]
    if "band_name" in data.coords:
        for k, value in enumerate(data["band_name"].values):
            # Files may name some bands only.
            labels[k] = str(value) or labels[k]
    known = wavelengths(data)
    if known is None:
        return labels
    for k, nanometres in enumerate(known):
        if np.isfinite(nanometres):
            labels[k] += f" · {nanometres:.5g} nm"
    return labels
