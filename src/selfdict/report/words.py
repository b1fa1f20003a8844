"""The names and sentences of the report that depend on the kind of result."""

import numpy as np

from selfdict._display import percent
from selfdict._validation import Array
from selfdict.scene.result import UnmixResult


def spectrum_kind(result: UnmixResult) -> str:
    """Return what the spectra are: "library", "average" or "pixels"."""
    if result.atoms is not None:
        return "library"
    # An average over one pixel, for lack of time, is that pixel.
    if result.shows_single_pixels:
        return "pixels"
    return str(result.parameters["endmembers"])


def are_shares(result: UnmixResult) -> bool:
    """Whether the abundances are parts of a whole, which are written in percent."""
    return bool(result.parameters["abundances"] != "nnls")


def abundance_word(result: UnmixResult) -> str:
    """Return what an abundance is called: only parts of a whole are shares."""
    if are_shares(result):
        return "share"
    return "coefficient"


def material_names(result: UnmixResult) -> list[str]:
    """Return the names of the materials; each contains the number that marks it on the image."""
    if result.atoms is None:
        return result.labels
    return [f"{k}. {name}" for k, name in enumerate(result.labels, start=1)]


def listed(names: list[str]) -> str:
    """Join names: ``a``, ``a and b``, ``a, b and c``."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def amount(result: UnmixResult, value: float) -> str:
    """Write an abundance: shares of a whole in percent, coefficients as numbers."""
    if are_shares(result):
        return percent(value)
    return f"{value:.3g}"


def typical_error(result: UnmixResult, errors: Array) -> str:
    """Write the median of standard errors of abundances; empty if none of them is known."""
    known = errors[np.isfinite(errors)]
    if known.size == 0:
        return ""
    median = float(np.median(known))
    if are_shares(result):
        return f"± {100 * median:.2g} points"
    return f"± {median:.2g}"


def lead(result: UnmixResult) -> str:
    """Return the first sentence of the report."""
    if result.fit is not None and not result.fit.is_sound:
        return result.fit.headline
    kind = spectrum_kind(result)
    r = len(result.pixels)
    error = percent(result.relative_error)
    if r == 1:
        what = {"pixels": "pure pixel", "average": "average spectrum", "library": "spectrum"}
        return f"One {what[kind]} reproduces this scene with a relative error of {error}."
    what = {"pixels": "pure pixels", "average": "average spectra", "library": "spectra"}
    mixtures = f"Mixtures of {r} {what[kind]}"
    if result.parameters["abundances"] in ("shares", "unit"):
        mixtures += ", scaled to each pixel's brightness,"
    return f"{mixtures} reproduce this scene with a relative error of {error}."


def spectrum_reason(result: UnmixResult, k: int) -> str:
    """Return what the spectrum of a material is, and why."""
    if result.atoms is not None:
        return "spectrum of the library"
    if spectrum_kind(result) == "pixels" or result.reasons is None:
        return "single pixel"
    return result.reasons[k]


def findings(result: UnmixResult) -> list[str]:
    """Return the sentences about the data."""
    found = []
    if result.preflight is not None:
        found += result.preflight.sentences
    found += result.notes
    if result.rank_advice is not None:
        found += result.rank_advice.sentences
    found += [f"left out for lack of time: {what}" for what in result.skipped]
    return found
