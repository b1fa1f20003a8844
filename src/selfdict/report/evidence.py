"""What is proven about the groups of pixels that the report shows, in plain words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selfdict._validation import Array
from selfdict.readout.proof import Proof
from selfdict.readout.wording import at_least, at_most
from selfdict.report.words import Certificate, listed, percent

# For annotations only: the contents of the report hold a proof.
if TYPE_CHECKING:
    from selfdict.report.data import ReportData
    from selfdict.scene import SceneCheck


@dataclass(frozen=True)
class GroupProof:
    """What was proven about the groups; see :class:`selfdict.Proof` for what the numbers mean.

    Attributes
    ----------
    enough : float
        Only these groups are at most this much worse than the best use of all candidates.
    needed : (r,) ndarray
        Without a group everything is at least this much worse.
    limit : float
        No r spectra whatsoever have a smaller relative error.
    closed_share : float
        The part of the candidates that is proven to play no part.
    n_candidates : int
        How many candidates the proof is about.
    complete : bool
        Whether everything was tried.
    """

    enough: float
    needed: Array
    limit: float
    closed_share: float
    n_candidates: int
    complete: bool = True

    @classmethod
    def of(cls, proof: Proof) -> "GroupProof":
        """Take the numbers from a proof."""
        return cls(
            enough=proof.enough,
            needed=proof.needed,
            limit=proof.limit,
            closed_share=float(proof.closed.mean()),
            n_candidates=proof.closed.size,
            complete=proof.complete,
        )

    @property
    def is_needed(self) -> Array:
        """Which groups are proven to be needed, (r,) of bool: at all, that is by 0.01 %."""
        return np.asarray(self.needed >= 1e-4)


@dataclass(frozen=True)
class Statement:
    """One thing that is proven: what it is about, the number, and the sentence."""

    title: str
    value: str
    text: str


def statements(d: "ReportData") -> list[Statement]:
    """Return what is proven about the result, the most important first; empty if nothing is."""
    if d.certificate is None:
        return []
    found = []
    if d.proof is not None:
        found.append(_enough(d, d.proof))
        found.append(_needed(d, d.proof))
    found.append(_weights(d.certificate))
    if d.check is not None:
        found.append(_check(d, d.check))
    # A smaller limit would be written as 0 %, which says nothing.
    if d.proof is not None and d.proof.limit >= 1e-4 and _is_about_all_pixels(d):
        found.append(_limit(d, d.proof))
    return found


def proof_notes(d: "ReportData") -> list[str]:
    """Return what has to be said beside the statements."""
    if d.certificate is None:
        return []
    notes = []
    if d.proof is None:
        notes.append(
            "Whether these groups suffice, and whether each of them is needed, was not proven in "
            "this run; the option --prove does it."
        )
    else:
        notes.append(
            "“Worse” is measured by the score that the choice was made by: how badly the pixels "
            "are reproduced, plus a price for every pixel that is used to reproduce them."
        )
        if not d.proof.complete:
            notes.append(
                "Not everything was tried: the proof may take as long as the choice itself did, "
                "and the time was up. The option --prove lets it go on."
            )
    if not d.names and d.certificate.n_candidates < _n_valid(d):
        notes.append(_about_candidates(d, d.certificate.n_candidates))
    return notes


def _about_candidates(d: "ReportData", n_candidates: int) -> str:
    """Return which pixels the statements are about, if not about all."""
    subject = "These statements"
    if d.check is not None:
        subject = "All statements but that about all pixels"
    which = f"candidates, each of which stands for a cluster of similar pixels. All {_n_valid(d):,}"
    if d.candidates_reason:
        which = f"of {_n_valid(d):,} pixels. {d.candidates_reason} All"
    return f"{subject} are about {n_candidates:,} {which} pixels were then unmixed."


def _check(d: "ReportData", check: "SceneCheck") -> Statement:
    """Return what is known of the weights when all pixels are counted."""
    if not np.isfinite(check.gap):
        return Statement("All pixels", "not proven", "No bound for all pixels was computed.")
    return Statement(
        "All pixels",
        f"within {at_most(check.gap)}",
        f"Counted over all {_n_valid(d):,} pixels, no other weights of the candidates are better "
        "by more than this.",
    )


def _n_valid(d: "ReportData") -> int:
    """Return the number of pixels with data."""
    return d.n_valid or int(d.mask.sum())


def _enough(d: "ReportData", proof: GroupProof) -> Statement:
    groups = _these_groups(d)
    if not np.isfinite(proof.enough):
        return Statement("Enough?", "not proven", f"Whether {groups} suffice is not known.")
    bound = at_most(proof.enough)
    pool = _pool(d, proof)
    return Statement(
        "Enough",
        f"within {bound}",
        f"Using nothing but {groups} is at most {bound} worse than the best possible use of "
        f"{pool}.",
    )


def _needed(d: "ReportData", proof: GroupProof) -> Statement:
    r = len(proof.needed)
    needed = np.flatnonzero(proof.is_needed)
    value = f"{len(needed)} of {r}"
    if len(needed) == 0:
        return Statement("Needed?", value, "For none of them it is proven that it is needed.")
    order = needed[np.argsort(proof.needed[needed])]
    least = int(order[0])
    most = int(order[-1])
    text = f"Without {d.material(least)} the result is at least {at_least(proof.needed[least])}"
    if most == least:
        text += " worse."
    else:
        text += f" worse, without {d.material(most)} at least {at_least(proof.needed[most])}."
    idle = np.flatnonzero(~proof.is_needed).tolist()
    if idle:
        names = listed([d.material(k) for k in idle])
        text += f" Not proven to be needed: {names}."
    return Statement("Needed", value, text)


def _weights(certificate: Certificate) -> Statement:
    if not np.isfinite(certificate.gap):
        return Statement("Weights", "not proven", "No bound on the best weights was computed.")
    return Statement(
        "Weights",
        f"within {at_most(certificate.gap)}",
        "No other weights of the pixels are better by more than this.",
    )


def _limit(d: "ReportData", proof: GroupProof) -> Statement:
    r = len(proof.needed)
    spectra = f"No {r} spectra whatsoever, measured or invented, describe"
    if r == 1:
        spectra = "No single spectrum whatsoever, measured or invented, describes"
    return Statement(
        "Limit of the error",
        at_least(proof.limit),
        f"{spectra} this scene with a smaller relative error. Those shown here reach "
        f"{percent(d.error)}.",
    )


def _these_groups(d: "ReportData") -> str:
    r = d.endmembers.shape[1]
    what = "pixels"
    if d.names:
        what = "spectra"
    if r == 1:
        return f"this group of {what}"
    return f"these {r} groups of {what}"


def _pool(d: "ReportData", proof: GroupProof) -> str:
    """Return what the groups are compared with."""
    if d.names:
        return f"all {proof.n_candidates:,} spectra of the library"
    if _is_about_all_pixels(d):
        return f"all {proof.n_candidates:,} pixels"
    return f"all {proof.n_candidates:,} candidates"


def _is_about_all_pixels(d: "ReportData") -> bool:
    """Whether the candidates are all pixels with data."""
    return not d.names and d.proof is not None and d.proof.n_candidates >= _n_valid(d)
