"""What there is to say about a result, each fact once.

The text of a result and its view in a notebook, the attributes of its Dataset, the summary that the
command prints, ``run.json``, and the figures at the top of the report all take the facts from here.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._display import at_most, percent, shortened
from selfdict.model.solution import Status
from selfdict.scene.options import method_name

if TYPE_CHECKING:
    from selfdict.scene.result import UnmixResult

_WHAT_ABUNDANCES_ARE = {
    "shares": "shares: fractions of each pixel's area",
    "unit": "shares relative to spectra of unit length",
    "nnls": "nonnegative coefficients",
    "fcls": "nonnegative coefficients that sum to one",
}


@dataclass(frozen=True)
class Fact:
    """A fact about a result, with small print; one with a value is a figure."""

    name: str
    text: str
    note: str = ""
    value: float | None = None

    @property
    def key(self) -> str:
        """The name in files."""
        return self.name.replace(" ", "_")

    @property
    def sentence(self) -> str:
        """The text with its note."""
        return f"{self.text} {self.note}".strip()


def facts(result: "UnmixResult") -> list[Fact]:
    """Return what there is to say about a result; no map is read."""
    found = [*_verdict(result), *figures(result)]
    kind = str(result.parameters.get("abundances"))
    pixels = [f"({row}, {column})" for row, column in result.pixels.tolist()]
    found += [
        Fact("method", str(result.parameters.get("method"))),
        Fact("endmembers", _endmembers(result)),
        Fact("abundances", _WHAT_ABUNDANCES_ARE.get(kind, "coefficients")),
        Fact("pure pixels", f"{shortened(pixels)} (row, column)"),
    ]
    if result.rank_advice is not None:
        found.append(Fact("number", result.rank_advice.sentences[0]))
    found += _certificate(result)
    if result.unexplained:
        found.append(Fact("not explained", unexplained_in_words(result)))
    if result.skipped:
        found.append(Fact("skipped", f"for lack of time: {'; '.join(result.skipped)}"))
    if result.preflight is not None and result.preflight.findings:
        found.append(Fact("preflight", "; ".join(result.preflight.sentences)))
    if result.notes:
        found.append(Fact("notes", "; ".join(result.notes)))
    return found


def figures(result: "UnmixResult") -> list[Fact]:
    """Return the facts that are numbers, in the order in which the report shows them."""
    n_rows, n_columns = result.residual.shape
    error = result.relative_error
    n_bands = result.endmembers.sizes["band"]
    found = [
        _figure("materials", len(result.pixels), f"chosen by {method_in_words(result)}"),
        Fact("relative error", percent(error), _other_error(result), error),
    ]
    if result.gap is not None:
        note = "at most, from the best weights"
        found.append(Fact("certified gap", at_most(result.gap), note, result.gap))
    found += [
        _figure("pixels", result.n_valid, f"with data, of {n_rows:,} × {n_columns:,}"),
        _figure("bands", n_bands, f"used{_wavelength_range(result)}"),
    ]
    total = result.seconds.get("total")
    if total is not None:
        found.append(Fact("time", seconds(total), "to unmix", total))
    return found


def _figure(name: str, number: int, note: str) -> Fact:
    return Fact(name, f"{number:,}", note, number)


def _verdict(result: "UnmixResult") -> list[Fact]:
    if result.fit is None:
        return []
    return [Fact("fit", " ".join([result.fit.headline, *result.fit.sentences]))]


def _certificate(result: "UnmixResult") -> list[Fact]:
    """Return what is proven, and how the solver ended if that was before its tolerance."""
    found = []
    if result.proof is not None:
        text = f"{result.proof.sentence} This is about {candidates_in_words(result)}."
        found.append(Fact("proof", text))
    if result.check is not None:
        text = f"no other weights are better by more than {at_most(result.check.gap)}"
        found.append(Fact("all pixels", text))
    if result.solution is not None and not has_converged(result):
        found.append(Fact("solver", str(result.solution.status)))
    return found


def _endmembers(result: "UnmixResult") -> str:
    labels = shortened(result.labels)
    if result.counts is None:
        return labels
    if result.shows_single_pixels:
        return f"{labels}; single pixels"
    counts = shortened([str(count) for count in result.counts])
    return f"{labels}; averages over {counts} pixels"


def _other_error(result: "UnmixResult") -> str:
    if result.counts is None or result.shows_single_pixels:
        return "over the whole scene"
    return f"with group averages, {percent(result.pixel_error)} with single pixels"


def _wavelength_range(result: "UnmixResult") -> str:
    if "wavelength" not in result.endmembers.coords:
        return ""
    known = result.endmembers["wavelength"].values
    known = known[np.isfinite(known)]
    if known.size == 0:
        return ""
    return f", {known.min():.5g} to {known.max():.5g} nm"


def has_converged(result: "UnmixResult") -> bool:
    """Whether the solver ended because its tolerance was reached."""
    return result.solution is not None and result.solution.status in (
        Status.CONVERGED,
        Status.EXACT,
    )


def method_in_words(result: "UnmixResult") -> str:
    """Return a name like the paper's: FGNSR-500 selected from 500 candidates.

    The number counts the candidates there were. A scene with few different pixels has fewer than
    were asked for.
    """
    n_candidates = None
    if result.solution is not None and result.parameters.get("candidates") is not None:
        n_candidates = len(result.solution.diagonal)
    return method_name(result.parameters["method"], n_candidates)


def is_about_all_pixels(result: "UnmixResult") -> bool:
    """Whether the candidates of the solution are all pixels with data."""
    if result.solution is None or result.atoms is not None:
        return False
    return len(result.solution.diagonal) >= result.n_valid


def candidates_in_words(result: "UnmixResult") -> str:
    """Return what the solution and the proof are about."""
    solution: Any = result.solution
    n_candidates = len(solution.diagonal)
    if result.atoms is not None:
        return f"all {n_candidates:,} spectra of the library"
    if is_about_all_pixels(result):
        return f"all {result.n_valid:,} pixels"
    if result.parameters.get("candidates") is None:
        return f"{n_candidates:,} of {result.n_valid:,} pixels"
    return f"{n_candidates:,} candidates that stand for {result.n_valid:,} pixels"


def unexplained_in_words(result: "UnmixResult") -> str:
    """Return how much of the scene is in patches that are not explained."""
    n_pixels = sum(len(patch.pixels) for patch in result.unexplained)
    share = percent(sum(patch.share for patch in result.unexplained))
    n_patches = len(result.unexplained)
    return f"{n_patches} patches with {n_pixels:,} pixels hold {share} of the squared error"


def seconds(value: float) -> str:
    """Write a duration: ``0.42 s``, ``12.3 s``, ``3 min 05 s``."""
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"
