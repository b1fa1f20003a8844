"""The variables of the template of the report."""

import math
import re
from typing import Any

import numpy as np

from selfdict._text import plain
from selfdict._validation import Array
from selfdict.report import words
from selfdict.report.charts import Axis, nice_axis
from selfdict.report.data import ReportData
from selfdict.report.evidence import proof_notes, statements
from selfdict.report.images import colour_limit, css_gradient, map_png, rgb_png, thin_out
from selfdict.report.matches import match_figures
from selfdict.report.materials import dominant, error_text, marker_radius, markers
from selfdict.report.palette import (
    ABUNDANCE_MAP,
    BRIGHTNESS_MAP,
    RESIDUAL_MAP,
    UNCERTAINTY_MAP,
)
from selfdict.report.weights import weight_chart

# Longest side of an image in pixels. It bounds the size of the page: of a large scene with many
# materials, full maps would take many megabytes.
_LONGEST_SIDE = 400


def printable(value: Any) -> Any:
    """Return text as :func:`selfdict._text.plain`, anything else as it is."""
    # What has __html__ is the style sheet or the script of this package.
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    # A number stays on one line with its sign and its unit.
    return re.sub(
        r"(?<=\d) (?=(%|points\b|s\b|min\b))|(?<=±) |(?<=min) (?=\d)", "\u00a0", plain(value)
    )


