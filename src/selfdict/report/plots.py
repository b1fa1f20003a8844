"""The figures of the report with matplotlib, for papers and notebooks.

Each function draws into ``ax`` (or ``fig`` for several maps), or into a new one of pyplot, and
returns it. Nothing is saved.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from selfdict._colours import (
    ABUNDANCE_MAP,
    BRIGHTNESS_MAP,
    NO_DATA_RGB,
    RESIDUAL_MAP,
    UNCERTAINTY_MAP,
    class_colours,
    line_styles,
)
from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.report.charts import band_axis, band_gaps
from selfdict.report.pictures import Maps, colour_limit
from selfdict.report.words import abundance_word, material_names
from selfdict.scene.exports import dominant_materials
from selfdict.scene.identification import Match
from selfdict.scene.result import UnmixResult


def plot_scene(result: UnmixResult, scene: xr.DataArray, ax: Any = None) -> Any:
    """Draw the false-colour image with the pure pixels marked and numbered.

    Parameters
    ----------
    result : UnmixResult
        What was found.
    scene : xarray.DataArray (band, y, x)
        The scene that was unmixed; three of its bands are read.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    maps = Maps(result)
    # A copy, since ``moveaxis`` returns a view and the pixels without data are painted over.
    image = np.moveaxis(maps.false_colour(scene)[0], 0, -1).copy()
    image[~maps.valid] = np.array(NO_DATA_RGB) / 255
    ax.imshow(image, interpolation="nearest")
    effects = optional("matplotlib.patheffects")
    # A white outline keeps marks and numbers readable on any colour of the image.
    halo = [effects.withStroke(linewidth=2.5, foreground="white")]
    for k, style in enumerate(line_styles(len(result.pixels))):
        row, column = result.pixels[k] / maps.every
        ax.plot(column, row, "o", mfc="none", mec=style.colour, mew=1.5, path_effects=halo)
        number = ax.annotate(str(k + 1), (column, row), (5, 5), textcoords="offset points")
        number.set(fontweight="bold", path_effects=halo)
    return _without_ticks(ax)


