"""ENVI: a text header and a plain binary file, mapped into memory."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.blocks import row_blocks
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import fill_masked, whole_nodata, with_bad_bands
from selfdict.scene.formats.envi_bands import read_bands
from selfdict.scene.formats.envi_header import (
    format_header,
    integer_field,
    number_field,
    read_header,
)
from selfdict.scene.formats.envi_map import map_fields, read_map
from selfdict.scene.formats.envi_scale import read_scale, scale_fields
from selfdict.scene.formats.limits import Limit
from selfdict.scene.formats.products import ENVI_SUFFIXES
from selfdict.scene.georef import crs_of, transform_of
from selfdict.scene.mapped import stored_values
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes
from selfdict.scene.scaling import scaling_of

NAME = "ENVI"
# Dtypes by the numbers of the field 'data type'.
_DTYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
# The order of the axes in the file, as positions in (band, y, x).
_ORDER = {"bsq": (0, 1, 2), "bil": (1, 0, 2), "bip": (1, 2, 0)}


def read(path: Path, *, max_bytes: int | None = None) -> xr.DataArray:
    """Map an ENVI file, named by its header or by its data file."""
    header, data = find_files(path)
    fields = read_header(header)
    n_bands = integer_field(header, fields, "bands", minimum=1)
    shape = (
        n_bands,
        integer_field(header, fields, "lines", minimum=1),
        integer_field(header, fields, "samples", minimum=1),
    )
    values = map_values(header, data, fields, shape)
    Limit(data, data.stat().st_size, max_bytes).check_lazy_cube(shape, values.itemsize)
    band_data, notes = read_bands(header, fields, n_bands)
    scale = read_scale(header, fields, n_bands)
    crs, transform, map_notes = read_map(header, fields)
    notes += map_notes
    scene = build_scene(
        values,
        **band_data,
        crs=crs,
        transform=transform,
        nodata=whole_nodata(number_field(header, fields, "data ignore value"), values.dtype),
        scale_factor=scale.gain,
        add_offset=scale.offset,
    )
    # Whoever names the data file has chosen it.
    if path == header:
        notes += _choice_notes("data file", _data_files(header, fields))
    else:
        notes += _choice_notes("header", _header_files(path))
    if scale.field is not None:
        notes.append(f"'{scale.field}' of the header are applied: stored value · gain + offset")
    if scale.conflict is not None:
        notes.append(scale.conflict)
    scene = add_notes(scene, *notes)
    gain, _ = scaling_of(scene)
    return with_bad_bands(scene, gain == 0, "have a gain of 0, and so no values")


def write(
    scene: xr.DataArray, path: Path, *, interleave: str = "bsq", byte_order: str = "little"
) -> None:
    """Write header and data; ``path`` names either (the data of a header ``.hdr`` are ``.img``)."""
    if interleave not in _ORDER:
        raise InputError(f"interleave must be 'bsq', 'bil' or 'bip', got {interleave!r}")
    if byte_order not in ("little", "big"):
        raise InputError(f"byte_order must be 'little' or 'big', got {byte_order!r}")
    header = path.with_suffix(".hdr")
    data = path
    if path.suffix.lower() == ".hdr":
        header = path
        data = path.with_suffix(".img")
    scene = fill_masked(scene, path)
    n_bands, n_rows, n_columns = scene.shape
    code, dtype = _stored_type(scene, path, byte_order)
    _write_values(scene, data, interleave, dtype)
    fields: dict[str, object] = {
        "samples": n_columns,
        "lines": n_rows,
        "bands": n_bands,
        "header offset": 0,
        "file type": "ENVI Standard",
        "data type": code,
        "interleave": interleave,
        "byte order": int(byte_order == "big"),
    }
    header.write_text(format_header(fields | _description(scene)), encoding="utf-8")


def _stored_type(scene: xr.DataArray, path: Path, byte_order: str) -> tuple[int, np.dtype[Any]]:
    """Return the number of the data type, and the dtype, that the values are written in."""
    # ENVI has no booleans, int8 and float16: the next type that holds them without loss.
    wider = {"?": "u1", "b": "i2", "e": "f4"}
    native = np.dtype(wider.get(scene.dtype.char, scene.dtype.newbyteorder("=")))
    codes = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}
    if native not in codes:
        raise SceneError(path, f"ENVI has no data type for {scene.dtype}")
    return codes[native], native.newbyteorder("<" if byte_order == "little" else ">")


def _write_values(scene: xr.DataArray, path: Path, interleave: str, dtype: np.dtype[Any]) -> None:
    """Write the data file, some rows of the scene at a time."""
    n_bands, n_rows, n_columns = scene.shape
    with path.open("wb") as file:
        for rows in row_blocks(scene):
            block = stored_values(scene.isel(y=rows).data).astype(dtype)
            if interleave == "bsq":
                # The rows of one band are together in the file, those of several bands are not.
                for band in range(n_bands):
                    file.seek((band * n_rows + rows.start) * n_columns * dtype.itemsize)
                    file.write(block[band].tobytes())
            else:
                file.write(block.transpose(_ORDER[interleave]).tobytes())


def _description(scene: xr.DataArray) -> dict[str, object]:
    """Return the fields about bands, no-data, scale and georeference."""
    fields: dict[str, object] = {}
    if "wavelength" in scene.coords or "fwhm" in scene.coords:
        fields["wavelength units"] = "Nanometers"
    for key in ("wavelength", "fwhm"):
        if key in scene.coords:
            fields[key] = scene[key].values.tolist()
    if "good_band" in scene.coords:
        fields["bbl"] = scene["good_band"].values.astype(int).tolist()
    if "band_name" in scene.coords:
        fields["band names"] = scene["band_name"].values.tolist()
    nodata = scene.attrs.get("_FillValue")
    if nodata is not None:
        fields["data ignore value"] = np.asarray(nodata).item()
    fields |= scale_fields(scene)
    return fields | map_fields(crs_of(scene), transform_of(scene))


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


def _data_files(header: Path, fields: dict[str, str]) -> list[Path]:
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
        if file.is_file() and not any(file.samefile(other) for other in found):
            found.append(file)
    return found


def _choice_notes(what: str, files: list[Path]) -> list[str]:
    """Return a note if there are several data files for one header, or the other way round."""
    if len(files) == 1:
        return []
    others = ", ".join(file.name for file in files[1:])
    return [f"the {what} is taken to be {files[0].name}, not {others}"]


def map_values(
    header: Path, data: Path, fields: dict[str, str], shape: tuple[int, int, int]
) -> Array:
    """Return the data file as (band, y, x), mapped into memory.

    Its size must be the one that the header declares.
    """
    dtype = _declared_dtype(header, fields)
    interleave = fields.get("interleave", "bsq").lower()
    if interleave not in _ORDER:
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
    axes = _ORDER[interleave]
    stored_shape = tuple(shape[axis] for axis in axes)
    stored = np.memmap(data, dtype=dtype, mode="r", offset=offset, shape=stored_shape)
    # The inverse of the permutation of axes in the file.
    return stored.transpose(np.argsort(axes))


def _declared_dtype(header: Path, fields: dict[str, str]) -> np.dtype[Any]:
    code = integer_field(header, fields, "data type", minimum=0)
    if code in (6, 9):
        raise SceneError(header, f"'data type' {code} is complex; a scene holds real numbers")
    if code not in _DTYPES:
        raise SceneError(header, f"'data type' {code} is not known")
    order = integer_field(header, fields, "byte order", minimum=0, default=0)
    if order > 1:
        raise SceneError(header, f"'byte order' must be 0 or 1, the header says {order}")
    return np.dtype(_DTYPES[code]).newbyteorder(">" if order else "<")
