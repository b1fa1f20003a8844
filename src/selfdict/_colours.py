"""Colours for colour-blind readers, the same in the report, in figures and in maps of classes."""

from dataclasses import dataclass

# Okabe and Ito's palette without its yellow, which is too light for a thin line on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
# Lengths of dashes and gaps in line widths. From the eighth line on the colours repeat with another
# dash pattern.
_DASHES: tuple[tuple[float, ...], ...] = ((), (6.0, 3.0), (1.5, 2.5), (8.0, 3.0, 1.5, 3.0))

# Names of matplotlib colour maps. All are perceptually uniform and stay readable in grey.
ABUNDANCE_MAP = "viridis"
RESIDUAL_MAP = "magma"
UNCERTAINTY_MAP = "cividis"
BRIGHTNESS_MAP = "inferno"
# RGB of pixels without data: a light grey that no colour map contains.
NO_DATA_RGB = (225, 225, 222)


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
    """Return ``count`` line styles; the first 28 differ."""
    n_colours = len(PALETTE)
    styles = []
    for k in range(count):
        dash = _DASHES[k // n_colours % len(_DASHES)]
        styles.append(LineStyle(PALETTE[k % n_colours], dash))
    return styles


def class_colours(count: int) -> list[tuple[int, int, int]]:
    """Return colours (red, green, blue) for the classes of a map; the first 21 differ."""
    # After the palette come lighter and then darker variants of its colours.
    colours = []
    for k in range(count):
        text = PALETTE[k % len(PALETTE)]
        rgb = [int(text[start : start + 2], 16) for start in (1, 3, 5)]
        cycle = k // len(PALETTE) % 3
        if cycle == 1:
            rgb = [(value + 255) // 2 for value in rgb]
        elif cycle == 2:
            rgb = [value // 2 for value in rgb]
        colours.append((rgb[0], rgb[1], rgb[2]))
    return colours