def plot_spectra(result: UnmixResult, ax: Any = None) -> Any:
    """Draw the spectra of the materials and their spread, broken where bands are missing.

    Parameters
    ----------
    result : UnmixResult
        What was found.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    positions, label = band_axis(result.endmembers)
    names = material_names(result)
    x = _broken(positions, positions)
    for k, style in enumerate(line_styles(len(names))):
        spectrum = _broken(result.endmembers.values[k], positions)
        (line,) = ax.plot(x, spectrum, color=style.colour, linewidth=1.3, label=names[k])
        line.set_linestyle(style.matplotlib_dash)
        if result.spread is not None:
            spread = _broken(result.spread.values[k], positions)
            low = spectrum - spread
            ax.fill_between(x, low, spectrum + spread, color=style.colour, alpha=0.16, linewidth=0)
    ax.set_xlabel(label)
    ax.margins(x=0.01)
    legend = ax.legend(frameon=False, fontsize="small")
    _without_formulas(legend.get_texts())
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_abundances(result: UnmixResult, fig: Any = None, columns: int = 3) -> Any:
    """Draw the abundance maps on one colour scale.

    Parameters
    ----------
    result : UnmixResult
        What was found.
    fig : matplotlib.figure.Figure, optional
        An empty figure; default: a new one.
    columns : int
        Number of maps in a row.

    Returns
    -------
    matplotlib.figure.Figure
    """
    maps = Maps(result)
    # The height of a map follows from its shape; 0.3 inches are for the title.
    aspect = maps.valid.shape[0] / maps.valid.shape[1]
    fig, axes = _grid(fig, len(result.pixels), columns, 2.2, 2.2 * aspect + 0.3)
    images = draw_abundances(axes, result, maps)
    fig.colorbar(images[0], ax=axes, label=abundance_word(result), shrink=0.8)
    return fig


def draw_abundances(axes: Sequence[Any], result: UnmixResult, maps: Maps) -> list[Any]:
    """Draw a map into each of the axes, and return the images."""
    # One scale for all maps, so that they can be compared; at least to 1, a pure pixel.
    top = colour_limit(maps.abundances, maps.valid, at_least=1.0)
    images = []
    for k, name in enumerate(material_names(result)):
        images.append(_map(axes[k], maps.abundances[k], maps.valid, top, ABUNDANCE_MAP))
        axes[k].set_title(name, fontsize="small", parse_math=False)
    return images


def plot_dominant(result: UnmixResult, ax: Any = None) -> Any:
    """Draw the material that every pixel holds most of, with a legend.

    Parameters
    ----------
    result : UnmixResult
        What was found.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = _axes(ax)
    names = material_names(result)
    colours = class_colours(len(names))
    palette = np.array([NO_DATA_RGB, *colours], dtype=np.uint8)
    ax.imshow(palette[dominant_materials(Maps(result).abundances)], interpolation="nearest")
    patches = optional("matplotlib.patches")
    keys = [patches.Patch(color=np.array(colour) / 255) for colour in colours]
    legend = ax.legend(keys, names, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    _without_formulas(legend.get_texts())
    return _without_ticks(ax)


def plot_map(result: UnmixResult, name: str = "residual", ax: Any = None) -> Any:
    """Draw a map that has one number per pixel.

    Parameters
    ----------
    result : UnmixResult
        What was found.
    name : {"residual", "brightness", "uncertainty"}
        The relative residual, the brightness beside spectra at their typical brightness, or the
        largest standard error among the abundances.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    maps = Maps(result)
    shown = {
        "residual": (maps.of("residual"), RESIDUAL_MAP, "relative residual"),
        "brightness": (maps.of("brightness"), BRIGHTNESS_MAP, "brightness"),
        "uncertainty": (maps.largest_error, UNCERTAINTY_MAP, "largest standard error"),
    }
    if name not in shown:
        raise InputError(f"name must be one of {', '.join(shown)}; got {name!r}")
    values, colours, label = shown[name]
    if values is None:
        raise InputError(f"the result has no map of {name}")
    known = maps.valid & np.isfinite(values)
    ax = _axes(ax)
    image = _map(ax, values, known, colour_limit(values, known), colours)
    # The few largest values are above the scale.
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8, extend="max")
    return ax


def plot_matches(
    endmembers: xr.DataArray, matches: Sequence[Match], fig: Any = None, columns: int = 3
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
    fig, axes = _grid(fig, len(matches), columns, 3.6, 2.4)
    positions, label = band_axis(endmembers)
    x = _broken(positions, positions)
    for k, style in enumerate(line_styles(len(matches))):
        match = matches[k]
        ax = axes[k]
        spectrum = _broken(endmembers.values[k], positions)
        ax.plot(x, spectrum, color=style.colour, linewidth=1.3)
        ax.plot(x, _broken(match.curve, positions), color="black", linestyle=":", linewidth=1.1)
        verdict = match.material or "no match"
        title = f"{k + 1}: {verdict} ({match.nearest[0].name}, {match.angle:.1f}°)"
        ax.set_title(title, fontsize=8, parse_math=False)
        ax.set_xlabel(label, fontsize=8)
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    return fig


def _axes(ax: Any) -> Any:
    """Return ``ax``, or the axes of a new figure."""
    if ax is not None:
        return ax
    return optional("matplotlib.pyplot").subplots(layout="constrained")[1]


def _grid(fig: Any, count: int, columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """Return a figure and ``count`` axes in it, each of this size in inches."""
    columns = min(columns, count)
    rows = -(-count // columns)
    if fig is None:
        # 0.6 inches are for the colour bar.
        size = (width * columns + 0.6, height * rows)
        fig = optional("matplotlib.pyplot").figure(figsize=size, layout="constrained")
    axes = list(fig.subplots(rows, columns, squeeze=False).ravel())
    # The last row may not be full.
    for ax in axes[count:]:
        ax.remove()
    return fig, axes[:count]


def _broken(values: Array, positions: Array) -> Array:
    """Return a spectrum with NaN at gaps between the bands, where matplotlib breaks the line."""
    return np.insert(values.astype(np.float64), band_gaps(positions), np.nan)


def _map(ax: Any, values: Array, known: Array, top: float, colours: str) -> Any:
    grey = np.array(NO_DATA_RGB) / 255
    shades = optional("matplotlib").colormaps[colours].with_extremes(bad=grey)
    masked = np.ma.array(values, mask=~known)
    image = ax.imshow(masked, cmap=shades, vmin=0, vmax=top, interpolation="nearest")
    _without_ticks(ax)
    return image


def _without_ticks(ax: Any) -> Any:
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _without_formulas(texts: Sequence[Any]) -> None:
    """Show names as they are: a dollar sign in one is no formula."""
    for text in texts:
        text.set_parse_math(False)
