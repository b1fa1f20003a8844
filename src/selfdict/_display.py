"""How results are shown to people: numbers, lines, tables, text from files."""

import html
import math
import re
from collections.abc import Mapping

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
