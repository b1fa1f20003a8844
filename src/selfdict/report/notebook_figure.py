"""A figure of pyplot that a notebook shows once, whether its cell ends with it or not.

The inline backend shows all figures of pyplot at the end of a cell, and closes them. IPython itself
shows the value of the last line. Only :mod:`selfdict.report.plots` imports this module, since
matplotlib is optional.
"""

import io
from typing import Any

from matplotlib import pyplot
from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that leaves pyplot when it is shown as the value of a cell."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """IPython calls this first: once shown, the inline backend must not show it again."""
        if "inline" in pyplot.get_backend():
            pyplot.close(self)
        return {}

    def _repr_png_(self) -> bytes:
        """Return a picture for notebooks whose backend registers none."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
