"""How results are shown to people: numbers, lines, tables, text from files, colours."""

import html
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Control characters, line separators, marks that change the direction of writing, and surrogates,
# which stand for bytes that are no UTF-8.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# A spreadsheet takes a cell that begins so for a formula. In many countries it splits lines at
# semicolons, too, even in a table with commas.
_FORMULA_START = r"'*[=+@\-\uff0b\uff0d\uff1d\uff20]"
_FORMULA = re.compile(rf"(^|;)(\s*)(?={_FORMULA_START})")
_QUOTED_FORMULA = re.compile(rf"(^|;)(\s*)'(?={_FORMULA_START})")

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


def percent(share: float | None) -> str:
    """Return a share as a percentage of three digits."""
    if share is None or not math.isfinite(share):
        return "not known"
    value = 100 * share
    if 0 < value < 0.001:
        return "less than 0.001 %"
    if value >= 100:
        return f"{value:,.0f} %"
    return f"{value:.3g} %"


def number(value: float) -> str:
    """Return a number of six digits."""
    if not math.isfinite(value):
        return "not known"
    return f"{value:.6g}"


def shortened(items: list[str], most: int = 8) -> str:
    """Return a list in words, without what is in its middle if it is long."""
    if len(items) > most:
        items = [*items[: most - 1], "…", items[-1]]
    return ", ".join(items)


def listed(items: Sequence[str]) -> str:
    """Return all items of a list in words, such as ``a, b and c``."""
    *first, last = items
    if not first:
        return last
    return f"{', '.join(first)} and {last}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as ``1 pixel`` or ``1,200 pixels``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural or noun + 's'}"


def line(title: str, facts: Mapping[str, str]) -> str:
    """Return facts as one line, such as ``Solution(objective 0.1; certified gap 0.05 %)``."""
    parts = [f"{name} {value}".strip() for name, value in facts.items()]
    return f"{title}({'; '.join(parts)})"


def table(title: str, facts: Mapping[str, str]) -> str:
    """Return facts as an HTML table; the text is data, never markup."""
    cell = "text-align:left;vertical-align:top;padding:1px 12px 1px 0"
    rows = []
    for name, value in facts.items():
        rows.append(
            f'<tr><th style="{cell};font-weight:normal;opacity:.7">{html.escape(name)}</th>'
            f'<td style="{cell}">{html.escape(value)}</td></tr>'
        )
    return f"<div><b>{html.escape(title)}</b><table>{''.join(rows)}</table></div>"


def at_most(part: float) -> str:
    """Write an upper bound in percent, rounded up."""
    if not math.isfinite(part):
        return "not known"
    value = max(100 * part, 0.001)
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    # A value that is a round number but for the last digit is not rounded.
    return _percent(math.ceil(value / step - 1e-9) * step)


def at_least(part: float) -> str:
    """Write a lower bound in percent, rounded down."""
    # Beyond this a number says no more than that it is large.
    value = min(100 * part, 10_000.0)
    if value < 0.01:
        return "0 %"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return _percent(math.floor(value / step + 1e-9) * step)


def _percent(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f} %"
    return f"{value:.4g} %"


def plain(text: object) -> str:
    """Return text in one line that is safe on a terminal, in a header and on a page."""
    # Characters that could move the cursor, recolour the terminal, begin a new line or reverse the
    # order of writing become U+FFFD.
    return _UNSAFE.sub("\ufffd", str(text))


def csv_cell(text: object) -> str:
    """Return text for a cell of a table that no spreadsheet takes for a formula."""
    cell = plain(text)
    if _NUMBER.fullmatch(cell):
        return cell
    return _FORMULA.sub(r"\1\2'", cell)


def from_csv_cell(cell: str) -> str:
    """Return the text that :func:`csv_cell` made a cell of."""
    return _QUOTED_FORMULA.sub(r"\1\2", cell)


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
