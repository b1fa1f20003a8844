"""The certificate and the other findings in plain words, for readers without optimisation."""

import math
from dataclasses import dataclass

from selfdict.model.solution import Status
from selfdict.readout.wording import at_most


@dataclass(frozen=True)
class Certificate:
    """What the solver proved about the weights of the candidates."""

    objective: float
    dual_bound: float
    gap: float
    mu: float
    status: str
    n_candidates: int
    n_support: int

    @property
    def is_done(self) -> bool:
        """Whether the solver ended because it had reached its goal."""
        return self.status in (str(Status.CONVERGED), str(Status.EXACT))


def percent(share: float) -> str:
    """Write a share in percent with two or three significant digits.

    Examples
    --------
    >>> from selfdict.report.words import percent
    >>> percent(0.0314), percent(0.00001), percent(0.0)
    ('3.14 %', '0.001 %', '0 %')
    """
    if not math.isfinite(share):
        return "unknown"
    value = 100 * share
    if value == 0:
        return "0 %"
    # Rounded to 0.000 it would look as if there were nothing.
    if abs(value) < 0.001:
        return "less than 0.001 %"
    digits = 3
    if abs(value) >= 10:
        digits = 1
    elif abs(value) >= 1:
        digits = 2
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def within(part: float) -> str:
    """Write an upper bound in percent, rounded up; ``unknown`` if there is none.

    Examples
    --------
    >>> from selfdict.report.words import within
    >>> within(0.01234), within(float("inf"))
    ('1.3 %', 'unknown')
    """
    if not math.isfinite(part):
        return "unknown"
    return at_most(part)


def points(share: float) -> str:
    """Write a standard error of a share in percentage points, with two digits.

    Examples
    --------
    >>> from selfdict.report.words import points
    >>> points(0.0695), points(0.00012)
    ('± 7 points', '± 0.012 points')
    """
    return f"± {100 * share:.2g} points"


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


def lead(r: int, error: float, *, kind: str = "pixels", any_brightness: bool = False) -> str:
    """Return the first sentence of the report.

    Parameters
    ----------
    r : int
        Number of materials.
    error : float
        Relative error of the scene.
    kind : {"pixels", "average", "library"}
        What the spectra are.
    any_brightness : bool
        Whether mixtures may have any brightness, or must sum to one.
    """
    singular = {"pixels": "pure pixel", "average": "average spectrum", "library": "spectrum"}[kind]
    plural = {"pixels": "pure pixels", "average": "average spectra", "library": "spectra"}[kind]
    subject = f"Mixtures of {r} {plural} reproduce"
    if any_brightness:
        subject = f"Mixtures of {r} {plural}, each pixel at its own brightness, reproduce"
    if r == 1:
        subject = f"1 {singular} reproduces"
    return f"{subject} this scene with a relative error of {percent(error)}."


def negative_sentence(count: int, n_values: int) -> str:
    """Return how many values are negative, and that they are used as they are."""
    outcome = "are negative and used as they are"
    if count == 1:
        outcome = "is negative and used as it is"
    return f"{count:,} of {n_values:,} values ({percent(count / n_values)}) {outcome}"


def certificate_paragraphs(
    certificate: Certificate | None,
    method: str,
    n_pixels: int,
    *,
    library: bool = False,
    candidates_reason: str = "",
) -> list[str]:
    """Return the paragraphs of the report that explain the certificate.

    Parameters
    ----------
    certificate : Certificate or None
        What was proved; None for a method without a proof.
    method : str
        The name of the method.
    n_pixels : int
        Number of pixels with data.
    library : bool
        Whether spectra of a library were chosen instead of pixels.
    candidates_reason : str
        Which pixels the candidates are; empty: cluster representatives, or all pixels.
    """
    if certificate is None:
        return [
            f"{method} picks the pure pixels without proving anything about its choice. "
            "Judge it by the error, the residual map and the comparison on this page; the method "
            "FGNSR comes with a proof of how close its weights are to the best possible ones."
        ]
    if library:
        search = _search_in_library(certificate, n_pixels)
    else:
        search = _search_in_pixels(certificate, n_pixels, candidates_reason)
    return [search, _proof(certificate), _limits(library)]


def _search_in_pixels(certificate: Certificate, n_pixels: int, reason: str) -> str:
    """Return what the weights of pixels mean, and how many are positive."""
    n_candidates = certificate.n_candidates
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
        f"{certificate.n_support:,} of them received a weight.{which}"
    )


