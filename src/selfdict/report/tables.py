"""The rows of the tables: what is shown of each material, and of each method compared."""

from typing import Any

import numpy as np

from selfdict._colours import line_styles
from selfdict._display import at_least, percent
from selfdict._validation import Array
from selfdict.report import words
from selfdict.report.charts import Axis, band_axis, label_positions, nice_axis, svg_band, svg_path
from selfdict.report.pictures import Maps
from selfdict.scene.result import Comparison, UnmixResult


def material_rows(
    result: UnmixResult, maps: Maps, x_axis: Axis, y_axis: Axis, radius: float
) -> list[dict[str, Any]]:
    """Return what the page shows of each material; ``radius`` is that of the marks on the image."""
    names = words.material_names(result)
    rows = _marks(result.pixels, maps, radius)
    x = x_axis.position(band_axis(result.endmembers)[0])
    for k, style in enumerate(line_styles(len(names))):
        row = rows[k]
        spectrum = result.endmembers.values[k]
        row |= {
            "k": k,
            "name": names[k],
            "colour": style.colour,
            # In line widths, and lines on the page are two pixels wide.
            "dash": " ".join(f"{2 * length:g}" for length in style.dash),
            "mean": words.amount(result, float(maps.abundances[k][maps.valid].mean())),
            "error": "",
            "needed": "not proven",
            "reason": words.spectrum_reason(result, k),
            "path": svg_path(x, y_axis.position(spectrum)),
            "band": "",
        }
        if result.spread is not None:
            spread = result.spread.values[k]
            low = y_axis.position(spectrum - spread)
            row["band"] = svg_band(x, low, y_axis.position(spectrum + spread))
        if result.coordinates is not None:
            row["map_x"] = f"{result.coordinates[k, 0]:.10g}"
            row["map_y"] = f"{result.coordinates[k, 1]:.10g}"
        if maps.uncertainty is not None:
            row["error"] = words.typical_error(result, maps.uncertainty[k][maps.valid])
        if result.groups is not None:
            row["size"] = f"{len(result.groups[k]):,}"
        if result.group_weights is not None:
            row["weight"] = f"{float(result.group_weights[k]):.2f}"
        if result.proof is not None and result.proof.is_needed[k]:
            row["needed"] = at_least(result.proof.needed[k])
    return rows


def _marks(pixels: Array, maps: Maps, radius: float) -> list[dict[str, Any]]:
    """Return where the page marks pixels: the centres in the thinned image, and their labels."""
    height, width = maps.image(maps.valid).shape
    # x comes first in an image.
    points = (pixels[:, ::-1] + 0.5) / maps.image_scale
    # 2.4 radii from the centre, so that a number does not touch the circle of its mark.
    labels = label_positions(points, width, height, 2.4 * radius)
    marks = []
    # Digits beyond these cannot be seen and would only enlarge the page.
    for (row, column), point, label in zip(pixels.tolist(), points.round(2), labels.round(2)):
        mark = {"row": row, "column": column, "x": point[0], "y": point[1]}
        marks.append(mark | {"label_x": label[0], "label_y": label[1]})
    return marks


def patch_rows(result: UnmixResult, maps: Maps, radius: float) -> list[dict[str, Any]]:
    """Return what the page shows of the patches that are not explained, the first few of them."""
    patches = result.unexplained[:8]
    if not patches:
        return []
    rows = _marks(np.array([patch.pixels[0] for patch in patches]), maps, radius)
    for row, patch in zip(rows, patches):
        row |= {"size": f"{len(patch.pixels):,}", "share": percent(patch.share), "error": ""}
        if patch.error is not None:
            row["error"] = percent(patch.error)
    return rows


def match_rows(result: UnmixResult, x_axis: Axis) -> list[dict[str, Any]]:
    """Return a chart per endmember: its spectrum, that of the nearest material, and the nearest.

    The list is empty if the endmembers were not looked up.
    """
    if result.identification is None:
        return []
    x = x_axis.position(band_axis(result.endmembers)[0])
    rows = []
    for spectrum, match in zip(
        result.endmembers.values, result.identification.matches, strict=True
    ):
        both = np.concatenate([spectrum, match.curve])
        known = both[np.isfinite(both)]
        # Each chart has an axis of its own: a dark spectrum would be a flat line on a common one.
        y_axis = nice_axis(min(0.0, float(known.min())), float(known.max()), 3, widen=True)
        rows.append(
            {
                "verdict": match.material or "No match",
                "sentence": match.sentence,
                "y_axis": y_axis,
                "path": svg_path(x, y_axis.position(spectrum)),
                "library_path": svg_path(x, y_axis.position(match.curve)),
                "nearest": [(c.material, c.name, f"{c.angle:.1f}°") for c in match.nearest],
            }
        )
    return rows


def comparison_rows(result: UnmixResult) -> list[dict[str, Any]]:
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


def own_row(result: UnmixResult) -> Comparison:
    """Return what a comparison shows of the result itself.

    The error is that of its pure pixels with nonnegative coefficients, whatever the endmembers and
    abundances are: other errors cannot be compared.
    """
    error = result.relative_error
    if result.pixel_error is not None:
        error = result.pixel_error
    return Comparison(words.method_name(result), error, result.seconds["select"], result.pixels)
