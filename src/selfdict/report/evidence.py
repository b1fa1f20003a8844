"""What is proven about a result, and what is not, for readers without optimisation."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selfdict._display import at_least, at_most
from selfdict.model.solution import Solution, Status
from selfdict.readout.proof import MOST_TO_SUFFICE, Proof
from selfdict.report.facts import candidates_reason, material_names, n_valid
from selfdict.report.words import listed, percent

# For annotations only.
if TYPE_CHECKING:
    from selfdict.scene import SceneCheck, UnmixResult

_UNPROVEN = (
    "Not proven: which pixels are selected by the weights, and which pixels form a group, is "
    "decided by heuristics. No calculation proves that a pixel is physically pure: a material that "
    "never fills a pixel cannot be found."
)
_UNPROVEN_IN_LIBRARY = (
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


def statements(result: "UnmixResult") -> list[Statement]:
    """Return what is proven about the result, the most important first; empty if nothing is."""
    if result.solution is None:
        return []
    found = []
    proof = result.proof
    if proof is not None:
        found.append(_enough(result, proof))
        found.append(_needed(result, proof))
    found.append(_weights(result.solution))
    if result.check is not None:
        found.append(_check(result, result.check))
    # A smaller limit would be written as 0 %, which says nothing.
    if proof is not None and proof.limit >= 1e-4 and _is_about_all_pixels(result, proof):
        found.append(_limit(result, proof))
    return found


def proof_notes(result: "UnmixResult") -> list[str]:
    """Return what has to be said beside the statements."""
    if result.solution is None:
        return []
    notes = []
    if result.solution.status not in (Status.CONVERGED, Status.EXACT):
        notes.append(f"Solver: {result.solution.status}")
    if result.proof is None:
        notes.append(
            "This run did not prove how close the groups alone come to the optimum, or what "
            "leaving one out costs; prove=True does."
        )
    else:
        notes.append(
            "“Worse” and “costs” refer to the objective of the selection: the reconstruction error "
            "plus a penalty for every pixel used."
        )
        if not result.proof.complete:
            notes.append(
                "The proof is incomplete: by default it takes at most as long as the selection, or "
                "three seconds. prove=True completes it."
            )
    n_candidates = len(result.solution.diagonal)
    if result.atoms is None:
        if n_candidates < n_valid(result):
            notes.append(_about_candidates(result, n_candidates))
        notes.append(_UNPROVEN)
    else:
        notes.append(f"The candidates are {n_candidates:,} spectra of the library.")
        notes.append(_UNPROVEN_IN_LIBRARY)
    return notes


def _about_candidates(result: "UnmixResult", n_candidates: int) -> str:
    """Return which pixels the statements are about, if not about all."""
    subject = "These statements"
    if result.check is not None:
        subject = "All statements except the one on all pixels"
    total = n_valid(result)
    which = f"candidates, each representing a cluster of similar pixels. All {total:,}"
    reason = candidates_reason(result)
    if reason:
        which = f"of {total:,} pixels. {reason} All"
    return f"{subject} concern {n_candidates:,} {which} pixels were then unmixed."


def _enough(result: "UnmixResult", proof: Proof) -> Statement:
    what = "pixels"
    if result.atoms is not None:
        what = "spectra"
    groups = f"these {len(proof.groups)} groups of {what}"
    if len(proof.groups) == 1:
        groups = f"this group of {what}"
    if not np.isfinite(proof.enough):
        text = f"How close {groups} alone come to the optimum is not known."
        return Statement("Sufficient?", "not proven", text)
    pool = f"all {proof.closed.size:,} candidates"
    if result.atoms is not None:
        pool = f"all {proof.closed.size:,} spectra of the library"
    elif _is_about_all_pixels(result, proof):
        pool = f"all {proof.closed.size:,} pixels"
    bound = at_most(proof.enough)
    title = "Sufficient"
    if proof.enough > MOST_TO_SUFFICE:
        title = "Sufficient?"
    return Statement(
        title,
        f"within {bound}",
        f"Using only {groups} is at most {bound} worse than the best possible use of {pool}.",
    )


def _needed(result: "UnmixResult", proof: Proof) -> Statement:
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


def _weights(solution: Solution) -> Statement:
    if not np.isfinite(solution.gap):
        return Statement("Weights", "not proven", "No bound on the best weights was computed.")
    return Statement(
        "Weights",
        f"within {at_most(solution.gap)}",
        "No other weights are better by more than this.",
    )


def _check(result: "UnmixResult", check: "SceneCheck") -> Statement:
    """Return what is known of the weights when all pixels are counted."""
    if not np.isfinite(check.gap):
        return Statement("All pixels", "not proven", "No bound for all pixels was computed.")
    return Statement(
        "All pixels",
        f"within {at_most(check.gap)}",
        f"Over all {n_valid(result):,} pixels, no other weights of the candidates are better by "
        "more than this.",
    )


def _limit(result: "UnmixResult", proof: Proof) -> Statement:
    spectra = f"No {len(proof.groups)} spectra, measured or synthetic, reproduce"
    if len(proof.groups) == 1:
        spectra = "No single spectrum, measured or synthetic, reproduces"
    return Statement(
        "Lower bound on the error",
        at_least(proof.limit),
        f"{spectra} this scene with a smaller relative error. The error here is "
        f"{percent(result.relative_error)}.",
    )


def _is_about_all_pixels(result: "UnmixResult", proof: Proof) -> bool:
    """Whether the candidates are all pixels with data."""
    return result.atoms is None and proof.closed.size >= n_valid(result)
