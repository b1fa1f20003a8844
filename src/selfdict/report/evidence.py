"""What is proven about a result, and what is not, for readers without optimisation."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selfdict.model.solution import Solution
from selfdict.readout.proof import Proof
from selfdict.readout.wording import at_least, at_most
from selfdict.report.facts import candidates_reason, material_names, method_name, n_valid
from selfdict.report.words import listed, percent

# For annotations only.
if TYPE_CHECKING:
    from selfdict.scene import SceneCheck, UnmixResult


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
    if result.proof is None:
        notes.append(
            "Whether these groups suffice, and whether each of them is needed, was not proven in "
            "this run; the option --prove does it."
        )
    else:
        notes.append(
            "“Worse” is measured by the score that the choice was made by: how badly the pixels "
            "are reproduced, plus a price for every pixel that is used to reproduce them."
        )
        if not result.proof.complete:
            notes.append(
                "Not everything was tried: the proof may take as long as the choice itself did, "
                "and the time was up. The option --prove lets it go on."
            )
    n_candidates = len(result.solution.diagonal)
    if result.atoms is None and n_candidates < n_valid(result):
        notes.append(_about_candidates(result, n_candidates))
    return notes


def _about_candidates(result: "UnmixResult", n_candidates: int) -> str:
    """Return which pixels the statements are about, if not about all."""
    subject = "These statements"
    if result.check is not None:
        subject = "All statements but that about all pixels"
    total = n_valid(result)
    which = f"candidates, each of which stands for a cluster of similar pixels. All {total:,}"
    reason = candidates_reason(result)
    if reason:
        which = f"of {total:,} pixels. {reason} All"
    return f"{subject} are about {n_candidates:,} {which} pixels were then unmixed."


def _enough(result: "UnmixResult", proof: Proof) -> Statement:
    what = "pixels"
    if result.atoms is not None:
        what = "spectra"
    groups = f"these {len(proof.groups)} groups of {what}"
    if len(proof.groups) == 1:
        groups = f"this group of {what}"
    if not np.isfinite(proof.enough):
        return Statement("Enough?", "not proven", f"Whether {groups} suffice is not known.")
    pool = f"all {proof.closed.size:,} candidates"
    if result.atoms is not None:
        pool = f"all {proof.closed.size:,} spectra of the library"
    elif _is_about_all_pixels(result, proof):
        pool = f"all {proof.closed.size:,} pixels"
    bound = at_most(proof.enough)
    return Statement(
        "Enough",
        f"within {bound}",
        f"Using nothing but {groups} is at most {bound} worse than the best possible use of "
        f"{pool}.",
    )


def _needed(result: "UnmixResult", proof: Proof) -> Statement:
    names = material_names(result)
    needed = np.flatnonzero(proof.is_needed)
    value = f"{len(needed)} of {len(names)}"
    if len(needed) == 0:
        return Statement("Needed?", value, "For none of them it is proven that it is needed.")
    order = needed[np.argsort(proof.needed[needed])]
    least = int(order[0])
    most = int(order[-1])
    text = f"Without {names[least]} the result is at least {at_least(proof.needed[least])}"
    if most == least:
        text += " worse."
    else:
        text += f" worse, without {names[most]} at least {at_least(proof.needed[most])}."
    idle = [names[k] for k in np.flatnonzero(~proof.is_needed)]
    if idle:
        text += f" Not proven to be needed: {listed(idle)}."
    return Statement("Needed", value, text)


def _weights(solution: Solution) -> Statement:
    if not np.isfinite(solution.gap):
        return Statement("Weights", "not proven", "No bound on the best weights was computed.")
    return Statement(
        "Weights",
        f"within {at_most(solution.gap)}",
        "No other weights of the pixels are better by more than this.",
    )


def _check(result: "UnmixResult", check: "SceneCheck") -> Statement:
    """Return what is known of the weights when all pixels are counted."""
    if not np.isfinite(check.gap):
        return Statement("All pixels", "not proven", "No bound for all pixels was computed.")
    return Statement(
        "All pixels",
        f"within {at_most(check.gap)}",
        f"Counted over all {n_valid(result):,} pixels, no other weights of the candidates are "
        "better by more than this.",
    )


def _limit(result: "UnmixResult", proof: Proof) -> Statement:
    spectra = f"No {len(proof.groups)} spectra whatsoever, measured or invented, describe"
    if len(proof.groups) == 1:
        spectra = "No single spectrum whatsoever, measured or invented, describes"
    return Statement(
        "Limit of the error",
        at_least(proof.limit),
        f"{spectra} this scene with a smaller relative error. Those shown here reach "
        f"{percent(result.relative_error)}.",
    )


def _is_about_all_pixels(result: "UnmixResult", proof: Proof) -> bool:
    """Whether the candidates are all pixels with data."""
    return result.atoms is None and proof.closed.size >= n_valid(result)


def certificate_paragraphs(result: "UnmixResult") -> list[str]:
    """Return the paragraphs that explain the certificate."""
    if result.solution is None:
        return [
            f"{method_name(result)} picks the pure pixels without proving anything about its "
            "choice. Judge it by the error, the residual map and the comparison on this page; the "
            "method FGNSR comes with a proof of how close its weights are to the best possible "
            "ones."
        ]
    if result.atoms is not None:
        search = _search_in_library(result.solution, n_valid(result))
        return [search, _certificate(result.solution), _UNPROVEN_IN_LIBRARY]
    search = _search_in_pixels(result.solution, n_valid(result), candidates_reason(result))
    return [search, _certificate(result.solution), _UNPROVEN]


def _search_in_pixels(solution: Solution, n_pixels: int, reason: str) -> str:
    """Return what the weights of pixels mean, and how many are positive."""
    n_candidates = len(solution.diagonal)
    pool = f"{n_candidates:,} candidates that stand for all {n_pixels:,} pixels"
    which = ""
    if n_candidates >= n_pixels:
        pool = f"all {n_pixels:,} pixels at once"
    elif reason:
        pool = f"{n_candidates:,} of {n_pixels:,} pixels"
        which = f" {reason}"
    return (
        f"The program looked at {pool} and asked: which few of them can be mixed to give all the "
        "others? It gives each of them a weight between 0 (not needed) and 1 (needed, cannot be "
        "mixed from others), balancing a faithful reconstruction against using few pixels. "
        f"{len(solution.support):,} of them received a weight.{which}"
    )


def _search_in_library(solution: Solution, n_pixels: int) -> str:
    """Return what the weights of spectra of a library mean, and how many are positive."""
    return (
        f"The program looked at all {len(solution.diagonal):,} spectra of the library and asked: "
        f"which few of them can be mixed to give the {n_pixels:,} pixels? It gives each spectrum "
        "a weight between 0 (not needed) and 1 (some pixel is made of it alone), balancing a "
        "faithful reconstruction against using few spectra. "
        f"{len(solution.support):,} of them received a weight."
    )


def _certificate(solution: Solution) -> str:
    """Return what the gap between objective and dual bound proves."""
    objective = (
        "This balance is measured by one number, the objective; smaller is better. The weights "
        f"found here reach {solution.objective:.6g}"
    )
    # A solver stopped before its first dual bound.
    if not math.isfinite(solution.gap):
        return (
            f"{objective}, but no bound on the best possible value was computed: nothing is "
            "proved about them."
        )
    bound = (
        "The program also proved that no weights whatsoever can get below "
        f"{solution.dual_bound:.6g}: the best possible value is at most "
        f"{at_most(solution.gap)} smaller than the one reached."
    )
    # 1 % is the largest gap at which the report calls the weights the best there are.
    if solution.gap <= 0.01:
        verdict = (
            "So these weights are, for practical purposes, the best there are, and no lucky guess."
        )
    else:
        verdict = (
            "That leaves room: better weights may exist. Let the program run longer, or give it "
            "fewer candidates, before you rely on them."
        )
    return f"{objective}. {bound} {verdict}"


_UNPROVEN = (
    "What is not proven: the pure pixels are chosen with the help of these weights so that the "
    "whole scene is reconstructed with a small error, and around each of them a group of nearly "
    "pure pixels is gathered. These two steps are a search. What is proven about its outcome "
    "stands at the top of this page. And no calculation can prove that a pixel is physically "
    "pure: a material that never fills a pixel on its own cannot be found in this way."
)
_UNPROVEN_IN_LIBRARY = (
    "What is not proven: the spectra shown are chosen with the help of these weights so that the "
    "whole scene is reconstructed with a small error; that choice is a search. A library holds "
    "spectra that are nearly alike, and noise can make one stand in for another: read a name as "
    "“this one, or one that looks like it”."
)
