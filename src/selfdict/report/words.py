"""The names and sentences of the report that depend on the kind of result, and what is proven."""

import numpy as np

from selfdict._display import at_least, at_most, listed, percent
from selfdict._validation import Array
from selfdict.readout.proof import MOST_TO_SUFFICE, Proof
from selfdict.scene.facts import Fact, candidates_in_words, is_about_all_pixels
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


def lead(result: UnmixResult) -> str:
    """Return the first sentence of the report."""
    if not result.fit.is_sound:
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
        found += [_enough(result, proof), _needed(result, proof)]
    found.append(_gap("Weights", result.solution.gap, "No other weights are better"))
    if result.check is not None:
        text = f"Over all {result.n_valid:,} pixels, no other weights of the candidates are better"
        found.append(_gap("All pixels", result.check.gap, text))
    # A smaller limit would be written as 0 %, which says nothing.
    if proof is not None and proof.limit >= 1e-4 and is_about_all_pixels(result):
        found.append(_limit(result, proof))
    return found


def _enough(result: UnmixResult, proof: Proof) -> Fact:
    pool = f"all {proof.closed.size:,} candidates"
    what = "pixels"
    if result.atoms is not None:
        what = "spectra"
    if result.atoms is not None or is_about_all_pixels(result):
        pool = candidates_in_words(result)
    groups = f"these {len(proof.groups)} groups of {what}"
    if len(proof.groups) == 1:
        groups = f"this group of {what}"
    if not np.isfinite(proof.enough):
        text = f"How close {groups} alone come to the optimum is not known."
        return Fact("Sufficient?", "not proven", text)
    bound = at_most(proof.enough)
    title = "Sufficient"
    if proof.enough > MOST_TO_SUFFICE:
        title = "Sufficient?"
    text = f"Using only {groups} is at most {bound} worse than the best possible use of {pool}."
    return Fact(title, f"within {bound}", text)


def _needed(result: UnmixResult, proof: Proof) -> Fact:
    names = material_names(result)
    needed = np.flatnonzero(proof.is_needed)
    value = f"{len(needed)} of {len(names)}"
    if len(needed) == 0:
        return Fact("Necessary?", value, "None is proven necessary.")
    order = needed[np.argsort(proof.needed[needed])]
    least = int(order[0])
    most = int(order[-1])
    text = f"Leaving out {names[least]} costs at least {at_least(proof.needed[least])}"
    if most != least:
        text += f", {names[most]} at least {at_least(proof.needed[most])}"
    text += "."
    idle = [names[k] for k in np.flatnonzero(~proof.is_needed)]
    if idle:
        text += f" Not proven necessary: {listed(idle)}."
    return Fact("Necessary", value, text)


def _gap(title: str, gap: float, text: str) -> Fact:
    if not np.isfinite(gap):
        return Fact(title, "not proven", "No bound on the best weights was computed.")
    return Fact(title, f"within {at_most(gap)}", f"{text} by more than this.")


def _limit(result: UnmixResult, proof: Proof) -> Fact:
    spectra = f"No {len(proof.groups)} spectra, measured or synthetic, reproduce"
    if len(proof.groups) == 1:
        spectra = "No single spectrum, measured or synthetic, reproduces"
    text = (
        f"{spectra} this scene with a smaller relative error. The error here is "
        f"{percent(result.relative_error)}."
    )
    return Fact("Lower bound on the error", at_least(proof.limit), text)
