"""The names and sentences of the report."""

import numpy as np

from selfdict._display import percent
from selfdict._validation import Array
from selfdict.scene import options
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


def method_name(result: UnmixResult) -> str:
    """Return a name like the paper's: FGNSR-500 selected from 500 candidates.

    The number counts the candidates there were. A scene with few different pixels has fewer than
    were asked for.
    """
    n_candidates = None
    if result.solution is not None and result.parameters.get("candidates") is not None:
        n_candidates = len(result.solution.diagonal)
    return options.method_name(result.parameters["method"], n_candidates)


def both_errors(error: float, pixel_error: float | None) -> str:
    """Write the relative error; with that of single pixels, if they are not the spectra."""
    if pixel_error is None:
        return percent(error)
    text = f"{percent(error)} with group averages, {percent(pixel_error)} with single pixels"
    if pixel_error < error:
        text += " (pixels are chosen for a small error, averages for a typical spectrum)"
    return text


def seconds(value: float) -> str:
    """Write a duration: ``0.42 s``, ``12.3 s``, ``3 min 05 s``."""
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"


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
    if result.fit is not None and result.fit.is_poor:
        return f"{result.fit.headline} {result.fit.sentences[0]}"
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


def key_figures(
    result: UnmixResult, errors: Array | None, bands: str
) -> list[tuple[str, str, str]]:
    """Return the figures at the top of the page: name, value and note.

    ``errors`` are the standard errors of the pixels with data, ``bands`` says which bands there
    are.
    """
    n_rows, n_columns = result.residual.shape
    with_what = "over the whole scene"
    if spectrum_kind(result) == "average" and result.pixel_error is not None:
        with_what = f"with group averages, {percent(result.pixel_error)} with single pixels"
    figures = [
        ("Materials", str(len(result.pixels)), f"chosen by {method_name(result)}"),
        ("Relative error", percent(result.relative_error), with_what),
        ("Pixels", f"{result.n_valid:,}", f"with data, of {n_rows * n_columns:,}"),
        ("Bands", str(result.endmembers.sizes["band"]), bands),
        ("Time", seconds(result.seconds["total"]), "to unmix"),
    ]
    if errors is None or not np.isfinite(errors).any():
        return figures
    typical = typical_error(result, errors)
    note = f"standard error of a {abundance_word(result)}"
    if result.groups is None:
        note += ", from noise alone"
    # In the small print: the box is narrow.
    if typical.endswith(" points"):
        typical = typical.removesuffix(" points")
        note = f"percentage points, {note}"
    # Beside the error: the numbers by which a result is judged.
    figures.insert(2, ("Typical uncertainty", typical, note))
    return figures


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


def residual_sentence(result: UnmixResult) -> str:
    """Return what the error and the residual map say, and of which mixtures they are."""
    pixel_error = None
    if spectrum_kind(result) == "average":
        pixel_error = result.pixel_error
    error = both_errors(result.relative_error, pixel_error)
    return (
        f"The relative error of the scene is {error}. Bright areas on the map are poorly "
        "explained: they may contain another material, shade, clouds or faulty pixels. An even "
        "grain means that mostly noise is left."
    )


def patches_sentence(result: UnmixResult) -> str:
    """Return how much of the scene is in patches that are not explained."""
    n_pixels = sum(len(patch.pixels) for patch in result.unexplained)
    share = sum(patch.share for patch in result.unexplained)
    return (
        f"{len(result.unexplained)} patches with {n_pixels:,} pixels hold {percent(share)} of the "
        "squared error. A patch is marked at its largest residual; it may be another material, "
        "shade, a cloud or faulty pixels."
    )


def brightness_sentence(brightness: Array) -> str:
    """Return what the map of brightness shows; ``brightness`` is that of the pixels with data."""
    low, high = np.percentile(brightness, [5, 95])
    return (
        "Brightness of each pixel relative to the spectra at their typical brightness: slopes "
        "facing the sun are above 1, shade is below 1. 90 % of the pixels are between "
        f"{low:.3g} and {high:.3g}. Shares do not depend on brightness."
    )


def uncertainty_sentence(result: UnmixResult) -> str:
    """Return what the standard errors are made from."""
    word = abundance_word(result)
    text = f"The map shows the largest standard error among the {word}s of each pixel."
    if result.groups is not None:
        return f"{text} It is estimated from the residual and from the variation within groups."
    return (
        f"{text} It is estimated from the residual alone. How much a material varies from place "
        "to place is not known here, so the errors are too small where it does."
    )
