"""The chart of the weights that the solver gave."""

from typing import Any

from selfdict.report.charts import Axis, nice_axis
from selfdict.report.data import ReportData
from selfdict.report.palette import NOT_CHOSEN

_MAX_OTHERS = 40  # bars of pixels that were not chosen


def weight_chart(d: ReportData, colours: list[str]) -> dict[str, Any]:
    """Return the bars, their axis and the caption; no bars for methods without weights.

    ``colours`` are those of the materials.
    """
    if d.certificate is None:
        return {"bars": [], "bar_axis": nice_axis(0.0, 1.0, 4), "bars_caption": ""}
    if d.group_weights is None:
        heights = [float(weight) for weight in d.weights]
        others = [float(weight) for weight in d.other_weights[:_MAX_OTHERS]]
    else:
        heights = [float(weight) for weight in d.group_weights]
        others = [weight_elsewhere(d)]
    # All weights are zero if the penalty is so large that no pixel is worth it.
    axis = nice_axis(0.0, max(*heights, *others, 0.0) or 1.0, 4, widen=True)
    return {
        "bars": _bars(d, heights, others, colours, axis),
        "bar_axis": axis,
        "bars_caption": _caption(d),
    }


def weight_elsewhere(d: ReportData) -> float:
    """Return the weight of everything outside the groups."""
    if d.group_weights is None:
        return 0.0
    total = float(d.weights.sum() + d.other_weights.sum())
    return max(0.0, total - float(d.group_weights.sum()))


def _bars(
    d: ReportData, heights: list[float], others: list[float], colours: list[str], axis: Axis
) -> list[dict[str, Any]]:
    """Return the bars: the chosen ones first, in their colours, then the others."""
    # The bar of a chosen pixel or group is two units wide, since it has a number below it; one unit
    # is left empty after them. At least 24 units, so that few bars do not become as wide as the
    # page.
    n_chosen = len(heights)
    other_units = 1
    other_label = ""
    other_title = "Not chosen"
    if d.group_weights is not None:
        other_units = 2
        other_label = "other"
        other_title = "Outside the groups"
    unit = 100 / max(2 * n_chosen + 1 + other_units * len(others), 24)

    def bar(start: int, n_units: int, weight: float) -> dict[str, Any]:
        return {
            "x": round(unit * (start + 0.1 * n_units), 3),
            "width": round(0.8 * unit * n_units, 3),
            "height": round(float(axis.position(weight)), 3),
        }

    bars = []
    for k, weight in enumerate(heights):
        title = f"{d.material(k)}: {weight:.3g}"
        bars.append(
            bar(2 * k, 2, weight) | {"colour": colours[k], "label": str(k + 1), "title": title}
        )
    for k, weight in enumerate(others):
        position = 2 * n_chosen + 1 + other_units * k
        described = {
            "colour": NOT_CHOSEN,
            "label": other_label,
            "title": f"{other_title}: {weight:.3g}",
        }
        bars.append(bar(position, other_units, weight) | described)
    return bars


def _caption(d: ReportData) -> str:
    if d.group_weights is not None:
        what = "pixels"
        if d.names:
            what = "spectra"
        return (
            f"Weights, summed over the {what} of each group: {what} that look alike share their "
            f"weight. Grey: all {what} outside the groups together."
        )
    n_shown = len(d.weights) + min(len(d.other_weights), _MAX_OTHERS)
    total = len(d.weights) + len(d.other_weights)
    omitted = ""
    if total > n_shown:
        omitted = f" The {n_shown} largest of {total} are shown."
    return (
        "Weights the solver gave (the diagonal of X). Coloured and numbered: the pure pixels "
        "chosen. Grey: other pixels with a weight, largest first; pixels that look alike share "
        "their weight." + omitted
    )
