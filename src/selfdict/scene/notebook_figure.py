"""A figure of matplotlib that notebooks show, also if nobody has loaded pyplot.

Without pyplot a notebook knows no picture for a figure and prints its class. Only
:mod:`selfdict.scene.figure` imports this module, since matplotlib is optional.
"""

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure with the method that IPython asks for a picture."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()
