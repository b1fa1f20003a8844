"""What is shown of the library that endmembers were looked up in."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._optional import optional
from selfdict.report.charts import Axis, nice_axis, svg_path
from selfdict.report.data import ReportData
from selfdict.report.palette import line_styles
from selfdict.report.plots import band_gaps

if TYPE_CHECKING:
    import xarray as xr

    from selfdict.scene import Match


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


def plot_matches(
    endmembers: "xr.DataArray", matches: "Sequence[Match]", fig: Any = None, columns: int = 3
) -> Any:
    """Draw each endmember beside the nearest spectrum of the library.

    Parameters
    ----------
    endmembers : xarray.DataArray (endmember, band)
        The spectra that were looked up, with a coordinate ``wavelength (band)``.
    matches : sequence of Match
        What was found, see :func:`selfdict.scene.identify`.
    fig : matplotlib.figure.Figure, optional
        An empty figure; default: a new one.
    columns : int
        Number of charts in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    columns = min(columns, len(matches))
    rows = -(-len(matches) // columns)
    if fig is None:
        size = (3.6 * columns, 2.4 * rows)
        fig = optional("matplotlib.pyplot").figure(figsize=size, layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False).ravel()
    wavelength = endmembers["wavelength"].values.astype(float)
    gaps = band_gaps(wavelength)
    # matplotlib breaks a line at NaN.
    x = np.insert(wavelength, gaps, np.nan)
    for k, (ax, style) in enumerate(zip(axes, line_styles(len(axes)))):
        # The last row of charts may not be full.
        if k >= len(matches):
            ax.set_axis_off()
            continue
        match = matches[k]
        spectrum = np.insert(endmembers.values[k].astype(float), gaps, np.nan)
        curve = np.insert(match.curve, gaps, np.nan)
        ax.plot(x, spectrum, color=style.colour, linewidth=1.3)
        ax.plot(x, curve, color="black", linestyle=":", linewidth=1.1)
        verdict = match.material or "no match"
        title = f"{k + 1}: {verdict} ({match.nearest[0].name}, {match.angle:.1f}°)"
        # A name is data: dollar signs in it are no formula.
        ax.set_title(title, fontsize=8, parse_math=False)
        ax.set_xlabel("Wavelength (nm)", fontsize=8)
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    return fig
