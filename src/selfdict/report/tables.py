"""What the page computes for each material, mark, match and method beside what a result has."""

from typing import Any

import numpy as np

from selfdict._colours import line_styles
from selfdict._validation import Array
from selfdict.report import words
from selfdict.report.charts import Chart, label_positions
from selfdict.report.pictures import Maps
from selfdict.scene.facts import method_in_words
from selfdict.scene.result import Comparison, UnmixResult


def material_rows(
    result: UnmixResult, maps: Maps, chart: Chart, radius: float
) -> list[dict[str, Any]]:
    """Return name, colour, mark and lines of each material; ``radius`` is that of the marks."""
    names = words.material_names(result)
    marks = pixel_marks(result.pixels, maps, radius)
    uncertainty = maps.of("uncertainty")
    rows = []
    for k, style in enumerate(line_styles(len(names))):
        spectrum = result.endmembers.values[k]
        row = marks[k] | {
            "k": k,
            "name": names[k],
            "colour": style.colour,
            # In line widths, and lines on the page are two pixels wide.
            "dash": " ".join(f"{2 * length:g}" for length in style.dash),
            "mean": words.amount(result, float(maps.abundances[k][maps.valid].mean())),
            "error": "",
            "reason": words.spectrum_reason(result, k),
            "path": chart.line(spectrum),
            "area": "",
        }
        if result.spread is not None:
            spread = result.spread.values[k]
            row["area"] = chart.area(spectrum - spread, spectrum + spread)
        if uncertainty is not None:
            row["error"] = words.typical_error(result, uncertainty[k][maps.valid])
        rows.append(row)
    return rows


def pixel_marks(pixels: Array, maps: Maps, radius: float) -> list[dict[str, Any]]:
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


def match_charts(result: UnmixResult) -> list[tuple[Any, Chart]]:
    """Return what each endmember may be, and a chart of its spectrum and the nearest one."""
    if result.identification is None:
        return []
    rows = []
    for spectrum, match in zip(
        result.endmembers.values, result.identification.matches, strict=True
    ):
        both = np.concatenate([spectrum, match.curve])
        known = both[np.isfinite(both)]
        # Each chart has an axis of its own: a dark spectrum would be a flat line on a common one.
        low = min(0.0, float(known.min()))
        rows.append((match, Chart.of(result.endmembers, low, float(known.max()), 3)))
    return rows


def compared(result: UnmixResult) -> list[tuple[Comparison, int]]:
    """Return the methods that are compared, this run first, and how many pure pixels they share.

    The list is empty without other methods.
    """
    if not result.comparison:
        return []
    # As tuples, since pixels are compared as a pair of row and column.
    own = {tuple(pixel) for pixel in result.pixels.tolist()}
    rows = []
    for method in (own_row(result), *result.comparison):
        rows.append((method, sum(tuple(pixel) in own for pixel in method.pixels.tolist())))
    return rows


def own_row(result: UnmixResult) -> Comparison:
    """Return what a comparison shows of the result itself.

    The error is that of its pure pixels with nonnegative coefficients, whatever the endmembers and
    abundances are: other errors cannot be compared.
    """
    error = result.relative_error
    if result.pixel_error is not None:
        error = result.pixel_error
    return Comparison(method_in_words(result), error, result.seconds["select"], result.pixels)