def _search_in_library(certificate: Certificate, n_pixels: int) -> str:
    """Return what the weights of spectra of a library mean, and how many are positive."""
    return (
        f"The program looked at all {certificate.n_candidates:,} spectra of the library and "
        f"asked: which few of them can be mixed to give the {n_pixels:,} pixels? It gives each "
        "spectrum a weight between 0 (not needed) and 1 (some pixel is made of it alone), "
        "balancing a faithful reconstruction against using few spectra. "
        f"{certificate.n_support:,} of them received a weight."
    )


def _proof(certificate: Certificate) -> str:
    """Return what the gap between objective and dual bound proves."""
    objective = (
        "This balance is measured by one number, the objective; smaller is better. The weights "
        f"found here reach {certificate.objective:.6g}"
    )
    # A solver stopped before its first dual bound.
    if not math.isfinite(certificate.gap):
        return (
            f"{objective}, but no bound on the best possible value was computed: nothing is "
            "proved about them."
        )
    bound = (
        "The program also proved that no weights whatsoever can get below "
        f"{certificate.dual_bound:.6g}: the best possible value is at most "
        f"{at_most(certificate.gap)} smaller than the one reached."
    )
    # 1 % is the largest gap at which the report calls the weights the best there are.
    if certificate.gap <= 0.01:
        verdict = (
            "So these weights are, for practical purposes, the best there are, and no lucky guess."
        )
    else:
        verdict = (
            "That leaves room: better weights may exist. Let the program run longer, or give it "
            "fewer candidates, before you rely on them."
        )
    return f"{objective}. {bound} {verdict}"


def _limits(library: bool) -> str:
    """Return what the certificate does not prove."""
    if library:
        return (
            "What is not proven: the spectra shown are chosen with the help of these weights so "
            "that the whole scene is reconstructed with a small error; that choice is a search. "
            "A library holds spectra that are nearly alike, and "
            "noise can make one stand in for another: read a name as “this one, or one that looks "
            "like it”."
        )
    return (
        "What is not proven: the pure pixels are chosen with the help of these weights so that the "
        "whole scene is reconstructed with a small error, and around each of them a group of "
        "nearly pure pixels is gathered. These two steps are a search. What is proven about its "
        "outcome stands at the top of this page. And no calculation can prove that a pixel is "
        "physically pure: a material that never fills a pixel on its own cannot be found in this "
        "way."
    )


def residual_sentence(
    error: float, r: int, *, kind: str = "pixels", pixel_error: float | None = None
) -> str:
    """Return what the error and the residual map say, and of which mixtures they are.

    ``kind`` is what the spectra are, as in :func:`lead`; ``pixel_error`` is the error of the pure
    pixels, which is told if the spectra are averages.
    """
    compared = ""
    if kind == "average" and pixel_error is not None:
        compared = f" The pure pixels themselves reach {percent(pixel_error)}"
        if pixel_error < error:
            compared += ": they are chosen for a small error, averages for a typical spectrum"
        compared += "."
    return (
        f"Mixing the {r} spectra shown above reproduces the scene up to {percent(error)} of its "
        f"norm.{compared} "
        "Bright places on this map are not explained well: look there for a further material, for "
        "shade and clouds, or for faulty pixels. An even grain means that mostly noise is left."
    )


def brightness_sentence(low: float, high: float) -> str:
    """Return what the map of brightness shows; 90 % of the pixels lie between the two numbers."""
    return (
        "How bright each pixel is beside the spectra at their typical brightness: slopes towards "
        f"the sun are above 1, shade is below. 90 % of the pixels are between {low:.2g} and "
        f"{high:.2g}. Brightness does not change the parts of the area."
    )


def uncertainty_sentence(abundance: str, *, has_spread: bool) -> str:
    """Return what the standard errors are made from.

    ``abundance`` is the word for an abundance: share or coefficient.
    """
    sources = "from what is left unexplained in the pixel"
    if has_spread:
        sources += ", and from how much the pixels of one group differ"
    text = (
        f"How far a {abundance} may be off, as a standard error: it follows {sources}. The map "
        f"shows the largest one among the {abundance}s of each pixel."
    )
    if not has_spread:
        text += (
            " Nothing is known here of how much a material varies from place to place, so these "
            "errors are too small where it does."
        )
    return text
