"""What is proven about a result, and what is not, for readers without optimisation."""

from dataclasses import dataclass

import numpy as np

from selfdict._display import at_least, at_most, percent
from selfdict.readout.proof import MOST_TO_SUFFICE, Proof
from selfdict.report.words import listed, material_names
from selfdict.scene.facts import candidates_in_words, has_converged
from selfdict.scene.result import UnmixResult

_ABOUT_WORSE = (
    "“Worse” and “costs” refer to the objective of the selection: the reconstruction error plus a "
    "penalty for every pixel used."
)
_INCOMPLETE = (
    "The proof is incomplete: by default it takes at most as long as the selection, or three "
    "seconds. prove=True completes it."
)
_NO_PROOF = (
    "This run did not prove how close the groups alone come to the optimum, or what leaving one "
    "out costs; prove=True does."
)
_NOT_PROVEN_OF_PIXELS = (
    "Not proven: which pixels are selected by the weights, and which pixels form a group, is "
    "decided by heuristics. No calculation proves that a pixel is physically pure: a material that "
    "never fills a pixel cannot be found."
)
_NOT_PROVEN_OF_SPECTRA = (
    "Not proven: which spectra are selected by the weights is decided by a heuristic. Libraries "
    "contain nearly identical spectra, and noise can exchange one for another: read a name as "
    "“this one, or a similar one”."
)


@dataclass(frozen=True)
class Statement:
    """One thing that is proven: what it is about, the number, and the sentence."""

    title: str
    value: str
    text: str


def statements(result: UnmixResult) -> list[Statement]:
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
    if proof is not None and proof.limit >= 1e-4 and _is_about_all_pixels(result):
        found.append(_limit(result, proof))
    return found


def _enough(result: UnmixResult, proof: Proof) -> Statement:
    pool = f"all {proof.closed.size:,} candidates"
    what = "pixels"
    if result.atoms is not None:
        what = "spectra"
    if result.atoms is not None or _is_about_all_pixels(result):
        pool = candidates_in_words(result)
    groups = f"these {len(proof.groups)} groups of {what}"
    if len(proof.groups) == 1:
        groups = f"this group of {what}"
    if not np.isfinite(proof.enough):
        text = f"How close {groups} alone come to the optimum is not known."
        return Statement("Sufficient?", "not proven", text)
    bound = at_most(proof.enough)
    title = "Sufficient"
    if proof.enough > MOST_TO_SUFFICE:
        title = "Sufficient?"
    text = f"Using only {groups} is at most {bound} worse than the best possible use of {pool}."
    return Statement(title, f"within {bound}", text)


def _needed(result: UnmixResult, proof: Proof) -> Statement:
    names = material_names(result)
    needed = np.flatnonzero(proof.is_needed)
    value = f"{len(needed)} of {len(names)}"
    if len(needed) == 0:
        return Statement("Necessary?", value, "None is proven necessary.")
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
    return Statement("Necessary", value, text)


def _gap(title: str, gap: float, text: str) -> Statement:
    """Return how close the weights are to the best ones."""
    if not np.isfinite(gap):
        return Statement(title, "not proven", "No bound on the best weights was computed.")
    return Statement(title, f"within {at_most(gap)}", f"{text} by more than this.")


def _limit(result: UnmixResult, proof: Proof) -> Statement:
    spectra = f"No {len(proof.groups)} spectra, measured or synthetic, reproduce"
    if len(proof.groups) == 1:
        spectra = "No single spectrum, measured or synthetic, reproduces"
    text = (
        f"{spectra} this scene with a smaller relative error. The error here is "
        f"{percent(result.relative_error)}."
    )
    return Statement("Lower bound on the error", at_least(proof.limit), text)


def _is_about_all_pixels(result: UnmixResult) -> bool:
    """Whether the candidates are all pixels with data."""
    if result.solution is None or result.atoms is not None:
        return False
    return len(result.solution.diagonal) >= result.n_valid


def proof_notes(result: UnmixResult) -> list[str]:
    """Return what has to be said beside the statements."""
    if result.solution is None:
        return []
    notes = []
    if not has_converged(result):
        notes.append(f"Solver: {result.solution.status}")
    if result.proof is None:
        notes.append(_NO_PROOF)
    else:
        notes.append(_ABOUT_WORSE)
        if not result.proof.complete:
            notes.append(_INCOMPLETE)
    if result.atoms is not None:
        return [
            *notes,
            f"The candidates are {candidates_in_words(result)}.",
            _NOT_PROVEN_OF_SPECTRA,
        ]
    if not _is_about_all_pixels(result):
        notes.append(_about_candidates(result))
    return [*notes, _NOT_PROVEN_OF_PIXELS]


def _about_candidates(result: UnmixResult) -> str:
    """Return which pixels the statements are about, if not about all."""
    subject = "These statements"
    if result.check is not None:
        subject = "All statements except the one on all pixels"
    text = f"{subject} concern {candidates_in_words(result)}."
    # Without clusters the candidates are some of the pixels.
    reason = result.parameters.get("candidates_reason")
    if reason and result.parameters.get("candidates") is None:
        text += f" {reason}"
    return f"{text} All pixels were then unmixed."
