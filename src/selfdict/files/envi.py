"""ENVI: a text header and a plain binary file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.envi_header import (
    integer_field,
    list_field,
    number_field,
    number_list,
    read_header,
)
from selfdict.files.envi_map import read_map
from selfdict.files.errors import SceneError
from selfdict.files.image_names import ENVI_SUFFIXES
from selfdict.files.plain_files import is_plain_file
from selfdict.files.units import to_nanometres, unit_note, unit_of

# Dtypes by the numbers of the field 'data type'.
DTYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
# The order of the axes in the file, as positions in (band, y, x).
AXES = {"bsq": (0, 1, 2), "bil": (1, 0, 2), "bip": (1, 2, 0)}
# Fields of gains and offsets, the preferred ones first: reflectance is what a scene usually is.
_GAIN_FIELDS = (
    ("data reflectance gain values", "data reflectance offset values"),
    ("data gain values", "data offset values"),
)


def read(path: Path) -> StoredCube:
    """Read an ENVI file, named by its header or by its data file."""
    header, data = find_files(path)
    fields = read_header(header)
    n_bands = integer_field(header, fields, "bands", minimum=1)
    n_rows = integer_field(header, fields, "lines", minimum=1)
    n_columns = integer_field(header, fields, "samples", minimum=1)
    values = map_values(header, data, fields, (n_bands, n_rows, n_columns))
    cube = StoredCube.from_array(values, held=data.stat().st_size)
    # Whoever names the data file has chosen it.
    notes: list[str] = []
    if path == header:
        notes += _choice_notes("data file", _data_files(header, fields))
    else:
        notes += _choice_notes("header", _header_files(path))
    describe_bands(cube, header, fields)
    crs, transform, map_notes = read_map(header, fields)
    cube.crs = crs
    if transform is not None:
        cube.transform = transform.to_gdal()
    scale = read_scale(header, fields, n_bands)
    cube.scale_factor = scale.gain
    cube.add_offset = scale.offset
    cube.nodata = whole_nodata(number_field(header, fields, "data ignore value"), cube.dtype)
    if scale.field is not None:
        notes.append(f"'{scale.field}' of the header are applied: stored value · gain + offset")
    if scale.conflict is not None:
        notes.append(scale.conflict)
    cube.notes += [*map_notes, *notes]
    cube.mark_bad(cube.gains() == 0, "have a gain of 0, and so no values")
    return cube


def describe_bands(cube: StoredCube, header: Path, fields: Mapping[str, str]) -> None:
    """Add what the fields of a header say about the bands, but for their scales."""
    n_bands = cube.shape[0]
    wavelength = number_list(header, fields, "wavelength", n_bands)
    fwhm = number_list(header, fields, "fwhm", n_bands)
    units = fields.get("wavelength units")
    # Both have one unit; if it is not named, only the wavelengths tell it.
    listed = []
    if wavelength is not None:
        listed = wavelength.tolist()
        cube.notes += unit_note(wavelength, units)
        cube.wavelength = to_nanometres(wavelength, unit_of(listed, units))
    if fwhm is not None:
        cube.fwhm = to_nanometres(fwhm, unit_of(listed, units))
    good_band = number_list(header, fields, "bbl", n_bands)
    if good_band is not None:
        cube.good_band = good_band != 0
    names = list_field(fields, "band names")
    # The list is separated by commas. If a name holds one, it cannot be told where names end.
    if len(names) == n_bands:
        cube.band_name = names


def find_files(path: Path) -> tuple[Path, Path]:
    """Return the header and the data file, whichever of the two ``path`` names."""
    if path.suffix.lower() == ".hdr":
        return path, _data_files(path, read_header(path))[0]
    headers = _header_files(path)
    if not headers:
        raise SceneError(path, f"has no ENVI header {path.with_suffix('.hdr').name} beside it")
    return headers[0], path


def _header_files(data: Path) -> list[Path]:
    """Return the headers beside a data file, the preferred one first."""
    suffixes = (".hdr", ".HDR")
    # One with the whole name belongs to this file only, the other may be that of cube.bsq, too.
    choices = [data.with_name(data.name + suffix) for suffix in suffixes]
    choices += [data.with_suffix(suffix) for suffix in suffixes]
    return _distinct_files(choices)


def _data_files(header: Path, fields: Mapping[str, str]) -> list[Path]:
    """Return the files that may hold the data of a header, the preferred one first."""
    named = fields.get("data file")
    if named:
        # A header from elsewhere must not make this read any other file.
        if named in (".", "..") or any(mark in named for mark in "/\\:\0"):
            raise SceneError(
                header,
                f"'data file' must name a file in the same folder, the header says {named[:80]!r}",
            )
        choices = [header.with_name(named)]
    else:
        suffixes = list(ENVI_SUFFIXES)
        # A header in capitals has data in capitals as a rule.
        if header.suffix == ".HDR":
            suffixes = [suffix.upper() for suffix in ENVI_SUFFIXES] + suffixes
        choices = [header.with_suffix(suffix) for suffix in (*suffixes, "")]
    found = _distinct_files(choices)
    if not found:
        names = ", ".join(data.name for data in choices)
        raise SceneError(header, f"the data file is missing: looked for {names}")
    return found


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


def map_values(
    header: Path, data: Path, fields: Mapping[str, str], shape: tuple[int, int, int]
) -> Array:
    """Return the data file as (band, y, x), mapped into memory.

    Its size must be the one that the header declares.
    """
    dtype = _declared_dtype(header, fields)
    interleave = fields.get("interleave", "bsq").lower()
    if interleave not in AXES:
        raise SceneError(
            header, f"'interleave' must be bsq, bil or bip, the header says {interleave[:40]!r}"
        )
    if integer_field(header, fields, "file compression", minimum=0, default=0):
        raise SceneError(header, "the data file is compressed; decompress it first")
    offset = integer_field(header, fields, "header offset", minimum=0, default=0)
    declared = offset + shape[0] * shape[1] * shape[2] * dtype.itemsize
    held = data.stat().st_size
    if declared != held:
        fault = "is longer than its header says"
        if held < declared:
            fault = "is cut short"
        raise SceneError(
            data, f"the data file {fault}: {held} bytes, the header declares {declared}"
        )
    axes = AXES[interleave]
    stored_shape = tuple(shape[axis] for axis in axes)
    stored = np.memmap(data, dtype=dtype, mode="r", offset=offset, shape=stored_shape)
    # The inverse of the permutation of axes in the file.
    return stored.transpose(np.argsort(axes))


def _declared_dtype(header: Path, fields: Mapping[str, str]) -> np.dtype[Any]:
    code = integer_field(header, fields, "data type", minimum=0)
    if code in (6, 9):
        raise SceneError(header, f"'data type' {code} is complex; a scene holds real numbers")
    if code not in DTYPES:
        raise SceneError(header, f"'data type' {code} is not known")
    order = integer_field(header, fields, "byte order", minimum=0, default=0)
    if order > 1:
        raise SceneError(header, f"'byte order' must be 0 or 1, the header says {order}")
    return np.dtype(DTYPES[code]).newbyteorder(">" if order else "<")


@dataclass(frozen=True)
class Scale:
    """The scale that a header declares: physical value = stored value · gain + offset.

    Attributes
    ----------
    gain, offset : float, (n_bands,) ndarray or None
        None: 1 and 0.
    field : str or None
        The field of the gains, if they are applied.
    conflict : str or None
        A note, if the header contradicts itself.
    """

    gain: float | Array | None = None
    offset: float | Array | None = None
    field: str | None = None
    conflict: str | None = None


def read_scale(header: Path, fields: Mapping[str, str], n_bands: int) -> Scale:
    """Return the scale of a header.

    Either the gains or the reflectance scale factor is applied, never one after the other: both
    speak about the stored values. If they contradict each other, the scale factor counts. It is
    defined as what turns the stored values into reflectance. Gains are those of the instrument, and
    software that corrects for the atmosphere copies them along with the rest of a header. GDAL
    applies the gains only, SPy the scale factor only, ENVI itself none of them on display.
    """
    factor = _scale_factor(header, fields)
    gains = Scale()
    for gain_field, offset_field in _GAIN_FIELDS:
        found = _gains(header, fields, n_bands, gain_field, offset_field)
        if found.gain is not None or found.offset is not None:
            gains = found
            break
    if factor is None:
        return gains
    if gains.field is None or _is_factor(gains, factor):
        return Scale(factor)
    conflict = (
        f"the ENVI header has 'reflectance scale factor' and '{gains.field}', which differ: "
        "the scale factor is applied, the gains and offsets are not"
    )
    return Scale(factor, conflict=conflict)


def _scale_factor(header: Path, fields: Mapping[str, str]) -> float | None:
    """Return the factor from stored values to reflectance, by which ENVI divides."""
    scale = number_field(header, fields, "reflectance scale factor")
    if scale is None:
        return None
    if not (np.isfinite(scale) and scale > 0):
        raise SceneError(
            header, f"'reflectance scale factor' must be positive, the header says {scale}"
        )
    if scale == 1:
        return None
    return 1 / scale


def _gains(
    header: Path, fields: Mapping[str, str], n_bands: int, gain_field: str, offset_field: str
) -> Scale:
    """Return the gains and offsets of a pair of fields, those that change nothing as None."""
    gain = number_list(header, fields, gain_field, n_bands)
    offset = number_list(header, fields, offset_field, n_bands)
    for name, values in ((gain_field, gain), (offset_field, offset)):
        if values is not None and not np.isfinite(values).all():
            raise SceneError(header, f"'{name}' must be finite numbers")
    if gain is not None and (gain == 1).all():
        gain = None
    if offset is not None and (offset == 0).all():
        offset = None
    return Scale(gain, offset, gain_field)


def _is_factor(gains: Scale, factor: float) -> bool:
    """Whether gains say the same as a scale factor, apart from rounding in the header."""
    return gains.offset is None and gains.gain is not None and np.allclose(gains.gain, factor)
