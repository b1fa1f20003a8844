"""The rows of the table that compares the methods."""

from typing import TYPE_CHECKING, Any

from selfdict.report.facts import method_name
from selfdict.report.words import percent

# For annotations only.
if TYPE_CHECKING:
    from selfdict.scene import UnmixResult
    from selfdict.scene.result import Comparison


def comparison_rows(result: "UnmixResult") -> list[dict[str, Any]]:
    """Return the rows of the comparison, this run first; none without other methods."""
    others = result.comparison
    if not others:
        return []
    own = own_row(result)
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


def own_row(result: "UnmixResult") -> "Comparison":
    """Return what a comparison shows of the result itself.

    The error is that of its pure pixels with nonnegative coefficients, whatever the endmembers and
    abundances are: other errors cannot be compared.
    """
    from selfdict.scene.result import Comparison

    error = result.relative_error
    if result.pixel_error is not None:
        error = result.pixel_error
    return Comparison(method_name(result), error, result.seconds["select"], result.pixels)
