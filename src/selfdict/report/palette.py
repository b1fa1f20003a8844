"""Colours that colour-blind readers can tell apart, shared by the report and the plots for papers."""

from dataclasses import dataclass

# Okabe & Ito's palette without its yellow, which is too light for a thin line on white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
# Dashes and gaps in line widths: from the eighth line on, the colours come again with another dash.
_DASHES: tuple[tuple[float, ...], ...] = ((), (6.0, 3.0), (1.5, 2.5), (8.0, 3.0, 1.5, 3.0))

ABUNDANCE_MAP = "viridis"
RESIDUAL_MAP = "magma"
NO_DATA = (225, 225, 222)
"""The light grey of pixels without data, which neither colour map contains."""


@dataclass(frozen=True)
class LineStyle:
    """The colour (``#RRGGBB``) and dash pattern (empty: a solid line) of one spectrum."""

    colour: str
    dash: tuple[float, ...]


def line_styles(count: int) -> list[LineStyle]:
    """Return ``count`` line styles, the first 28 of them all different.

    Examples
    --------
    >>> from selfdict.report.palette import line_styles
    >>> [style.colour for style in line_styles(2)]
    ['#0072B2', '#D55E00']
    """
    n = len(_COLOURS)
    return [LineStyle(_COLOURS[k % n], _DASHES[k // n % len(_DASHES)]) for k in range(count)]
