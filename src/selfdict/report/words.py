"""The certificate and the other findings in words that need no optimisation course."""

import math
from dataclasses import dataclass

CLOSE = 0.01
"""The largest gap at which the report calls the weights the best there are."""


@dataclass(frozen=True)
class Certificate:
    """What the solver proved about the weights it chose among; ``None`` stands for a method without proof."""

    objective: float
    dual_bound: float
    gap: float
    mu: float
    status: str
    n_candidates: int
    n_support: int


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
    if abs(value) < 0.001:
        return "less than 0.001 %"
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.')} %"


def seconds(value: float) -> str:
    """Write a duration: ``0.42 s``, ``12.3 s``, ``3 min 05 s``."""
    if value < 60:
        return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"
    return f"{int(value // 60)} min {int(value % 60):02d} s"


def lead(r: int, error: float, *, library: bool = False) -> str:
    """Return the first sentence of the report."""
    one, many = ("spectrum", "spectra") if library else ("pure pixel", "pure pixels")
    what = f"1 {one} reproduces" if r == 1 else f"Mixtures of {r} {many} reproduce"
    return f"{what} this scene with a relative error of {percent(error)}."


def certificate_paragraphs(
    certificate: Certificate | None, method: str, n_pixels: int, *, library: bool = False
) -> list[str]:
    """Return the paragraphs of the report that explain the certificate."""
    if certificate is None:
        return [
            f"{method} picks the pure pixels without proving anything about its choice. Judge it by the "
            "error, the residual map and the comparison on this page; the method FGNSR comes with a proof of "
            "how close its weights are to the best possible ones."
        ]
    c = certificate
    pool = (
        f"all {n_pixels:,} pixels at once"
        if c.n_candidates >= n_pixels
        else f"{c.n_candidates:,} candidates that stand for all {n_pixels:,} pixels"
    )
    search = (
        f"The program looked at {pool} and asked: which few of them can be mixed to give all the others? It "
        "gives each of them a weight between 0 (not needed) and 1 (needed, cannot be mixed from others), "
        "balancing a faithful reconstruction against using few pixels. "
        f"{c.n_support:,} of them received a weight."
    )
    if library:
        search = (
            f"The program looked at all {c.n_candidates:,} spectra of the library and asked: which few of them can be "
            f"mixed to give the {n_pixels:,} pixels? It gives each spectrum a weight between 0 (not needed) and 1 "
            "(some pixel is made of it alone), balancing a faithful reconstruction against using few spectra. "
            f"{c.n_support:,} of them received a weight."
        )
    proof = (
        "This balance is measured by one number, the objective; smaller is better. The weights found here "
        f"reach {c.objective:.6g}"
    )
    if not math.isfinite(c.gap):
        proof += (
            ", but no bound on the best possible value was computed: nothing is proved about them."
        )
    else:
        proof += (
            f". The program also proved that no weights whatsoever can get below {c.dual_bound:.6g}: the best "
            f"possible value is at most {percent(c.gap)} smaller than the one reached. "
        )
        if c.gap <= CLOSE:
            proof += "So these weights are, for practical purposes, the best there are, and no lucky guess."
        else:
            proof += (
                "That leaves room: better weights may exist. Let the program run longer, or give it fewer "
                "candidates, before you rely on them."
            )
    limits = (
        "What the proof covers: the weights. The pure pixels shown here are then chosen with their help so "
        "that the whole scene is reconstructed with a small error; that last choice is a search without "
        "proof. And no calculation can prove that a pixel is physically pure: a material that never fills a "
        "pixel on its own cannot be found in this way."
    )
    if library:
        limits = (
            "What the proof covers: the weights. The spectra shown here are then chosen with their help so that the "
            "whole scene is reconstructed with a small error; that last choice is a search without proof. A library "
            "holds spectra that are nearly alike, and noise can make one stand in for another: read a name as "
            "“this one, or one that looks like it”."
        )
    return [search, proof, limits]


def residual_sentence(error: float, r: int) -> str:
    """Return what the error and the residual map say."""
    return (
        f"Mixing the {r} spectra reproduces the scene up to {percent(error)} of its norm. Bright places on "
        "this map are not explained well: look there for a further material, for shade and clouds, or for "
        "faulty pixels. An even grain means that mostly noise is left."
    )
