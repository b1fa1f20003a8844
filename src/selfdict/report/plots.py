"""The figures of the report with matplotlib, for papers and notebooks.

Each function draws into ``ax`` (or ``fig`` for several maps), or into a new one of pyplot, and
returns it. Nothing is saved.
"""

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from selfdict._display import (
    ABUNDANCE_MAP,
    BRIGHTNESS_MAP,
    NO_DATA_RGB,
    RESIDUAL_MAP,
    UNCERTAINTY_MAP,
    class_colours,
    line_styles,
    table,
)
from selfdict._errors import InputError
from selfdict._imports import optional
from selfdict._validation import Array
from selfdict.report.charts import band_axis, band_gaps
from selfdict.report.pictures import MOST_PIXELS, Maps, colour_limit
from selfdict.report.words import abundance_word, material_names
from selfdict.scene.exports import dominant_materials
from selfdict.scene.facts import facts
from selfdict.scene.identification import Match
from selfdict.scene.result import UnmixResult


def plot_scene(result: UnmixResult, ax: Any = None) -> Any:
    """Draw the false-colour image with the pure pixels marked and numbered.

    Parameters
    ----------
    result : UnmixResult
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    """
    ax = _axes(ax)
    maps = Maps(result)
    # A copy, since ``moveaxis`` returns a view and the pixels without data are painted over.
    image = np.moveaxis(maps.false_colour()[0], 0, -1).copy()
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
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    """
    ax = _axes(ax)
    names = material_names(result)
    for k, style in enumerate(line_styles(len(names))):
        x, spectrum = _broken(result.endmembers, result.endmembers.values[k])
        look = {"color": style.colour, "linestyle": style.matplotlib_dash, "linewidth": 1.3}
        ax.plot(x, spectrum, **look, label=names[k])
        if result.spread is not None:
            _, spread = _broken(result.endmembers, result.spread.values[k])
            low = spectrum - spread
            ax.fill_between(x, low, spectrum + spread, color=style.colour, alpha=0.16, linewidth=0)
    ax.set_xlabel(band_axis(result.endmembers)[1])
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
    fig : matplotlib.figure.Figure, optional
        An empty figure; default: a new one.
    columns : int
        Number of maps in a row.
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
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
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
    name : {"residual", "brightness", "uncertainty"}
        The relative residual, the brightness beside spectra at their typical brightness, or the
        largest standard error among the abundances.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
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
    """
    fig, axes = _grid(fig, len(matches), columns, 3.6, 2.4)
    styles = line_styles(len(matches))
    for k, (ax, match) in enumerate(zip(axes, matches)):
        x, spectrum, nearest = _broken(endmembers, endmembers.values[k], match.curve)
        ax.plot(x, spectrum, color=styles[k].colour, linewidth=1.3)
        ax.plot(x, nearest, color="black", linestyle=":", linewidth=1.1)
        verdict = match.material or "no match"
        title = f"{k + 1}: {verdict} ({match.nearest[0].name}, {match.angle:.1f}°)"
        ax.set_title(title, fontsize=8, parse_math=False)
        ax.set_xlabel(band_axis(endmembers)[1], fontsize=8)
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    return fig


def notebook_view(result: UnmixResult) -> str:
    """Return the facts and the figure as HTML without scripts."""
    title = f"UnmixResult: {len(result.pixels)} materials"
    rows = {fact.name: fact.sentence for fact in facts(result)}
    return f"<div>{table(title, rows)}{_picture(result)}</div>"


def _picture(result: UnmixResult) -> str:
    """Return the figure as an image, or why there is none."""
    is_in_files = result.abundances.chunks is not None
    if is_in_files and result.residual.size > MOST_PIXELS:
        return "<div>The maps are in files, too large to show here.</div>"
    try:
        # No figure of pyplot, which would show it once more.
        figure = optional("matplotlib.figure").Figure()
    except ModuleNotFoundError as error:
        return f"<div>No figure: {error}</div>"
    content = base64.b64encode(_png(plot_result(result, figure), 72)).decode("ascii")
    return f'<img alt="Spectra and maps" src="data:image/png;base64,{content}">'


def plot_result(result: UnmixResult, fig: Any = None) -> Any:
    """Draw the spectra, a map per endmember, and the map of residuals."""
    n_maps = len(result.pixels) + 1
    n_rows = -(-n_maps // 5)
    n_columns = -(-n_maps // n_rows)  # rows that are about equally full
    if fig is None:
        fig = _shown_once()
    panel = 2.6  # inches
    fig.set_size_inches(max(n_columns, 3) * panel, (n_rows + 1) * panel)
    fig.set_layout_engine("constrained")
    grid = fig.add_gridspec(n_rows + 1, n_columns)
    plot_spectra(result, fig.add_subplot(grid[0, :]))
    axes = [fig.add_subplot(grid[1 + k // n_columns, k % n_columns]) for k in range(n_maps)]
    maps = Maps(result)
    images = draw_abundances(axes[:-1], result, maps)
    for k, style in enumerate(line_styles(len(images))):
        row, column = result.pixels[k] / maps.every
        axes[k].plot(column, row, "o", mfc="none", mec=style.colour)
        fig.colorbar(images[k], ax=axes[k], shrink=0.8)
    plot_map(result, "residual", axes[-1])
    axes[-1].set_title("residual", fontsize="small")
    return fig


def _shown_once() -> Any:
    """Return a new figure of pyplot that a notebook shows once.

    The inline backend shows all figures of pyplot at the end of a cell, and closes them. IPython
    itself shows the value of the last line.
    """
    pyplot = optional("matplotlib.pyplot")
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure that leaves pyplot when it is shown as the value of a cell."""

        def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
            # IPython calls this first: once shown, the inline backend must not show it again.
            if "inline" in pyplot.get_backend():
                pyplot.close(self)
            return {}

        def _repr_png_(self) -> bytes:
            # For notebooks whose backend registers no picture.
            return _png(self, "figure")

    return pyplot.figure(FigureClass=NotebookFigure)


def _png(figure: Any, dpi: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi)
    return stream.getvalue()


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


def _broken(endmembers: xr.DataArray, *spectra: Array) -> list[Array]:
    """Return the positions of the bands and spectra, with NaN at gaps: it breaks a line."""
    positions, _ = band_axis(endmembers)
    gaps = band_gaps(positions)
    return [np.insert(values.astype(np.float64), gaps, np.nan) for values in (positions, *spectra)]


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
