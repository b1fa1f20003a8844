"""The text of an ENVI header: fields out of it, and a header out of fields."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError

_MAX_BYTES = 32 * 2**20
_FIELD = re.compile(r"^([^={}\n;]+)=[ \t]*(\{[^}]*\}|[^{\n][^\n]*|)[ \t]*$", re.MULTILINE)


def read_header(path: Path) -> dict[str, str]:
    """Return the fields of a header, names in lower case, braces and line breaks taken off the values."""
    if path.stat().st_size > _MAX_BYTES:
        raise SceneError(path, f"is too large for a header: {path.stat().st_size} bytes")
    data = path.read_bytes()
    if data[:4] != b"ENVI":
        raise SceneError(path, "is not an ENVI header: the first line is not ENVI")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    fields = {}
    for name, value in _FIELD.findall(text):
        fields[" ".join(name.lower().split())] = (
            value.strip().removeprefix("{").removesuffix("}").strip()
        )
    return fields


def integer(
    path: Path, fields: Mapping[str, str], name: str, *, minimum: int, default: int | None = None
) -> int:
    """Return a field that must be a whole number ≥ minimum."""
    text = fields.get(name)
    if text is None and default is not None:
        return default
    if text is None:
        raise SceneError(path, f"the header has no field '{name}'")
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or int(text) < minimum:
        raise SceneError(
            path, f"'{name}' must be a whole number ≥ {minimum}, the header says {text[:40]!r}"
        )
    return int(text)


def number(path: Path, fields: Mapping[str, str], name: str) -> float | None:
    """Return a field that must be a number, or None where there is no such field."""
    if not fields.get(name):
        return None
    try:
        return float(fields[name])
    except ValueError:
        raise SceneError(
            path, f"'{name}' must be a number, the header says {fields[name][:40]!r}"
        ) from None


def words(fields: Mapping[str, str], name: str) -> list[str]:
    """Return a field that is a list, entry by entry; empty where there is no such field."""
    entries = [" ".join(entry.split()) for entry in fields.get(name, "").split(",")]
    if not entries[-1]:  # a comma after the last entry, or no field
        entries.pop()
    return entries


def numbers(path: Path, fields: Mapping[str, str], name: str, n: int) -> Array | None:
    """Return a field that must be a list of n numbers, or None where there is no such field."""
    entries = words(fields, name)
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

    A header has no escape for commas, braces and line breaks inside a name: they become ``;``,
    brackets and spaces.

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
            lines.append(f"{name} = {value}")
        elif isinstance(value, Iterable):
            lines.append(f"{name} = {{{', '.join(map(_entry, value))}}}")
    return "\n".join(lines) + "\n"


def _entry(value: object) -> str:
    if isinstance(value, str):
        return " ".join(value.translate(str.maketrans(",{}", ";()")).split())
    return repr(value)
