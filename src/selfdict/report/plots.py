"""The figures of the report as matplotlib figures for papers.

Each function draws into ``ax`` (or ``fig`` for several maps), or a new one if none is given, and
returns it. Nothing is shown or saved.
"""

from typing import Any

import numpy as np

from selfdict._colours import class_colours
from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.report.data import ReportData
from selfdict.report.images import colour_limit
from selfdict.report.materials import dominant_classes
from selfdict.report.palette import (
    ABUNDANCE_MAP,
    NO_DATA_RGB,
    NOT_CHOSEN,
    RESIDUAL_MAP,
    UNCERTAINTY_MAP,
    line_styles,
)
from selfdict.report.weights import weight_elsewhere


def plot_scene(data: ReportData, ax: Any = None) -> Any:
    """Draw the false-colour image with the pure pixels marked and numbered.

    Parameters
    ----------
    data : ReportData
        What to draw, see :func:`selfdict.report.report_data`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    # A copy, since ``moveaxis`` returns a view and the pixels without data are painted over.
    image = np.moveaxis(data.false_colour, 0, -1).copy()
    image[~data.mask] = np.array(NO_DATA_RGB) / 255
    ax.imshow(image, interpolation="nearest")
    effects = optional("matplotlib.patheffects")
    # A white outline keeps marks and numbers readable on any colour of the image.
    halo = [effects.withStroke(linewidth=2.5, foreground="white")]
    # The image has every n-th pixel only.
    positions = data.pixels / data.every
    for k, style in enumerate(line_styles(len(positions))):
        row, column = positions[k]
        ax.plot(
            column, row, "o", markersize=6, mfc="none", mec=style.colour, mew=1.5, path_effects=halo
        )
        ax.annotate(
            str(k + 1),
            (column, row),
            (5, 5),
            textcoords="offset points",
            fontweight="bold",
            path_effects=halo,
        )
    return _without_ticks(ax)


def plot_spectra(data: ReportData, ax: Any = None) -> Any:
    """Draw the spectra of the materials and their spread, broken where bands are missing.

    Parameters
    ----------
    data : ReportData
        What to draw, see :func:`selfdict.report.report_data`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    x = data.band_positions
    gaps = band_gaps(x)
    for k, style in enumerate(line_styles(len(data.pixels))):
        # matplotlib breaks a line at NaN.
        positions = np.insert(x.astype(float), gaps, np.nan)
        spectrum = np.insert(data.endmembers[:, k].astype(float), gaps, np.nan)
        ax.plot(
            positions,
            spectrum,
            color=style.colour,
            linestyle=style.matplotlib_dash,
            linewidth=1.3,
            label=data.material(k),
        )
        if data.spread is not None:
            spread = np.insert(data.spread[:, k].astype(float), gaps, np.nan)
            ax.fill_between(
                positions,
                spectrum - spread,
                spectrum + spread,
                color=style.colour,
                alpha=0.16,
                linewidth=0,
            )
    ax.set_xlabel(data.axis_label)
    ax.margins(x=0.01)
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_abundances(data: ReportData, fig: Any = None, columns: int = 3) -> Any:
    """Draw the abundance maps on one colour scale.

    Parameters
    ----------
    data : ReportData
        What to draw, see :func:`selfdict.report.report_data`.
    fig : matplotlib.figure.Figure, optional
        An empty figure; default: a new one.
    columns : int
        Number of maps in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    r = len(data.abundances)
    columns = min(columns, r)
    rows = -(-r // columns)
    if fig is None:
        # The height of a map follows from its shape; 0.3 inches are for the title.
        aspect = data.mask.shape[0] / data.mask.shape[1]
        size = (2.2 * columns + 0.6, (2.2 * aspect + 0.3) * rows)
        fig = optional("matplotlib.pyplot").figure(figsize=size, layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False).ravel()
    # One scale for all maps, so that they can be compared; at least to 1, a pure pixel.
    top = colour_limit(data.abundances, data.mask, at_least=1.0)
    for k, ax in enumerate(axes):
        # The last row of maps may not be full.
        if k >= r:
            ax.set_axis_off()
            continue
        image = _map(ax, data.abundances[k], data.mask, top, ABUNDANCE_MAP)
        ax.set_title(data.material(k), fontsize="small")
    label = "coefficient"
    if data.sums_to_one:
        label = "share"
    fig.colorbar(image, ax=list(axes), label=label, shrink=0.8)
    return fig


def plot_uncertainty(data: ReportData, ax: Any = None) -> Any:
    """Draw the largest standard error among the abundances of every pixel.

    Parameters
    ----------
    data : ReportData
        What to draw, see :func:`selfdict.report.report_data`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if data.uncertainty is None:
        raise InputError("there are no standard errors: the scene was unmixed without them")
    ax = _axes(ax)
    # The maximum of the materials that have one.
    largest = np.fmax.reduce(data.uncertainty, axis=0)
    known = data.mask & np.isfinite(largest)
    top = 1.0
    if known.any():
        top = colour_limit(largest[None], known)
    image = _map(ax, largest, known, top, UNCERTAINTY_MAP)
    ax.figure.colorbar(image, ax=ax, label="largest standard error", shrink=0.8)
    return ax


