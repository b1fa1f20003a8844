"""A result in a notebook: a table of facts and a figure, or the whole report."""

import base64
import html
import io
from typing import TYPE_CHECKING

from selfdict._display import table
from selfdict._errors import InputError
from selfdict._optional import optional
from selfdict.report.page import render_report
from selfdict.report.pictures import MOST_PIXELS
from selfdict.report.plots import plot_result
from selfdict.scene.result import facts

# For annotations only.
if TYPE_CHECKING:
    from selfdict.scene import UnmixResult


def notebook_view(result: "UnmixResult") -> str:
    """Return the facts and the figure as HTML without scripts."""
    title = f"UnmixResult: {len(result.pixels)} materials"
    return f"<div>{table(title, facts(result))}{_picture(result)}</div>"


def _picture(result: "UnmixResult") -> str:
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


class Page:
    """The report of a result, which a notebook shows in a frame; ``str()`` is its HTML."""

    def __init__(self, result: "UnmixResult") -> None:
        if result.scene is None:
            raise InputError("the result does not know its scene: use write_report with the scene")
        self._html = render_report(result, result.scene, title="Unmixing")

    def __str__(self) -> str:
        return self._html

    def _repr_html_(self) -> str:
        # In a frame of its own, without access to the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self._html)}" sandbox="allow-scripts" '
            'style="width:100%;height:50em;border:1px solid #ccc"></iframe>'
        )
