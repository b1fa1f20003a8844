"""The result of unmixing as a figure of matplotlib."""

from typing import TYPE_CHECKING, Any

import numpy as np

from selfdict._colours import class_colours
from selfdict._optional import optional
from selfdict._validation import Array
from selfdict.scene.notebook import band_positions

if TYPE_CHECKING:
    from selfdict.scene.result import UnmixResult

_MOST_MAPS_PER_ROW = 5
_PANEL = 2.6  # inches
_RESIDUAL_QUANTILE = 0.99  # colours end here, since a few damaged pixels would darken all others


def plot_result(result: "UnmixResult", figure: Any = None) -> Any:
    """Draw the spectra, a map per endmember, and the map of residuals.

    Parameters
    ----------
    result : UnmixResult
    figure : matplotlib.figure.Figure, optional
        An empty figure to draw into; its size is changed. By default a new one.

    Returns
    -------
    matplotlib.figure.Figure
    """
    n_maps = len(result.pixels) + 1
    colours = np.array(class_colours(n_maps)) / 255
    n_rows = -(-n_maps // _MOST_MAPS_PER_ROW)
    n_columns = -(-n_maps // n_rows)  # rows that are about equally full
    if figure is None:
        figure = _new_figure()
    figure.set_size_inches(max(n_columns, 3) * _PANEL, (n_rows + 1) * _PANEL)
    figure.set_layout_engine("constrained")
    grid = figure.add_gridspec(n_rows + 1, n_columns)
    _draw_spectra(figure.add_subplot(grid[0, :]), result, colours)
    largest = max(1.0, float(np.nanmax(result.abundances.values, initial=0.0)))
    for k, label in enumerate(result.labels):
        axes = figure.add_subplot(grid[1 + k // n_columns, k % n_columns])
        image = axes.imshow(result.abundances.values[k], cmap="viridis", vmin=0, vmax=largest)
        row, column = result.pixels[k]
        axes.plot(column, row, "o", mfc="none", mec=colours[k])
        _finish_map(figure, axes, image, label)
    last = n_maps - 1
    axes = figure.add_subplot(grid[1 + last // n_columns, last % n_columns])
    residual = result.residual.values
    brightest = np.nanquantile(residual, _RESIDUAL_QUANTILE)
    image = axes.imshow(residual, cmap="magma", vmin=0, vmax=brightest)
    _finish_map(figure, axes, image, "residual", extend="max")
    return figure


def _new_figure() -> Any:
    """Return a figure of pyplot, which notebooks and ``plt.show()`` show."""
    pyplot = optional("matplotlib.pyplot")
    from selfdict.scene.notebook_figure import NotebookFigure

    return pyplot.figure(FigureClass=NotebookFigure)


def _draw_spectra(axes: Any, result: "UnmixResult", colours: Array) -> None:
    x, unit = band_positions(result.endmembers)
    for k, label in enumerate(result.labels):
        spectrum = result.endmembers.values[k]
        axes.plot(x, spectrum, color=colours[k], label=label)
        if result.spread is not None:
            spread = result.spread.values[k]
            axes.fill_between(x, spectrum - spread, spectrum + spread, color=colours[k], alpha=0.2)
    axes.set_xlabel({"nm": "wavelength (nm)", "band": "band"}[unit])
    axes.legend(fontsize="small", ncols=2)


def _finish_map(figure: Any, axes: Any, image: Any, title: str, extend: str = "neither") -> None:
    axes.set_title(title, fontsize="small")
    axes.set_axis_off()
    figure.colorbar(image, ax=axes, shrink=0.7, extend=extend)
