"""Colours for colour-blind readers, the same in the report, in figures and in maps of classes."""

from dataclasses import dataclass

# Six colours of Okabe and Ito, then those that are farthest from all before them, seen by any of
# four kinds of eyes. None is grey or white, which stand for missing data.
PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7800FF", "#870F0F"),
    *("#692D5A", "#8769FF", "#E1C378", "#3C2DA5", "#F0004B", "#96D2A5", "#2D783C", "#8796FF"),
)
# Lengths of dashes and gaps in line widths. From the 17th line on the colours repeat with another
# dash pattern.
_DASHES: tuple[tuple[float, ...], ...] = ((), (6.0, 3.0), (1.5, 2.5), (8.0, 3.0, 1.5, 3.0))

# Names of matplotlib colour maps. All are perceptually uniform and stay readable in grey.
ABUNDANCE_MAP = "viridis"
RESIDUAL_MAP = "magma"
UNCERTAINTY_MAP = "cividis"
BRIGHTNESS_MAP = "inferno"
# Twelve evenly spaced colours of each: the page needs no matplotlib, which takes half a second.
RAMPS = {
    "viridis": (
        "440154 482173 433e85 38598c 2d708e 25858e 1e9b8a 2ab07f 50c46a 86d549 c2df23 fde725"
    ),
    "magma": (
        "000004 120d31 331067 5a167e 7e2482 a3307e c83e73 e95462 f97b5d fea973 fed395 fcfdbf"
    ),
    "cividis": (
        "00224e 013271 2f426d 49536c 5e636f 727374 878478 9d9576 b5a86f cebc63 e7d150 fee838"
    ),
    "inferno": (
        "000004 140b34 390963 61136e 85216b a92e5e cb4149 e65d2f f78212 fcae12 f5db4c fcffa4"
    ),
}
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
    """Return ``count`` line styles; the first 64 differ."""
    n_colours = len(PALETTE)
    styles = []
    for k in range(count):
        dash = _DASHES[k // n_colours % len(_DASHES)]
        styles.append(LineStyle(PALETTE[k % n_colours], dash))
    return styles


def class_colours(count: int) -> list[tuple[int, int, int]]:
    """Return colours (red, green, blue) for the classes of a map; the first 16 differ."""
    return [rgb_of(PALETTE[k % len(PALETTE)][1:]) for k in range(count)]


def rgb_of(text: str) -> tuple[int, int, int]:
    """Return the red, green and blue of a colour such as ``0072B2``."""
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)
