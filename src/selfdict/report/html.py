"""The report: one HTML file that works offline, on a phone, on paper and by keyboard."""

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
from selfdict.report.charts import Axis, label_places, nice_axis, svg_path
from selfdict.report.data import ReportData
from selfdict.report.images import colour_limit, css_gradient, map_png, rgb_png, thin_out
from selfdict.report.palette import ABUNDANCE_MAP, RESIDUAL_MAP, line_styles

_LONGEST = 400
"""Longest side of a preview in pixels: what keeps the page of a large scene small."""
_MAX_BARS = 40


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
        undefined=jinja2.StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = _package_text("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment.from_string(_package_text("report.html.j2"))
    # Only the two files of this package are marked as safe; every other value is escaped by the
    # template.
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
    """Replace what no page can show: control characters, direction overrides, undecodable bytes of names."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return re.sub(
            r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", value
        )
    return value


def _context(d: ReportData) -> dict[str, Any]:
    height, width = thin_out(d.mask, _LONGEST).shape
    thinned = d.every * -(-max(d.mask.shape) // _LONGEST)
    mask = thin_out(d.mask, _LONGEST)
    r = d.endmembers.shape[1]
    n_valid = d.n_valid or int(d.mask.sum())

    finite = d.endmembers[np.isfinite(d.endmembers)]
    x_axis = nice_axis(float(d.band_positions.min()), float(d.band_positions.max()), 8)
    y_axis = nice_axis(min(0.0, float(finite.min())), float(finite.max()), 5, widen=True)
    abundance_axis, abundance_over = _scale(d.abundances, d.mask, at_least=1.0)
    residual = 100 * d.residual
    residual_axis, residual_over = _scale(residual[None], d.mask)
    markers = _markers(d, x_axis, y_axis, abundance_axis.high, thinned)
    comparison = _comparison(d)
    bars, bar_axis = _bars(d, [m["colour"] for m in markers])
    inside = d.residual[d.mask]

    figures = [
        ("Materials", str(r), f"chosen by {d.method}"),
        ("Relative error", words.percent(d.error), "of the whole scene"),
        ("Pixels", f"{n_valid:,}", f"with data, of {d.n_pixels or d.mask.size:,}"),
        (
            "Bands",
            str(len(d.band_labels)),
            f"{d.axis_label}: {x_axis.low:.5g} to {x_axis.high:.5g}",
        ),
        ("Time", words.seconds(d.seconds), "to unmix"),
    ]
    if d.certificate is not None:
        gap = words.percent(d.certificate.gap).replace("less than", "<")
        figures.insert(2, ("Certified gap", gap, "to the best possible"))
    sections = [
        ("scene", "Scene"),
        ("spectra", "Spectra"),
        ("maps", "Abundance maps"),
        ("residual", "Residual"),
        ("certificate", "How sure?"),
        *([("comparison", "Comparison")] if comparison else []),
        ("parameters", "Parameters"),
    ]
    return {
        "d": d,
        "r": r,
        "lead": words.lead(r, d.error, library=bool(d.names)),
        "figures": figures,
        "sections": sections,
        "width": width,
        "height": height,
        "thinned": thinned,
        "mark": max(width, height) / 75,
        "markers": markers,
        "scene_png": rgb_png(thin_out(d.false_colour, _LONGEST), mask),
        "x_axis": x_axis,
        "y_axis": y_axis,
        "abundance_axis": abundance_axis,
        "abundance_over": abundance_over,
        "abundance_gradient": css_gradient(ABUNDANCE_MAP),
        "residual_axis": residual_axis,
        "residual_over": residual_over,
        "residual_gradient": css_gradient(RESIDUAL_MAP),
        "residual_png": map_png(
            thin_out(residual, _LONGEST), mask, residual_axis.high, RESIDUAL_MAP
        ),
        "residual_text": words.residual_sentence(d.error, r),
        "residual_rows": [
            ("Median pixel", words.percent(float(np.median(inside)))),
            ("95 % of pixels below", words.percent(float(np.percentile(inside, 95)))),
            ("Worst pixel", words.percent(float(inside.max()))),
        ],
        "paragraphs": words.certificate_paragraphs(
            d.certificate, d.method, n_valid, library=bool(d.names)
        ),
        "bars": bars,
        "bar_axis": bar_axis,
        "bars_caption": _bars_caption(d, len(bars)),
        "comparison": comparison,
        "data": {
            "x": np.round(x_axis.place(d.band_positions), 3).tolist(),
            "low": y_axis.low,
            "high": y_axis.high,
            "bands": [_printable(str(label)) for label in d.band_labels],
            "names": [m["name"] for m in markers],
            "spectra": [[_number(v) for v in spectrum] for spectrum in d.endmembers.T],
        },
    }


def _number(value: float) -> float | None:
    """Return a number JSON can hold, with the digits a reader may want; None for NaN and infinity."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def _scale(maps: Array, mask: Array, at_least: float = 0.0) -> tuple[Axis, bool]:
    """Return the colour scale of ``maps``, and whether some values lie above it."""
    axis = nice_axis(0.0, colour_limit(maps, mask, at_least), 4)
    return axis, bool(maps[:, mask].max() > axis.high * (1 + 1e-6))


def _markers(
    d: ReportData, x_axis: Axis, y_axis: Axis, top: float, thinned: int
) -> list[dict[str, Any]]:
    """Return what the page says about each material, from its mark on the image to its map."""
    mask = thin_out(d.mask, _LONGEST)
    height, width = mask.shape
    points = (d.pixels[:, ::-1] + 0.5) / thinned
    labels = label_places(points, width, height, max(width, height) / 75 * 2.4)
    x = x_axis.place(d.band_positions)
    markers = []
    for k, style in enumerate(line_styles(len(d.pixels))):
        row, column = (int(v) for v in d.pixels[k])
        marker = {
            "name": d.material(k),
            "colour": style.colour,
            "dash": " ".join(f"{2 * v:g}" for v in style.dash),
            "x": round(float(points[k, 0]), 2),
            "y": round(float(points[k, 1]), 2),
            "label_x": round(float(labels[k, 0]), 2),
            "label_y": round(float(labels[k, 1]), 2),
            "row": row,
            "column": column,
            "mean": words.percent(float(d.abundances[k][d.mask].mean())),
            "path": svg_path(x, y_axis.place(d.endmembers[:, k])),
            "png": map_png(thin_out(d.abundances[k], _LONGEST), mask, top, ABUNDANCE_MAP),
        }
        if d.coordinates is not None:
            marker["map_x"], marker["map_y"] = (f"{v:.10g}" for v in d.coordinates[k])
        markers.append(marker)
    return markers


def _bars(d: ReportData, colours: list[str]) -> tuple[list[dict[str, Any]], Axis]:
    """Return the bars of the support's weights, first the pure pixels in their colour, then the others."""
    if d.certificate is None:
        return [], nice_axis(0.0, 1.0, 4)
    others = d.other_weights[:_MAX_BARS]
    axis = nice_axis(
        0.0, float(max(d.weights.max(), others.max(initial=0.0))) or 1.0, 4, widen=True
    )
    chosen = len(d.weights)
    unit = 100 / max(
        2 * chosen + 1 + len(others), 24
    )  # a chosen pixel's bar is twice as wide: it has a number
    bars = []
    for k, weight in enumerate([*d.weights, *others]):
        own = k < chosen
        start, width = (2 * k, 2) if own else (chosen + 1 + k, 1)
        bars.append(
            {
                "x": round(unit * (start + 0.1 * width), 3),
                "width": round(0.8 * unit * width, 3),
                "height": round(float(axis.place(float(weight))), 3),
                "colour": colours[k] if own else "#b9c4c6",
                "label": str(k + 1) if own else "",
                "title": f"{d.material(k) if own else 'Not chosen'}: {weight:.3g}",
            }
        )
    return bars, axis


def _bars_caption(d: ReportData, shown: int) -> str:
    total = len(d.weights) + len(d.other_weights)
    some = f" The {shown} largest of {total} are shown." if total > shown else ""
    if d.names:
        return (
            "Gates the solver opened, between 0 and 1. Coloured and numbered: the spectra chosen. Grey: other spectra "
            "with an open gate, largest first; spectra that look alike share theirs." + some
        )
    return (
        "Weights the solver gave (the diagonal of X). Coloured and numbered: the pure pixels chosen. Grey: "
        "other pixels with a weight, largest first; pixels that look alike share their weight."
        + some
    )


def _comparison(d: ReportData) -> list[dict[str, Any]]:
    """Return the lines of the comparison, this run first."""
    if not d.comparison:
        return []
    own = {tuple(p) for p in d.pixels.tolist()}
    lines = [
        (d.method, d.error, d.seconds if d.select_seconds is None else d.select_seconds, "", True)
    ]
    for other in d.comparison:
        shared = sum(tuple(p) in own for p in other.pixels.tolist())
        lines.append(
            (other.method, other.error, other.seconds, f"{shared} of {len(other.pixels)}", False)
        )
    worst = max(line[1] for line in lines) or 1.0
    return [
        {
            "method": name,
            "error": words.percent(error),
            "width": round(100 * error / worst, 1),
            "seconds": f"{time:.2f}",
            "shared": shared,
            "own": is_own,
        }
        for name, error, time, shared, is_own in lines
    ]
