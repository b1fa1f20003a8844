"""ENVI: a text header and a plain binary file."""

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from selfdict._display import plain
from selfdict._errors import SceneError
from selfdict.files.cube import Array, StoredCube, parse_floats, whole_nodata
from selfdict.files.formats import ENVI_SUFFIXES, files_in, header_names, is_plain_file, read_bytes
from selfdict.files.grid import add_map
from selfdict.files.wavelengths import describe_bands

# Dtypes by the numbers of the field 'data type'.
DTYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
# The order of the axes in the file, as positions in (band, y, x).
AXES = {"bsq": (0, 1, 2), "bil": (1, 0, 2), "bip": (1, 2, 0)}
# A name, "=", and a list in braces over several lines or the rest of the line. A brace that is not
# closed at the end of a line begins no list.
_FIELD = re.compile(r"^([^=\n{};]+)=[ \t]*(\{[^}]*\}(?=[ \t]*$)|.*)", re.MULTILINE)


class Header:
    """A header: its fields by their names in lower case, values without braces around them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Some editors of Windows put a byte order mark first.
        data = read_bytes(path).removeprefix(b"\xef\xbb\xbf")
        if data[:4] != b"ENVI":
            raise SceneError(path, "is not an ENVI header: the first line is not ENVI")
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            # Older software writes names in the code page of the system; Latin-1 decodes any bytes.
            text = data.decode("latin-1")
        self.fields = parse_fields(text.replace("\r\n", "\n").replace("\r", "\n"))

    def integer(self, name: str, minimum: int, default: int | None = None) -> int:
        """Return a field that must be a whole number ≥ minimum."""
        text = self.fields.get(name)
        if text is None and default is not None:
            return default
        if text is None:
            raise SceneError(self.path, f"the header has no field '{name}'")
        # At most 18 digits, which fit into 64 bits.
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or int(text) < minimum:
            raise SceneError(
                self.path,
                f"'{name}' must be a whole number ≥ {minimum}, the header says {text[:40]!r}",
            )
        return int(text)

    def shape(self) -> tuple[int, int, int]:
        """Return bands, lines and samples."""
        return self.integer("bands", 1), self.integer("lines", 1), self.integer("samples", 1)

    def number(self, name: str) -> float | None:
        """Return a field that must be a number, or None if there is no such field."""
        text = self.fields.get(name)
        if not text:
            return None
        values = parse_floats([text])
        if values is None:
            raise SceneError(self.path, f"'{name}' must be a number, the header says {text[:40]!r}")
        return float(values[0])

    def entries(self, name: str) -> list[str]:
        """Return the entries of a field that is a list; none if there is no such field."""
        entries = [" ".join(entry.split()) for entry in self.fields.get(name, "").split(",")]
        # A comma after the last entry, or no field.
        if not entries[-1]:
            entries.pop()
        return entries

    def numbers(self, name: str, n: int) -> Array | None:
        """Return a field that must be a list of n numbers, or None if there is no such field."""
        entries = self.entries(name)
        if not entries:
            return None
        if len(entries) != n:
            raise SceneError(self.path, f"'{name}' lists {len(entries)} values for {n} bands")
        values = parse_floats(entries)
        if values is None:
            raise SceneError(self.path, f"'{name}' must be a list of numbers")
        return values


def parse_fields(text: str) -> dict[str, str]:
    """Return the fields of a header's text; lines that begin with ``;`` are comments."""
    lines = text.split("\n")
    text = "\n".join(line for line in lines if not line.lstrip(" \t").startswith(";"))
    fields = {}
    for name, value in _FIELD.findall(text):
        key = " ".join(name.lower().split())
        fields[key] = value.strip().removeprefix("{").removesuffix("}").strip()
    return fields


def format_header(fields: Mapping[str, object]) -> str:
    """Return the text of a header; an iterable becomes a list in braces."""
    lines = ["ENVI"]
    for name, value in fields.items():
        if isinstance(value, str | int | float):
            lines.append(f"{name} = {plain(value)}")
        elif isinstance(value, Iterable):
            lines.append(f"{name} = {{{', '.join(map(_entry, value))}}}")
    return "\n".join(lines) + "\n"


def _entry(value: object) -> str:
    # A header has no escape for commas and braces.
    if isinstance(value, str):
        return plain(" ".join(value.translate(str.maketrans(",{}", ";()")).split()))
    return repr(value)


def read(path: Path) -> StoredCube:
    """Read an ENVI file, named by its header or by its data file."""
    header, data = find_files(path)
    if header.fields.get("file type", "").lower() == "envi spectral library":
        raise SceneError(path, "is a spectral library, not a scene: unmix takes it by library=…")
    cube = StoredCube.from_array(map_values(header, data), held=data.stat().st_size)
    describe(cube, header)
    add_scale(cube, header)
    add_map(cube, header.fields)
    cube.nodata = whole_nodata(header.number("data ignore value"), cube.dtype)
    # Whoever names the data file has chosen it.
    if path == header.path:
        cube.notes += _choice_notes("data file", _data_files(header))
    else:
        cube.notes += _choice_notes("header", _distinct_files(header_names(path)))
    return cube


def describe(cube: StoredCube, header: Header) -> None:
    """Add what a header says about the bands, but for their scales."""
    n_bands = cube.shape[0]
    wavelength = header.numbers("wavelength", n_bands)
    fwhm = header.numbers("fwhm", n_bands)
    describe_bands(cube, wavelength, header.fields.get("wavelength units"), fwhm)
    good_band = header.numbers("bbl", n_bands)
    if good_band is not None:
        cube.good_band = good_band != 0
    names = header.entries("band names")
    # The list is separated by commas. If a name holds one, it cannot be told where names end.
    if len(names) == n_bands:
        cube.band_name = names


