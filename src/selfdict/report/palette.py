"""Colours for colour-blind readers, used by the report and by the figures for papers."""

from dataclasses import dataclass

from selfdict._colours import PALETTE

# Lengths of dashes and gaps in line widths. From the eighth line on the colours repeat with another
# dash pattern.
_DASHES: tuple[tuple[float, ...], ...] = ((), (6.0, 3.0), (1.5, 2.5), (8.0, 3.0, 1.5, 3.0))

# Names of matplotlib colour maps. All are perceptually uniform and stay readable in grey.
ABUNDANCE_MAP = "viridis"
RESIDUAL_MAP = "magma"
UNCERTAINTY_MAP = "cividis"
BRIGHTNESS_MAP = "inferno"
# RGB of pixels without data: a light grey that neither colour map contains.
NO_DATA_RGB = (225, 225, 222)
# Colour of the weights of pixels that were not chosen: pale, so that the chosen ones stand out.
NOT_CHOSEN = "#b9c4c6"


@dataclass(frozen=True)
class LineStyle:
    """The colour (``#RRGGBB``) and dash pattern (empty: a solid line) of one spectrum."""

    colour: str
    dash: tuple[float, ...]

    @property
    def matplotlib_dash(self) -> str | tuple[int, tuple[float, ...]]:
        """The dash pattern as the ``linestyle`` of a matplotlib line."""
        if self.dash:
            return (0, self.dash)
        return "-"


def line_styles(count: int) -> list[LineStyle]:
    """Return ``count`` line styles; the first 28 are all different.

    Examples
    --------
    >>> from selfdict.report.palette import line_styles
    >>> [style.colour for style in line_styles(2)]
    ['#0072B2', '#D55E00']
    """
    n_colours = len(PALETTE)
    styles = []
    for k in range(count):
        dash = _DASHES[k // n_colours % len(_DASHES)]
        styles.append(LineStyle(PALETTE[k % n_colours], dash))
    return styles
