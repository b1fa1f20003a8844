"""Which pixels of a scene are the candidates of the model, and why."""

from numbers import Integral

from selfdict._errors import InputError
from selfdict.reductions.recipe import N_CLUSTERS, CandidateChoice, choose_candidates


def chosen_candidates(
    candidates: int | str | None,
    *,
    is_sought: bool,
    is_plain: bool,
    n_pixels: int,
    max_pixels: int | None,
    n_bands: int,
    r: int,
    max_seconds: float | None,
) -> CandidateChoice:
    """Return which pixels are the candidates, and why.

    Parameters
    ----------
    candidates : "auto", int or None
        As given to :func:`selfdict.scene.unmix`.
    is_sought : bool
        Whether the method has candidates.
    is_plain : bool
        Whether pixels are the dictionary, with the squared loss.
    n_pixels, n_bands : int
        Of the scene.
    max_pixels : int or None
        The most pixels the method chooses from.
    r : int
        Number of endmembers.
    max_seconds : float or None
        The time limit.
    """
    if not is_sought:
        return CandidateChoice(None, "")
    if candidates is None:
        reason = "All pixels are candidates, as asked for."
        return CandidateChoice(None, _sample_of(n_pixels, max_pixels) or reason)
    if candidates != "auto":
        if not isinstance(candidates, Integral) or candidates < 1:
            raise InputError(
                f"candidates must be 'auto', None or a positive whole number, got {candidates!r}"
            )
        return CandidateChoice(
            int(candidates), f"{candidates} cluster representatives, as asked for."
        )
    if not is_plain:
        return CandidateChoice(
            N_CLUSTERS,
            f"{N_CLUSTERS} cluster representatives, as always with a library or another loss.",
        )
    choice = choose_candidates(n_pixels, n_bands, r, max_seconds)
    if max_pixels is None or max_pixels >= n_pixels:
        return choice
    seen = choose_candidates(max_pixels, n_bands, r, max_seconds)
    if seen.n_clusters is None:
        return CandidateChoice(None, _sample_of(n_pixels, max_pixels))
    # Clusters are those of all pixels, whose number the reason names.
    return choice


def _sample_of(n_pixels: int, max_pixels: int | None) -> str:
    """Return a sentence about the sample that the candidates are; empty if all pixels are."""
    if max_pixels is None or max_pixels >= n_pixels:
        return ""
    return (
        f"A random sample of about {max_pixels:,} of {n_pixels:,} pixels, and extreme ones, are "
        "the candidates, as max_pixels asks for."
    )
