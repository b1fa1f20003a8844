"""A result in a notebook: a table of facts and the figure of ``result.plot()``."""

import base64
import io
from typing import TYPE_CHECKING

from selfdict._display import table
from selfdict._optional import optional
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
