"""How results show themselves: a line in a terminal, a small table in a notebook."""

import html
import math
from collections.abc import Mapping


def percent(share: float | None) -> str:
    """Return a share as a percentage of three digits.

    Examples
    --------
    >>> percent(0.012345), percent(1.0), percent(float("inf"))
    ('1.23 %', '100 %', 'not known')
    """
    if share is None or not math.isfinite(share):
        return "not known"
    return f"{100 * share:.3g} %"


def number(value: float) -> str:
    """Return a number of six digits.

    Examples
    --------
    >>> number(0.1234567), number(float("nan"))
    ('0.123457', 'not known')
    """
    if not math.isfinite(value):
        return "not known"
    return f"{value:.6g}"


def shortened(items: list[str], most: int = 8) -> str:
    """Return a list in words, without what is in its middle if it is long.

    Examples
    --------
    >>> shortened([str(k) for k in range(5)], most=3)
    '0, 1, …, 4'
    """
    if len(items) > most:
        items = [*items[: most - 1], "…", items[-1]]
    return ", ".join(items)


def line(title: str, facts: Mapping[str, str]) -> str:
    """Return facts as one line, such as ``Solution(objective 0.1; certified gap 0.05 %)``.

    Examples
    --------
    >>> line("Solution", {"objective": "0.1", "": "converged"})
    'Solution(objective 0.1; converged)'
    """
    parts = [f"{name} {value}".strip() for name, value in facts.items()]
    return f"{title}({'; '.join(parts)})"


def table(title: str, facts: Mapping[str, str]) -> str:
    """Return facts as an HTML table; the text is data, never markup.

    Examples
    --------
    >>> "&lt;i&gt;" in table("Title", {"name": "<i>"})
    True
    """
    cell = "text-align:left;vertical-align:top;padding:1px 12px 1px 0"
    rows = []
    for name, value in facts.items():
        rows.append(
            f'<tr><th style="{cell};font-weight:normal;opacity:.7">{html.escape(name)}</th>'
            f'<td style="{cell}">{html.escape(value)}</td></tr>'
        )
    return f"<div><b>{html.escape(title)}</b><table>{''.join(rows)}</table></div>"
