"""The same scene unmixed by several methods, and the rows of the table that compares them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from selfdict._validation import Array
from selfdict.report.facts import method_name
from selfdict.report.words import percent

# For annotations only.
if TYPE_CHECKING:
    from selfdict.scene import UnmixResult


@dataclass(frozen=True)
class MethodResult:
    """What a comparison shows of a method.

    Attributes
    ----------
    method : str
        Its name.
    error : float
        The relative error of mixtures of the pure pixels with nonnegative coefficients, whatever
        the endmembers and abundances are: other errors cannot be compared.
    seconds : float
        The time of the selection: abundances are computed alike for all methods.
    pixels : (r, 2) ndarray of int
        Row and column of the pure pixels.
    """

    method: str
    error: float
    seconds: float
    pixels: Array


def method_result(result: "UnmixResult") -> MethodResult:
    """Return what a comparison shows of a result, without its maps.

    Parameters
    ----------
    result : UnmixResult

    Returns
    -------
    MethodResult

    Examples
    --------
    >>> from selfdict.datasets import make_scene
    >>> from selfdict.report import method_result
    >>> from selfdict.scene import unmix
    >>> scene = make_scene(shape=(20, 20), n_endmembers=3, random_state=0).scene
    >>> method_result(unmix(scene, 3, method="spa")).method
    'SPA'
    """
    error = result.relative_error
    if result.pixel_error is not None:
        error = result.pixel_error
    return MethodResult(method_name(result), error, result.seconds["select"], result.pixels)


def comparison_rows(result: "UnmixResult", others: Sequence[MethodResult]) -> list[dict[str, Any]]:
    """Return the rows of the comparison, this run first; none without other methods."""
    if not others:
        return []
    own = method_result(result)
    # The bars are relative to the largest error, which is zero if all methods are exact.
    largest_error = max(own.error, *(other.error for other in others)) or 1.0
    # As tuples, since pixels are compared as a pair of row and column.
    own_pixels = {tuple(pixel) for pixel in own.pixels.tolist()}
    rows = []
    for line in (own, *others):
        n_shared = sum(tuple(pixel) in own_pixels for pixel in line.pixels.tolist())
        rows.append(
            {
                "method": line.method,
                "error": percent(line.error),
                "width": round(100 * line.error / largest_error, 1),
                "seconds": f"{line.seconds:.2f}",
                "shared": f"{n_shared} of {len(line.pixels)}",
            }
        )
    rows[0]["shared"] = ""
    return rows
