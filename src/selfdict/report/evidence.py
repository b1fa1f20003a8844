"""What is proven about a result, and what is not, for readers without optimisation."""

from dataclasses import dataclass

import numpy as np

from selfdict._display import at_least, at_most, percent
from selfdict.readout.proof import MOST_TO_SUFFICE, Proof
from selfdict.report.words import listed, material_names
from selfdict.scene.facts import candidates_in_words, is_about_all_pixels
from selfdict.scene.result import UnmixResult


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
    if proof is not None and proof.limit >= 1e-4 and is_about_all_pixels(result):
        found.append(_limit(result, proof))
    return found


def _enough(result: UnmixResult, proof: Proof) -> Statement:
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
