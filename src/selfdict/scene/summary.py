"""The result of unmixing in a few lines of text."""

from typing import TYPE_CHECKING

from selfdict._display import percent, shortened

if TYPE_CHECKING:
    from selfdict.scene.result import UnmixResult

_WHAT_ABUNDANCES_ARE = {
    "shares": "shares: fractions of each pixel's area",
    "unit": "shares relative to spectra of unit length",
    "nnls": "nonnegative coefficients",
    "fcls": "nonnegative coefficients that sum to one",
}


def facts(result: "UnmixResult") -> dict[str, str]:
    """Return what there is to say about a result; no map is read."""
    n_rows, n_columns = result.residual.shape
    parameters = result.parameters
    described = {
        "scene": f"{n_rows:,} × {n_columns:,} pixels, {result.endmembers.sizes['band']} bands used",
        "method": str(parameters.get("method")),
        "endmembers": _endmembers(result),
        "relative error": _relative_error(result),
    }
    if result.gap is not None:
        described["certified gap"] = percent(result.gap)
    described["abundances"] = _WHAT_ABUNDANCES_ARE.get(
        str(parameters.get("abundances")), "coefficients"
    )
    pixels = [f"({row}, {column})" for row, column in result.pixels.tolist()]
    described["pure pixels"] = f"{shortened(pixels)} (row, column)"
    if result.proof is not None:
        described["proof"] = result.proof.sentence
    if result.skipped:
        described["left out for lack of time"] = "; ".join(result.skipped)
    if result.preflight is not None and result.preflight.findings:
        described["preflight"] = "; ".join(result.preflight.sentences)
    if result.notes:
        described["notes"] = "; ".join(result.notes)
    seconds = result.seconds.get("total")
    if seconds is not None:
        described["time"] = f"{seconds:.1f} s"
    return described


def _endmembers(result: "UnmixResult") -> str:
    labels = shortened(result.labels)
    if result.counts is None:
        return labels
    if result.shows_single_pixels:
        return f"{labels}; single pixels"
    counts = shortened([str(count) for count in result.counts])
    return f"{labels}; averages over {counts} pixels"


def _relative_error(result: "UnmixResult") -> str:
    error = percent(result.relative_error)
    if result.counts is None or result.shows_single_pixels:
        return error
    return f"{error} with group averages, {percent(result.pixel_error)} with single pixels"


def text(result: "UnmixResult") -> str:
    """Return the facts about a result as lines."""
    described = facts(result)
    width = max(len(name) for name in described)
    lines = [f"UnmixResult: {len(result.pixels)} materials"]
    lines += [f"  {name:<{width}}  {value}" for name, value in described.items()]
    return "\n".join(lines)