def find_files(path: Path) -> tuple[Header, Path]:
    """Return the header and the data file, whichever of the two ``path`` names."""
    if path.suffix.lower() == ".hdr":
        header = Header(path)
        return header, _data_files(header)[0]
    headers = _distinct_files(header_names(path))
    if not headers:
        raise SceneError(path, f"has no ENVI header {path.with_suffix('.hdr').name} beside it")
    return Header(headers[0]), path


def _data_files(header: Header) -> list[Path]:
    """Return the files that may hold the data of a header, the preferred one first."""
    stem = header.path.stem
    # A header may also have the whole name of its data file.
    names = [stem + suffix for suffix in (*ENVI_SUFFIXES, *map(str.upper, ENVI_SUFFIXES), "")]
    named = header.fields.get("data file")
    if named:
        # A header from elsewhere must not make this read any other file.
        if named in (".", "..") or any(mark in named for mark in "/\\:\0"):
            raise SceneError(
                header.path,
                f"'data file' must name a file in the same folder, the header says {named[:80]!r}",
            )
        names = [named]
    found = _distinct_files([header.path.with_name(name) for name in names])
    if not found and not named:
        # Of any other suffix, if it has the right size.
        for file in files_in(header.path.parent):
            is_named = file.stem == stem and file != header.path and is_plain_file(file)
            if is_named and file.stat().st_size == _declared_bytes(header):
                found.append(file)
    if not found:
        name = named or f"{stem}.img, .dat, .bsq or the like"
        raise SceneError(header.path, f"the data file is missing: looked for {name}")
    return found


def _declared_bytes(header: Header) -> int:
    n_values = math.prod(header.shape())
    return header.integer("header offset", 0, 0) + n_values * _declared_dtype(header).itemsize


def _distinct_files(choices: list[Path]) -> list[Path]:
    """Return those of the files that exist."""
    found: list[Path] = []
    for file in choices:
        # A file may be found by two names where capitals do not count.
        if is_plain_file(file) and not any(file.samefile(other) for other in found):
            found.append(file)
    return found


def _choice_notes(what: str, files: list[Path]) -> list[str]:
    """Return a note if there are several data files for one header, or the other way round."""
    if len(files) == 1:
        return []
    others = ", ".join(file.name for file in files[1:])
    return [f"the {what} is taken to be {files[0].name}, not {others}"]


def map_values(header: Header, data: Path) -> Array:
    """Return the data file as (band, y, x), mapped into memory; its size must be as declared."""
    path = header.path
    interleave = header.fields.get("interleave", "bsq").lower()
    if interleave not in AXES:
        raise SceneError(
            path, f"'interleave' must be bsq, bil or bip, the header says {interleave[:40]!r}"
        )
    if header.integer("file compression", 0, 0):
        raise SceneError(path, "the data file is compressed; decompress it first")
    declared = _declared_bytes(header)
    held = data.stat().st_size
    if declared != held:
        fault = "is longer than its header says"
        if held < declared:
            fault = "is cut short"
        raise SceneError(
            data, f"the data file {fault}: {held} bytes, the header declares {declared}"
        )
    axes = AXES[interleave]
    shape = header.shape()
    stored = np.memmap(
        data,
        dtype=_declared_dtype(header),
        mode="r",
        offset=header.integer("header offset", 0, 0),
        shape=tuple(shape[axis] for axis in axes),
    )
    # The inverse of the permutation of axes in the file.
    return stored.transpose(np.argsort(axes))


def _declared_dtype(header: Header) -> np.dtype[Any]:
    code = header.integer("data type", 0)
    if code in (6, 9):
        raise SceneError(header.path, f"'data type' {code} is complex; a scene holds real numbers")
    if code not in DTYPES:
        raise SceneError(header.path, f"'data type' {code} is not known")
    order = header.integer("byte order", 0, 0)
    if order > 1:
        raise SceneError(header.path, f"'byte order' must be 0 or 1, the header says {order}")
    return np.dtype(DTYPES[code]).newbyteorder(">" if order else "<")


def add_scale(cube: StoredCube, header: Header) -> None:
    """Add the reflectance scale factor of a header, or else its gains and offsets."""
    n_bands = cube.shape[0]
    scale = header.number("reflectance scale factor")
    if scale is None:
        scale = 1.0
    # Reflectance comes first: it is what a scene usually is.
    for field in ("data reflectance", "data"):
        gain = _listed(header, f"{field} gain values", n_bands, 1.0)
        offset = _listed(header, f"{field} offset values", n_bands, 0.0)
        has_gains = bool((gain != 1).any() or (offset != 0).any())
        if has_gains:
            break
    if not (np.isfinite(gain).all() and np.isfinite(offset).all() and 0 < scale < np.inf):
        reason = "its gains and offsets must be finite, its scale factor above 0"
        raise SceneError(header.path, reason)
    if scale != 1:
        cube.scale_factor = 1 / scale
        # Rounded in the header, the gains may say the same.
        if has_gains and not ((offset == 0).all() and np.allclose(gain, 1 / scale)):
            cube.notes.append(
                f"the ENVI header has 'reflectance scale factor' and '{field} gain values', which "
                "differ: the scale factor is applied, the gains and offsets are not"
            )
    elif has_gains:
        cube.scale_factor = gain
        if (offset != 0).any():
            cube.add_offset = offset
        cube.notes.append(
            f"'{field} gain values' of the header are applied: stored value · gain + offset"
        )
        cube.mark_bad(gain == 0, "have a gain of 0, and so no values")


def _listed(header: Header, name: str, n_bands: int, default: float) -> Array:
    values = header.numbers(name, n_bands)
    if values is None:
        return np.full(n_bands, default)
    return values
