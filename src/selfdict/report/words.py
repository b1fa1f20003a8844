"""The names and sentences of the report that depend on the kind of result, and what is proven."""

import numpy as np

from selfdict._display import at_least, at_most, percent
from selfdict._validation import Array
from selfdict.readout import Proof
from selfdict.scene.facts import Fact, is_about_all_pixels
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


def spectrum_reason(result: UnmixResult, k: int) -> str:
    """Return what the spectrum of a material is, and why."""
    if result.atoms is not None:
        return "spectrum of the library"
    if spectrum_kind(result) == "pixels" or result.reasons is None:
        return "single pixel"
    return result.reasons[k]


def findings(result: UnmixResult) -> list[str]:
    """Return the sentences about the data."""
    found = [*result.preflight.sentences, *result.notes]
    if result.rank_advice is not None:
        found += result.rank_advice.sentences
    found += [f"left out for lack of time: {what}" for what in result.skipped]
    return found


def statements(result: UnmixResult) -> list[Fact]:
    """Return what is proven about the result, the most important first; empty if nothing is."""
    if result.solution is None:
        return []
    found = []
    proof = result.proof
    if proof is not None:
        title = "Sufficient"
        if not proof.suffices:
            title = "Sufficient?"
        found.append(Fact(title, _within(proof.enough), proof.enough_in_words))
        n_needed = int(proof.is_needed.sum())
        title = "Necessary"
        if n_needed == 0:
            title = "Necessary?"
        text = f"{n_needed} of {len(proof.groups)}"
        found.append(Fact(title, text, proof.needed_in_words))
    found.append(_gap("Weights", result.solution.gap, "No other weights are better"))
    if result.check is not None:
        text = f"Over all {result.n_valid:,} pixels, no other weights of the candidates are better"
        found.append(_gap("All pixels", result.check.gap, text))
    # A smaller limit would be written as 0 %, which says nothing.
    if proof is not None and proof.limit >= 1e-4 and is_about_all_pixels(result):
        found.append(_limit(result, proof))
    return found


def _within(bound: float) -> str:
    if not np.isfinite(bound):
        return "not proven"
    return f"within {at_most(bound)}"


def _gap(title: str, gap: float, text: str) -> Fact:
    note = f"{text} by more than this."
    if not np.isfinite(gap):
        note = "No bound on the best weights was computed."
    return Fact(title, _within(gap), note)


def _limit(result: UnmixResult, proof: Proof) -> Fact:
    spectra = f"No {len(proof.groups)} spectra, measured or synthetic, reproduce"
    if len(proof.groups) == 1:
        spectra = "No single spectrum, measured or synthetic, reproduces"
    text = (
        f"{spectra} this scene with a smaller relative error. The error here is "
        f"{percent(result.relative_error)}."
    )
    return Fact("Lower bound on the error", at_least(proof.limit), text)
