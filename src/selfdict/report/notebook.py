"""A result in a notebook: a table of facts and a figure, or the whole report."""

import base64
import html
import io
from typing import Any

from selfdict._colours import line_styles
from selfdict._display import table
from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict.report.page import render_report
from selfdict.report.pictures import MOST_PIXELS, Maps
from selfdict.report.plots import draw_abundances, plot_map, plot_spectra
from selfdict.scene.facts import facts
from selfdict.scene.result import UnmixResult


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
    plot_result(result, figure)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=72)
    content = base64.b64encode(stream.getvalue()).decode("ascii")
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
            stream = io.BytesIO()
            self.savefig(stream, format="png")
            return stream.getvalue()

    return pyplot.figure(FigureClass=NotebookFigure)


class Page:
    """The report of a result, which a notebook shows in a frame; ``str()`` is its HTML."""

    def __init__(self, result: UnmixResult) -> None:
        if result.scene is None:
            raise InputError("the result does not contain its scene: pass it to write_report")
        self._html = render_report(result, result.scene, title="Unmixing")

    def __str__(self) -> str:
        return self._html

    def _repr_html_(self) -> str:
        # In a frame of its own, without access to the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self._html)}" sandbox="allow-scripts" '
            'style="width:100%;height:50em;border:1px solid #ccc"></iframe>'
        )
