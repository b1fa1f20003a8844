"""What the page shows of each material: its mark, its spectrum, its map, its group."""

from typing import Any

import numpy as np

from selfdict._colours import PALETTE, class_colours
from selfdict._validation import Array
from selfdict.readout.wording import at_least
from selfdict.report import words
from selfdict.report.charts import Axis, label_positions, svg_band, svg_path
from selfdict.report.data import ReportData
from selfdict.report.images import class_png, map_png, pale, thin_out
from selfdict.report.palette import ABUNDANCE_MAP, line_styles


def marker_radius(width: int, height: int) -> float:
    """Return the radius of a marker in pixels of the image, which the page scales to its width."""
    return max(width, height) / 75


def markers(
    d: ReportData, x_axis: Axis, y_axis: Axis, top: float, thinned: int, longest: int
) -> list[dict[str, Any]]:
    """Return what the page shows of each material, from its mark on the image to its map.

    ``top`` is the end of the colour scale of the maps, ``longest`` the longest side of an image.
    """
    mask = thin_out(d.mask, longest)
    height, width = mask.shape
    # Centres of the pixels, in pixels of the thinned image; x comes first there.
    points = (d.pixels[:, ::-1] + 0.5) / thinned
    # 2.4 radii from the centre, so that a number does not touch the circle of its mark.
    labels = label_positions(points, width, height, marker_radius(width, height) * 2.4)
    found = []
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
            "mean": _amount(d, float(d.abundances[k][d.mask].mean())),
            "error": _typical_error(d, k),
            "png": map_png(thin_out(d.abundances[k], longest), mask, top, ABUNDANCE_MAP),
            **_curves(d, k, x_axis, y_axis),
            **_group(d, k),
        }
        if d.coordinates is not None:
            marker["map_x"] = f"{d.coordinates[k, 0]:.10g}"
            marker["map_y"] = f"{d.coordinates[k, 1]:.10g}"
        found.append(marker)
    return found


def _curves(d: ReportData, k: int, x_axis: Axis, y_axis: Axis) -> dict[str, str]:
    """Return the line of a spectrum, and the band of its spread; empty if there is none."""
    x = x_axis.position(d.band_positions)
    spectrum = d.endmembers[:, k]
    band = ""
    if d.spread is not None:
        low = y_axis.position(spectrum - d.spread[:, k])
        high = y_axis.position(spectrum + d.spread[:, k])
        band = svg_band(x, low, high)
    return {"path": svg_path(x, y_axis.position(spectrum)), "band": band}


def _group(d: ReportData, k: int) -> dict[str, str]:
    """Return size, weight and proof of the group of a material, as text."""
    group = {"size": "", "weight": "", "needed": "not proven"}
    if d.group_sizes is not None:
        group["size"] = f"{int(d.group_sizes[k]):,}"
    if d.group_weights is not None:
        group["weight"] = f"{float(d.group_weights[k]):.2f}"
    elif d.certificate is not None:
        group["weight"] = f"{float(d.weights[k]):.2f}"
    if d.proof is not None and d.proof.is_needed[k]:
        group["needed"] = at_least(d.proof.needed[k])
    return group


def _typical_error(d: ReportData, k: int) -> str:
    """Return the median standard error of an abundance, empty if it is not known."""
    if d.uncertainty is None:
        return ""
    return error_text(d, d.uncertainty[k][d.mask])


def error_text(d: ReportData, errors: Array) -> str:
    """Write the median of standard errors; empty if none of them is known."""
    known = errors[np.isfinite(errors)]
    if known.size == 0:
        return ""
    median = float(np.median(known))
    if d.sums_to_one:
        return words.points(median)
    return f"± {median:.2g}"


def _amount(d: ReportData, value: float) -> str:
    """Write an abundance: shares of a whole in percent, coefficients as numbers."""
    if d.sums_to_one:
        return words.percent(value)
    return f"{value:.3g}"


def dominant_classes(d: ReportData) -> tuple[Array, Array]:
    """Return the number of the largest abundance of each pixel, and that abundance, two (y, x).

    Numbers count from 1; 0 where there is no data or no material at all.
    """
    # Below every abundance: a pixel without data has no largest one.
    abundances = np.nan_to_num(d.abundances, nan=-1.0)
    largest = abundances.max(axis=0)
    return np.where(d.mask & (largest > 0), abundances.argmax(axis=0) + 1, 0), largest


def dominant(d: ReportData, longest: int) -> dict[str, Any]:
    """Return the map of the material that each pixel holds most of, and its legend."""
    classes, largest = dominant_classes(d)
    colours = class_colours(len(d.abundances))
    shades = list(colours)
    shown = classes
    # Further materials have paler colours themselves.
    has_pale = d.sums_to_one and len(colours) <= len(PALETTE)
    if has_pale:
        # Pale where no material makes up half of the pixel.
        shades += [pale(colour) for colour in colours]
        is_mixed = (largest < 0.5) & (classes > 0)
        shown = np.where(is_mixed, classes + len(colours), classes)
    n_valid = max(1, int(d.mask.sum()))
    legend = []
    for k, colour in enumerate(colours):
        part = float(np.count_nonzero(classes == k + 1)) / n_valid
        legend.append((d.material(k), _css(colour), words.percent(part)))
    return {
        "png": class_png(thin_out(shown, longest), shades),
        "legend": legend,
        "has_pale": has_pale,
    }


def _css(colour: tuple[int, int, int]) -> str:
    red, green, blue = colour
    return f"rgb({red} {green} {blue})"