def template_context(d: ReportData) -> dict[str, Any]:
    """Return the variables of the template."""
    mask = thin_out(d.mask, _LONGEST_SIDE)
    height, width = mask.shape
    # The data may be thinned already; the images are thinned again to their longest side.
    thinned = d.every * -(-max(d.mask.shape) // _LONGEST_SIDE)
    n_valid = d.n_valid or int(d.mask.sum())
    x_axis = nice_axis(float(d.band_positions.min()), float(d.band_positions.max()), 8)
    y_axis = _spectrum_axis(d)
    maps = _maps(d)
    materials = markers(d, x_axis, y_axis, maps["top"], thinned, _LONGEST_SIDE)
    uncertainty = _uncertainty(d, mask)
    comparison = _comparison(d)
    return {
        "d": d,
        "r": d.endmembers.shape[1],
        "kind": _spectrum_kind(d),
        "lead": _lead(d),
        "figures": _key_figures(d, x_axis, n_valid),
        "statements": statements(d),
        "proof_notes": proof_notes(d),
        "sections": _sections(d, with_comparison=bool(comparison)),
        "matches": match_figures(d, x_axis),
        "width": width,
        "height": height,
        "thinned": thinned,
        "mark": marker_radius(width, height),
        "markers": materials,
        "scene_png": rgb_png(thin_out(d.false_colour, _LONGEST_SIDE), mask),
        "x_axis": x_axis,
        "y_axis": y_axis,
        "maps": maps,
        "dominant": dominant(d, _LONGEST_SIDE),
        "uncertainty": uncertainty,
        "brightness": _brightness(d, mask),
        **_residual(d, mask),
        "paragraphs": words.certificate_paragraphs(
            d.certificate,
            d.method,
            n_valid,
            library=bool(d.names),
            candidates_reason=d.candidates_reason,
        ),
        **weight_chart(d, [material["colour"] for material in materials]),
        "comparison": comparison,
        "data": _script_data(d, x_axis, y_axis, [material["name"] for material in materials]),
    }


def _spectrum_kind(d: ReportData) -> str:
    """Return what the spectra are: "library", "average" or "pixels"."""
    if d.names:
        return "library"
    return d.endmember_kind


def _lead(d: ReportData) -> str:
    return words.lead(
        d.endmembers.shape[1],
        d.error,
        kind=_spectrum_kind(d),
        any_brightness=d.abundance_kind in ("shares", "unit"),
    )


def _spectrum_axis(d: ReportData) -> Axis:
    """Return the axis of the spectra, with room for their spread."""
    low = d.endmembers
    high = d.endmembers
    if d.spread is not None:
        low = d.endmembers - d.spread
        high = d.endmembers + d.spread
    lowest = float(low[np.isfinite(low)].min())
    highest = float(high[np.isfinite(high)].max())
    # Reflectances are read relative to zero. A little noise below it needs no room of its own.
    if lowest > -0.02 * highest:
        lowest = 0.0
    return nice_axis(lowest, highest, 5, widen=True)


def _key_figures(d: ReportData, x_axis: Axis, n_valid: int) -> list[tuple[str, str, str]]:
    """Return the figures at the top of the page: name, value and note."""
    n_pixels = d.n_pixels or d.mask.size
    bands = f"{d.axis_label}: {x_axis.low:.5g} to {x_axis.high:.5g}"
    of_what = "of the whole scene"
    if d.endmember_kind == "average" and d.pixel_error is not None:
        of_what = f"of the whole scene; of pure pixels {words.percent(d.pixel_error)}"
    figures = [
        ("Materials", str(d.endmembers.shape[1]), f"chosen by {d.method}"),
        ("Relative error", words.percent(d.error), of_what),
        ("Pixels", f"{n_valid:,}", f"with data, of {n_pixels:,}"),
        ("Bands", str(len(d.band_labels)), bands),
        ("Time", words.seconds(d.seconds), "to unmix"),
    ]
    if d.uncertainty is not None:
        typical = error_text(d, d.uncertainty[:, d.mask])
        note = f"standard error of a {_abundance_name(d)}"
        if d.group_sizes is None:
            note += ", from noise alone"
        # In the small print: the box is narrow.
        if typical.endswith(" points"):
            typical = typical.removesuffix(" points")
            note = f"percentage points, {note}"
        # Beside the error: the numbers by which a result is judged.
        if typical:
            figures.insert(2, ("Typical uncertainty", typical, note))
    return figures


def _abundance_name(d: ReportData) -> str:
    """Return what an abundance is called: only parts of a whole are shares."""
    if d.sums_to_one:
        return "share"
    return "coefficient"


def _sections(d: ReportData, *, with_comparison: bool) -> list[tuple[str, str]]:
    """Return the HTML ids and the names of the sections, for the navigation."""
    sections = [("proven", "What is proven")]
    if d.findings:
        sections.append(("findings", "About the data"))
    sections += [("scene", "Scene"), ("spectra", "Spectra")]
    if d.matches:
        sections.append(("names", "Names"))
    sections += [("maps", "Maps"), ("residual", "Residual"), ("certificate", "How sure?")]
    if with_comparison:
        sections.append(("comparison", "Comparison"))
    sections.append(("parameters", "Parameters"))
    return sections


def _maps(d: ReportData) -> dict[str, Any]:
    """Return the names and the colour scale of the abundance maps."""
    # At least up to 1, a pure pixel, even if no abundance is that large.
    limit = colour_limit(d.abundances, d.mask, 1.0)
    name = "Coefficient: 1 is as much as in the spectrum shown"
    unit = 1.0
    if d.sums_to_one:
        name = "Share of the material, in %"
        if d.abundance_kind == "shares":
            name = "Part of the area, in %"
        unit = 100.0
    axis = nice_axis(0.0, unit * limit, 4)
    top = axis.high / unit
    return {
        "name": name,
        "word": _abundance_name(d),
        "axis": axis,
        "top": top,
        # Abundances that sum to one may exceed 1 by rounding.
        "over": bool(d.abundances[:, d.mask].max() > top * (1 + 1e-6)),
        "gradient": css_gradient(ABUNDANCE_MAP),
    }


def _uncertainty(d: ReportData, mask: Array) -> dict[str, Any] | None:
    """Return the map of the largest standard error of each pixel; None if none is known."""
    if d.uncertainty is None:
        return None
    # The maximum of the materials that have one.
    largest = np.fmax.reduce(d.uncertainty, axis=0)
    known = d.mask & np.isfinite(largest)
    if not known.any():
        return None
    unit = 1.0
    name = "Largest standard error of a coefficient in the pixel"
    if d.sums_to_one:
        unit = 100.0
        name = "Largest standard error of a share in the pixel, in percentage points"
    shown = unit * np.where(known, largest, 0.0)
    axis = nice_axis(0.0, colour_limit(shown[None], known), 4)
    visible = thin_out(known, _LONGEST_SIDE) & mask
    png = map_png(thin_out(shown, _LONGEST_SIDE), visible, axis.high, UNCERTAINTY_MAP)
    return {
        "name": name,
        "axis": axis,
        "over": bool(shown[known].max() > axis.high * (1 + 1e-6)),
        "gradient": css_gradient(UNCERTAINTY_MAP),
        "png": png,
        "text": words.uncertainty_sentence(
            _abundance_name(d), has_spread=d.group_sizes is not None
        ),
    }


def _brightness(d: ReportData, mask: Array) -> dict[str, Any] | None:
    """Return the map of the brightness of each pixel; None if there is none."""
    if d.brightness is None:
        return None
    axis = nice_axis(0.0, colour_limit(d.brightness[None], d.mask, 1.0), 4)
    inside = d.brightness[d.mask]
    low, high = np.percentile(inside, [5, 95])
    return {
        "axis": axis,
        "over": bool(inside.max() > axis.high * (1 + 1e-6)),
        "gradient": css_gradient(BRIGHTNESS_MAP),
        "png": map_png(thin_out(d.brightness, _LONGEST_SIDE), mask, axis.high, BRIGHTNESS_MAP),
        "text": words.brightness_sentence(float(low), float(high)),
    }


def _residual(d: ReportData, mask: Array) -> dict[str, Any]:
    """Return the variables of the section on the residual; ``mask`` is that of the image."""
    in_percent = 100 * d.residual
    axis = nice_axis(0.0, colour_limit(in_percent[None], d.mask), 4)
    image = thin_out(in_percent, _LONGEST_SIDE)
    inside = d.residual[d.mask]
    return {
        "residual_axis": axis,
        "residual_over": bool(in_percent[d.mask].max() > axis.high * (1 + 1e-6)),
        "residual_gradient": css_gradient(RESIDUAL_MAP),
        "residual_png": map_png(image, mask, axis.high, RESIDUAL_MAP),
        "residual_text": words.residual_sentence(
            d.error, d.endmembers.shape[1], kind=_spectrum_kind(d), pixel_error=d.pixel_error
        ),
        "residual_rows": [
            ("Median pixel", words.percent(float(np.median(inside)))),
            ("95 % of pixels below", words.percent(float(np.percentile(inside, 95)))),
            ("Worst pixel", words.percent(float(inside.max()))),
        ],
    }


def _script_data(d: ReportData, x_axis: Axis, y_axis: Axis, names: list[str]) -> dict[str, Any]:
    """Return what the script needs to show values under the mouse."""
    spread = None
    if d.spread is not None:
        spread = [[_json_number(v) for v in band] for band in d.spread.T]
    return {
        "x": np.round(x_axis.position(d.band_positions), 3).tolist(),
        "low": y_axis.low,
        "high": y_axis.high,
        # JSON is written whole by a filter, so that ``finalize`` does not see the single labels.
        "bands": [printable(str(label)) for label in d.band_labels],
        "names": names,
        "spectra": [[_json_number(v) for v in spectrum] for spectrum in d.endmembers.T],
        "spread": spread,
    }


def _json_number(value: float) -> float | None:
    """Return a number with six digits; None for NaN and infinity, which JSON does not have."""
    if not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def _comparison(d: ReportData) -> list[dict[str, Any]]:
    """Return the rows of the comparison, this run first."""
    if not d.comparison:
        return []
    # The errors and seconds of the other methods are those of pure pixels, and of the selection.
    own_error = d.error
    if d.pixel_error is not None:
        own_error = d.pixel_error
    own_seconds = d.select_seconds
    if own_seconds is None:
        own_seconds = d.seconds
    # The bars are relative to the largest error, which is zero if all methods are exact.
    largest_error = max(own_error, *(other.error for other in d.comparison)) or 1.0

    def row(method: str, error: float, seconds: float) -> dict[str, Any]:
        return {
            "method": method,
            "error": words.percent(error),
            "width": round(100 * error / largest_error, 1),
            "seconds": f"{seconds:.2f}",
        }

    rows = [row(d.method, own_error, own_seconds) | {"shared": "", "own": True}]
    # As tuples, since pixels are compared as a pair of row and column.
    own_pixels = {tuple(pixel) for pixel in d.pixels.tolist()}
    for other in d.comparison:
        n_shared = sum(tuple(pixel) in own_pixels for pixel in other.pixels.tolist())
        shared = f"{n_shared} of {len(other.pixels)}"
        rows.append(
            row(other.method, other.error, other.seconds) | {"shared": shared, "own": False}
        )
    return rows
