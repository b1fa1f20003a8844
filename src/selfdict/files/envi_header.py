"""The text of an ENVI header, parsed to fields and made from fields."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from selfdict._display import plain
from selfdict.files.cube import Array
from selfdict.files.errors import SceneError
from selfdict.files.plain_files import read_bytes


def read_header(path: Path) -> dict[str, str]:
    """Return the fields of a header: names in lower case, values without braces around them."""
    # Some editors of Windows put a byte order mark first.
    data = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
    if data[:4] != b"ENVI":
        raise SceneError(path, "is not an ENVI header: the first line is not ENVI")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        # Older software writes names in the code page of the system; Latin-1 decodes any bytes.
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return parse_fields(text)


def parse_fields(text: str) -> dict[str, str]:
    """Return the fields of a header's text: names in lower case, values without braces.

    A field is a name, ``=``, and a list in braces over several lines or the rest of the line. A
    brace that is not closed at the end of a line begins no list. Lines that begin with ``;`` are
    comments, also inside a list.

    Examples
    --------
    >>> from selfdict.files.envi_header import parse_fields
    >>> parse_fields("samples = 5" + chr(10) + "; a comment = 1" + chr(10) + "fwhm = {1, 2}")
    {'samples': '5', 'fwhm': '1, 2'}
    """
    lines = text.split("\n")
    text = "\n".join(line for line in lines if not line.lstrip(" \t").startswith(";"))
    fields = {}
    position = 0
    # The next closing brace, and whether it ends its line. It is searched once for all lists that
    # are opened before it: a search for each would take quadratic time if none of them closes.
    close = -1
    close_line_end = -1
    ends_line = False
    while position < len(text):
        line_end = _find(text, "\n", position)
        name, equals, value = text[position:line_end].partition("=")
        start = position + len(name) + 1
        position = line_end + 1
        if not equals or not name or any(mark in name for mark in "{};"):
            continue
        if value.lstrip(" \t").startswith("{"):
            if close < start:
                close = _find(text, "}", start)
                close_line_end = _find(text, "\n", close)
                ends_line = not text[close + 1 : close_line_end].strip(" \t")
            if close < len(text) and ends_line:
                value = text[start:close]
                position = close_line_end + 1
        key = " ".join(name.lower().split())
        fields[key] = value.strip().removeprefix("{").removesuffix("}").strip()
    return fields


def _find(text: str, mark: str, start: int) -> int:
    """Return the position of the next mark, or the length of the text if there is none."""
    position = text.find(mark, start)
    if position < 0:
        return len(text)
    return position


def integer_field(
    path: Path, fields: Mapping[str, str], name: str, *, minimum: int, default: int | None = None
) -> int:
    """Return a field that must be a whole number ≥ minimum."""
    text = fields.get(name)
    if text is None and default is not None:
        return default
    if text is None:
        raise SceneError(path, f"the header has no field '{name}'")
    # At most 18 digits, which fit into 64 bits.
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or int(text) < minimum:
        raise SceneError(
            path, f"'{name}' must be a whole number ≥ {minimum}, the header says {text[:40]!r}"
        )
    return int(text)


def number_field(path: Path, fields: Mapping[str, str], name: str) -> float | None:
    """Return a field that must be a number, or None if there is no such field."""
    if not fields.get(name):
        return None
    try:
        return float(fields[name])
    except ValueError:
        raise SceneError(
            path, f"'{name}' must be a number, the header says {fields[name][:40]!r}"
        ) from None


def list_field(fields: Mapping[str, str], name: str) -> list[str]:
    """Return the entries of a field that is a list; none if there is no such field."""
    entries = [" ".join(entry.split()) for entry in fields.get(name, "").split(",")]
    # A comma after the last entry, or no field.
    if not entries[-1]:
        entries.pop()
    return entries


def number_list(path: Path, fields: Mapping[str, str], name: str, n: int) -> Array | None:
    """Return a field that must be a list of n numbers, or None if there is no such field."""
    entries = list_field(fields, name)
    if not entries:
        return None
    if len(entries) != n:
        raise SceneError(path, f"'{name}' lists {len(entries)} values for {n} bands")
    try:
        return np.array([float(entry) for entry in entries])
    except ValueError:
        raise SceneError(path, f"'{name}' must be a list of numbers") from None


def format_header(fields: Mapping[str, object]) -> str:
    """Return the text of a header; an iterable becomes a list in braces.

    A header has no escape for commas, braces and line breaks in a name: they become ``;``, brackets
    and spaces. Other control characters become U+FFFD.

    Examples
    --------
    >>> print(format_header({"samples": 5, "band names": ["red, bright", "green"]}))
    ENVI
    samples = 5
    band names = {red; bright, green}
    <BLANKLINE>
    """
    lines = ["ENVI"]
    for name, value in fields.items():
        if isinstance(value, str | int | float):
            lines.append(f"{name} = {plain(value)}")
        elif isinstance(value, Iterable):
            lines.append(f"{name} = {{{', '.join(map(_entry, value))}}}")
    return "\n".join(lines) + "\n"


def _entry(value: object) -> str:
    if isinstance(value, str):
        return plain(" ".join(value.translate(str.maketrans(",{}", ";()")).split()))
    return repr(value)