def plot_dominant(data: ReportData, ax: Any = None) -> Any:
    """Draw the material that every pixel holds most of, with a legend.

    Parameters
    ----------
    data : ReportData
        What to draw, see :func:`selfdict.report.report_data`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    classes, _ = dominant_classes(data)
    colours = class_colours(len(data.abundances))
    palette = np.array([NO_DATA_RGB, *colours], dtype=np.uint8)
    ax.imshow(palette[classes], interpolation="nearest")
    patches = optional("matplotlib.patches")
    handles = []
    for k, colour in enumerate(colours):
        handles.append(patches.Patch(color=np.array(colour) / 255, label=data.material(k)))
    ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    return _without_ticks(ax)


def plot_residual(data: ReportData, ax: Any = None) -> Any:
    """Draw the relative residual of every pixel.

    Parameters
    ----------
    data : ReportData
        What to draw, see :func:`selfdict.report.report_data`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    top = colour_limit(data.residual[None], data.mask)
    image = _map(ax, data.residual, data.mask, top, RESIDUAL_MAP)
    ax.figure.colorbar(image, ax=ax, label="relative residual", shrink=0.8)
    return ax


def plot_weights(data: ReportData, ax: Any = None, limit: int = 40) -> Any:
    """Draw the weights on the diagonal of X: those of the groups, or of the pure pixels, in colour.

    The weight outside all groups is drawn as one grey bar. Without groups, the pixels that were not
    chosen are drawn in grey, one by one.

    Parameters
    ----------
    data : ReportData
        What to draw, see :func:`selfdict.report.report_data`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    limit : int
        Largest number of pixels shown in grey, which were not chosen, in descending order.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    r = len(data.weights)
    heights = data.weights
    others = data.other_weights[:limit]
    if data.group_weights is not None:
        heights = data.group_weights
        others = np.array([weight_elsewhere(data)])
    ax.bar(np.arange(r), heights, color=[style.colour for style in line_styles(r)])
    # One bar's width stays empty between the two groups.
    ax.bar(r + 1 + np.arange(len(others)), others, color=NOT_CHOSEN)
    ax.set_xticks(np.arange(r), [str(k + 1) for k in range(r)])
    ax.set_ylabel("weight (diagonal of X)")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _axes(ax: Any) -> Any:
    """Return ``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    return optional("matplotlib.pyplot").subplots(layout="constrained")[1]


def band_gaps(x: Array) -> Array:
    """Return the bands before which a spectrum is broken, by the rule of ``charts.svg_path``."""
    if len(x) < 2:
        return np.empty(0, dtype=int)
    steps = np.abs(np.diff(x))
    return np.flatnonzero(steps > 5 * np.median(steps)) + 1


def _map(ax: Any, values: Array, mask: Array, top: float, colours: str) -> Any:
    shades = (
        optional("matplotlib").colormaps[colours].with_extremes(bad=np.array(NO_DATA_RGB) / 255)
    )
    image = ax.imshow(
        np.ma.array(values, mask=~mask), cmap=shades, vmin=0, vmax=top, interpolation="nearest"
    )
    _without_ticks(ax)
    return image


def _without_ticks(ax: Any) -> Any:
    ax.set_xticks([])
    ax.set_yticks([])
    return ax
