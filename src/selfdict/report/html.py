"""The report as one HTML file that works offline, on a phone, on paper and by keyboard."""

import base64
import hashlib
import math
import os
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from selfdict import __version__
from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.report import words
from selfdict.report.charts import Axis, label_positions, nice_axis, svg_path
from selfdict.report.data import ReportData
from selfdict.report.images import colour_limit, css_gradient, map_png, rgb_png, thin_out
from selfdict.report.matches import match_figures
from selfdict.report.palette import ABUNDANCE_MAP, NOT_CHOSEN, RESIDUAL_MAP, line_styles

# Longest side of an image in pixels. It bounds the size of the page: of a large scene with many
# materials, full maps would take many megabytes.
_LONGEST_SIDE = 400


def write_report(data: ReportData, path: str | os.PathLike[str]) -> Path:
    """Write the report of ``data`` to ``path`` and return the path."""
    path = Path(path)
    path.write_text(render_report(data), encoding="utf-8")
    return path


def render_report(data: ReportData) -> str:
    """Return the report as the text of one self-contained HTML page."""
    jinja2 = optional("jinja2")
    environment = jinja2.Environment(
        autoescape=True,
        # A misspelt variable is an error instead of an empty text.
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = _package_text("report.js")
    # The page's security policy allows the script with this hash only: text of a scene that got
    # past the escaping would still not run.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.from_string(_package_text("report.html.j2"))
    # Only the two files of this package are marked as safe; the template escapes every other value.
    page: str = template.render(
        _context(data),
        css=jinja2.utils.markupsafe.Markup(_package_text("report.css")),
        script=jinja2.utils.markupsafe.Markup(script),
        script_hash=f"sha256-{digest}",
        version=__version__,
    )
    return page


def _package_text(name: str) -> str:
    return resources.files("selfdict.report").joinpath(name).read_text(encoding="utf-8")


def _printable(value: Any) -> Any:
    """Replace what a page cannot show.

    These are control characters, direction overrides, and the surrogates that stand for undecodable
    bytes of file names.
    """
    # What has __html__ is the style sheet or the script of this package.
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return re.sub(
            r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", value
        )
    return value


def _context(d: ReportData) -> dict[str, Any]:
    """Return the variables of the template."""
    mask = thin_out(d.mask, _LONGEST_SIDE)
    height, width = mask.shape
    # The data may be thinned already; the images are thinned again to their longest side.
    thinned = d.every * -(-max(d.mask.shape) // _LONGEST_SIDE)
    r = d.endmembers.shape[1]
    n_valid = d.n_valid or int(d.mask.sum())
    library = bool(d.names)

    x_axis = nice_axis(float(d.band_positions.min()), float(d.band_positions.max()), 8)
    finite = d.endmembers[np.isfinite(d.endmembers)]
    # Reflectances are read relative to zero.
    y_axis = nice_axis(min(0.0, float(finite.min())), float(finite.max()), 5, widen=True)
    # At least up to 1, a pure pixel, even if no abundance is that large.
    abundance_axis, abundance_over = _colour_scale(d.abundances, d.mask, at_least=1.0)
    markers = _markers(d, x_axis, y_axis, abundance_axis.high, thinned)
    bars, bar_axis = _weight_bars(d, [marker["colour"] for marker in markers])
    comparison = _comparison(d)
    return {
        "d": d,
        "r": r,
        "lead": words.lead(r, d.error, library=library),
        "figures": _key_figures(d, x_axis, n_valid),
        "sections": _sections(with_names=bool(d.matches), with_comparison=bool(comparison)),
        "matches": match_figures(d, x_axis),
        "width": width,
        "height": height,
        "thinned": thinned,
        "mark": _marker_radius(width, height),
        "markers": markers,
        "scene_png": rgb_png(thin_out(d.false_colour, _LONGEST_SIDE), mask),
        "x_axis": x_axis,
        "y_axis": y_axis,
        "abundance_axis": abundance_axis,
        "abundance_over": abundance_over,
        "abundance_gradient": css_gradient(ABUNDANCE_MAP),
        **_residual(d, mask),
        "paragraphs": words.certificate_paragraphs(
            d.certificate, d.method, n_valid, library=library
        ),
        "bars": bars,
        "bar_axis": bar_axis,
        "bars_caption": _bars_caption(d, len(bars)),
        "comparison": comparison,
        "data": _script_data(d, x_axis, y_axis, [marker["name"] for marker in markers]),
    }


def _key_figures(d: ReportData, x_axis: Axis, n_valid: int) -> list[tuple[str, str, str]]:
    """Return the figures at the top of the page: name, value and note."""
    n_pixels = d.n_pixels or d.mask.size
    bands = f"{d.axis_label}: {x_axis.low:.5g} to {x_axis.high:.5g}"
    figures = [
        ("Materials", str(d.endmembers.shape[1]), f"chosen by {d.method}"),
        ("Relative error", words.percent(d.error), "of the whole scene"),
        ("Pixels", f"{n_valid:,}", f"with data, of {n_pixels:,}"),
        ("Bands", str(len(d.band_labels)), bands),
        ("Time", words.seconds(d.seconds), "to unmix"),
    ]
    if d.certificate is not None:
        gap = words.percent(d.certificate.gap).replace("less than", "<")
        # Beside the error: the two numbers by which a result is judged.
        figures.insert(2, ("Certified gap", gap, "to the best possible"))
    return figures


def _sections(*, with_names: bool, with_comparison: bool) -> list[tuple[str, str]]:
    """Return the HTML ids and the names of the sections, for the navigation."""
    sections = [
        ("scene", "Scene"),
        ("spectra", "Spectra"),
        ("maps", "Abundance maps"),
        ("residual", "Residual"),
        ("certificate", "How sure?"),
    ]
    if with_names:
        sections.insert(2, ("names", "Names"))
    if with_comparison:
        sections.append(("comparison", "Comparison"))
    sections.append(("parameters", "Parameters"))
    return sections


def _residual(d: ReportData, mask: Array) -> dict[str, Any]:
    """Return the variables of the section on the residual; ``mask`` is that of the image."""
    in_percent = 100 * d.residual
    axis, over = _colour_scale(in_percent[None], d.mask)
    image = thin_out(in_percent, _LONGEST_SIDE)
    inside = d.residual[d.mask]
    return {
        "residual_axis": axis,
        "residual_over": over,
        "residual_gradient": css_gradient(RESIDUAL_MAP),
        "residual_png": map_png(image, mask, axis.high, RESIDUAL_MAP),
        "residual_text": words.residual_sentence(d.error, d.endmembers.shape[1]),
        "residual_rows": [
            ("Median pixel", words.percent(float(np.median(inside)))),
            ("95 % of pixels below", words.percent(float(np.percentile(inside, 95)))),
            ("Worst pixel", words.percent(float(inside.max()))),
        ],
    }


def _script_data(d: ReportData, x_axis: Axis, y_axis: Axis, names: list[str]) -> dict[str, Any]:
    """Return what the script needs to show values under the mouse."""
    return {
        "x": np.round(x_axis.position(d.band_positions), 3).tolist(),
        "low": y_axis.low,
        "high": y_axis.high,
        # JSON is written whole by a filter, so that ``finalize`` does not see the single labels.
        "bands": [_printable(str(label)) for label in d.band_labels],
        "names": names,
        "spectra": [[_json_number(v) for v in spectrum] for spectrum in d.endmembers.T],
    }


def _json_number(value: float) -> float | None:
    """Return a number with six digits; None for NaN and infinity, which JSON does not have."""
    if not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def _colour_scale(maps: Array, mask: Array, at_least: float = 0.0) -> tuple[Axis, bool]:
    """Return the colour scale of ``maps``, and whether some values are above it."""
    axis = nice_axis(0.0, colour_limit(maps, mask, at_least), 4)
    # Abundances that sum to one may exceed 1 by rounding.
    return axis, bool(maps[:, mask].max() > axis.high * (1 + 1e-6))


def _marker_radius(width: int, height: int) -> float:
    """Return the radius of a marker in pixels of the image, which the page scales to its width."""
    return max(width, height) / 75


def _markers(
    d: ReportData, x_axis: Axis, y_axis: Axis, top: float, thinned: int
) -> list[dict[str, Any]]:
    """Return what the page shows of each material, from its mark on the image to its map."""
    mask = thin_out(d.mask, _LONGEST_SIDE)
    height, width = mask.shape
    # Centres of the pixels, in pixels of the thinned image; x comes first there.
    points = (d.pixels[:, ::-1] + 0.5) / thinned
    # 2.4 radii from the centre, so that a number does not touch the circle of its mark.
    labels = label_positions(points, width, height, _marker_radius(width, height) * 2.4)
    x = x_axis.position(d.band_positions)
    markers = []
    for k, style in enumerate(line_styles(len(d.pixels))):
        marker = {
            "name": d.material(k),
            "colour": style.colour,
            # In line widths, and lines on the page are two pixels wide.
            "dash": " ".join(f"{2 * length:g}" for length in style.dash),
            # Digits beyond these cannot be seen and would only enlarge the page.
            "x": round(float(points[k, 0]), 2),
            "y": round(float(points[k, 1]), 2),
            "label_x": round(float(labels[k, 0]), 2),
            "label_y": round(float(labels[k, 1]), 2),
            "row": int(d.pixels[k, 0]),
            "column": int(d.pixels[k, 1]),
            "mean": words.percent(float(d.abundances[k][d.mask].mean())),
            "path": svg_path(x, y_axis.position(d.endmembers[:, k])),
            "png": map_png(thin_out(d.abundances[k], _LONGEST_SIDE), mask, top, ABUNDANCE_MAP),
        }
        if d.coordinates is not None:
            marker["map_x"] = f"{d.coordinates[k, 0]:.10g}"
            marker["map_y"] = f"{d.coordinates[k, 1]:.10g}"
        markers.append(marker)
    return markers


def _weight_bars(
    d: ReportData, colours: list[str], max_others: int = 40
) -> tuple[list[dict[str, Any]], Axis]:
    """Return the bars of the weights and their axis.

    The pure pixels come first, in their ``colours``, then at most ``max_others`` of the others.
    """
    if d.certificate is None:
        return [], nice_axis(0.0, 1.0, 4)
    others = d.other_weights[:max_others]
    largest = float(max(d.weights.max(), others.max(initial=0.0)))
    # All weights are zero if the penalty is so large that no pixel is worth it.
    axis = nice_axis(0.0, largest or 1.0, 4, widen=True)
    # The bar of a chosen pixel is two units wide, since it has a number below it; one unit is left
    # empty after them. At least 24 units, so that few bars do not become as wide as the page.
    n_chosen = len(d.weights)
    unit = 100 / max(2 * n_chosen + 1 + len(others), 24)

    def bar(start: int, n_units: int, weight: float) -> dict[str, Any]:
        return {
            "x": round(unit * (start + 0.1 * n_units), 3),
            "width": round(0.8 * unit * n_units, 3),
            "height": round(float(axis.position(float(weight))), 3),
        }

    bars = []
    for k, weight in enumerate(d.weights):
        title = f"{d.material(k)}: {weight:.3g}"
        bars.append(
            bar(2 * k, 2, weight) | {"colour": colours[k], "label": str(k + 1), "title": title}
        )
    for k, weight in enumerate(others):
        title = f"Not chosen: {weight:.3g}"
        bars.append(
            bar(2 * n_chosen + 1 + k, 1, weight)
            | {"colour": NOT_CHOSEN, "label": "", "title": title}
        )
    return bars, axis


def _bars_caption(d: ReportData, n_shown: int) -> str:
    total = len(d.weights) + len(d.other_weights)
    omitted = ""
    if total > n_shown:
        omitted = f" The {n_shown} largest of {total} are shown."
    if d.names:
        return (
            "Gates the solver opened, between 0 and 1. Coloured and numbered: the spectra chosen. "
            "Grey: other spectra with an open gate, largest first; spectra that look alike share "
            "theirs." + omitted
        )
    return (
        "Weights the solver gave (the diagonal of X). Coloured and numbered: the pure pixels "
        "chosen. Grey: other pixels with a weight, largest first; pixels that look alike share "
        "their weight." + omitted
    )


def _comparison(d: ReportData) -> list[dict[str, Any]]:
    """Return the rows of the comparison, this run first."""
    if not d.comparison:
        return []
    # The seconds of the other methods are those of the selection alone.
    own_seconds = d.select_seconds
    if own_seconds is None:
        own_seconds = d.seconds
    # The bars are relative to the largest error, which is zero if all methods are exact.
    largest_error = max(d.error, *(other.error for other in d.comparison)) or 1.0

    def row(method: str, error: float, seconds: float) -> dict[str, Any]:
        return {
            "method": method,
            "error": words.percent(error),
            "width": round(100 * error / largest_error, 1),
            "seconds": f"{seconds:.2f}",
        }

    rows = [row(d.method, d.error, own_seconds) | {"shared": "", "own": True}]
    # As tuples, since pixels are compared as a pair of row and column.
    own_pixels = {tuple(pixel) for pixel in d.pixels.tolist()}
    for other in d.comparison:
        n_shared = sum(tuple(pixel) in own_pixels for pixel in other.pixels.tolist())
        shared = f"{n_shared} of {len(other.pixels)}"
        rows.append(
            row(other.method, other.error, other.seconds) | {"shared": shared, "own": False}
        )
    return rows
