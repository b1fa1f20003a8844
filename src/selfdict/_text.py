"""Text that comes from files, such as the names of bands and spectra, made safe to show."""

import re

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


def plain(text: object) -> str:
    """Return text in one line that is safe on a terminal, in a header and on a page.

    Each character that could move the cursor, recolour the terminal, begin a new line or reverse
    the order of writing becomes U+FFFD. All other text stays as it is.

    Examples
    --------
    >>> from selfdict._text import plain
    >>> plain("soil" + chr(27) + "[31m")
    'soil�[31m'
    """
    return _UNSAFE.sub("\ufffd", str(text))


def csv_cell(text: object) -> str:
    """Return text for a cell of a table that no spreadsheet takes for a formula.

    As :func:`plain`, and text that begins with ``=``, ``+``, ``-`` or ``@`` gets an apostrophe in
    front, unless it is a number.

    Examples
    --------
    >>> from selfdict._text import csv_cell
    >>> csv_cell("grass"), csv_cell("-0.5"), csv_cell("+1+1")
    ('grass', '-0.5', "'+1+1")
    """
    cell = plain(text)
    if _NUMBER.fullmatch(cell):
        return cell
    return _FORMULA.sub(r"\1\2'", cell)


def from_csv_cell(cell: str) -> str:
    """Return the text that :func:`csv_cell` made a cell of.

    Examples
    --------
    >>> from selfdict._text import csv_cell, from_csv_cell
    >>> from_csv_cell(csv_cell("=1+1;'-x"))
    "=1+1;'-x"
    """
    return _QUOTED_FORMULA.sub(r"\1\2", cell)
