"""What the report shows of the library that endmembers were looked up in."""

from typing import Any

import numpy as np

from selfdict.report.charts import Axis, nice_axis, svg_path
from selfdict.report.data import ReportData


def match_figures(d: ReportData, x_axis: Axis) -> list[dict[str, Any]]:
    """Return a chart per endmember: its spectrum, that of the nearest material, and the nearest.

    The list is empty if the endmembers were not looked up.
    """
    x = x_axis.position(d.band_positions)
    figures = []
    for k, match in enumerate(d.matches):
        both = np.concatenate([d.endmembers[:, k], match.curve])
        known = both[np.isfinite(both)]
        # Each chart has an axis of its own: a dark spectrum would be a flat line on a common one.
        y_axis = nice_axis(min(0.0, float(known.min())), float(known.max()), 3, widen=True)
        nearest = []
        for candidate in match.nearest:
            angle = f"{candidate.angle:.1f}°"
            nearest.append((candidate.material, candidate.name, angle))
        figures.append(
            {
                "verdict": match.material or "No match",
                "sentence": match.sentence,
                "y_axis": y_axis,
                "path": svg_path(x, y_axis.position(d.endmembers[:, k])),
                "library_path": svg_path(x, y_axis.position(match.curve)),
                "nearest": nearest,
            }
        )
    return figures
