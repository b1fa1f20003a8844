"""ENVI: a text header and a plain binary file, mapped into memory."""

from pathlib import Path

import numpy as np
import xarray as xr

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.scene.blocks import row_blocks
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.common import fill_masked
from selfdict.scene.formats.envi_header import (
    format_header,
    integer,
    number,
    numbers,
    read_header,
    words,
)
from selfdict.scene.formats.envi_map import map_fields, read_map
from selfdict.scene.georef import crs_of, transform_of
from selfdict.scene.model import build_scene, to_nanometres, unit_of

NAME = "ENVI"
_DTYPES = {1: "u1", 2: "i2", 3: "i4", 4: "f4", 5: "f8", 12: "u2", 13: "u4", 14: "i8", 15: "u8"}
_CODES = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}
_WIDER = {"?": "u1", "b": "i2", "e": "f4"}  # dtypes ENVI lacks, and what holds them without loss
# The order of the axes in the file, as positions in (band, y, x).
_ORDER = {"bsq": (0, 1, 2), "bil": (1, 0, 2), "bip": (1, 2, 0)}
_DATA_SUFFIXES = (".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin", ".rfl", ".sli", "")


def read(path: Path) -> xr.DataArray:
    """Map an ENVI file, named by its header or by its data file."""
    header, data = find_files(path)
    fields = read_header(header)
    n_bands = integer(header, fields, "bands", minimum=1)
    shape = (
        n_bands,
        integer(header, fields, "lines", minimum=1),
        integer(header, fields, "samples", minimum=1),
    )
    values = map_values(header, data, fields, shape)

    wavelength, fwhm = (numbers(header, fields, key, n_bands) for key in ("wavelength", "fwhm"))
    units = unit_of([] if wavelength is None else wavelength, fields.get("wavelength units"))
    good = numbers(header, fields, "bbl", n_bands)
    names = words(fields, "band names")
    nodata = number(header, fields, "data ignore value")
    if nodata is not None and values.dtype.kind in "iu" and nodata.is_integer():
        nodata = int(nodata)
    scale = number(header, fields, "reflectance scale factor")
    if scale is not None and not (np.isfinite(scale) and scale > 0):
        raise SceneError(
            header, f"'reflectance scale factor' must be positive, the header says {scale}"
        )
    crs, transform = read_map(header, fields)
    return build_scene(
        values,
        wavelength=None if wavelength is None else to_nanometres(wavelength, units),
        fwhm=None if fwhm is None else to_nanometres(fwhm, units),
        good_band=None if good is None else good != 0,
        band_name=names
        if len(names) == n_bands
        else None,  # a name may hold commas: then none is known
        crs=crs,
        transform=transform,
        nodata=nodata,
        scale_factor=None if scale in (None, 1) else 1 / scale,
    )


def write(
    scene: xr.DataArray, path: Path, *, interleave: str = "bsq", byte_order: str = "little"
) -> None:
    """Write header and data; ``path`` names either (the data beside a header ``.hdr`` is ``.img``)."""
    if interleave not in _ORDER:
        raise InputError(f"interleave must be 'bsq', 'bil' or 'bip', got {interleave!r}")
    if byte_order not in ("little", "big"):
        raise InputError(f"byte_order must be 'little' or 'big', got {byte_order!r}")
    if scene.attrs.get("add_offset", 0) != 0:
        raise SceneError(path, "an ENVI header keeps no add_offset; apply it first or write NetCDF")
    is_header = path.suffix.lower() == ".hdr"
    header, data = (
        (path, path.with_suffix(".img")) if is_header else (path.with_suffix(".hdr"), path)
    )
    scene = fill_masked(scene, path)
    native = np.dtype(_WIDER.get(scene.dtype.char, scene.dtype.newbyteorder("=")))
    if native not in _CODES:
        raise SceneError(path, f"ENVI has no data type for {scene.dtype}")
    n_bands, n_rows, n_columns = scene.shape
    dtype = native.newbyteorder("<" if byte_order == "little" else ">")
    with data.open("wb") as file:
        for rows in row_blocks(scene):
            block = scene.isel(y=rows).values.astype(dtype)
            if interleave == "bsq":
                for band in range(n_bands):
                    file.seek((band * n_rows + rows.start) * n_columns * dtype.itemsize)
                    file.write(block[band].tobytes())
            else:
                file.write(block.transpose(_ORDER[interleave]).tobytes())
    fields: dict[str, object] = {
        "samples": n_columns,
        "lines": n_rows,
        "bands": n_bands,
        "header offset": 0,
        "file type": "ENVI Standard",
        "data type": _CODES[native],
        "interleave": interleave,
        "byte order": int(byte_order == "big"),
    }
    header.write_text(format_header(fields | _described(scene)), encoding="utf-8")


def _described(scene: xr.DataArray) -> dict[str, object]:
    """Return the fields that say what the numbers are."""
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
    if (nodata := scene.attrs.get("_FillValue")) is not None:
        fields["data ignore value"] = np.asarray(nodata).item()
    if (scale := scene.attrs.get("scale_factor", 1)) != 1:
        fields["reflectance scale factor"] = float(f"{1 / scale:.15g}")
    return fields | map_fields(crs_of(scene), transform_of(scene))


def find_files(path: Path) -> tuple[Path, Path]:
    """Return the header and the data file, whichever of the two ``path`` names."""
    if path.suffix.lower() == ".hdr":
        return path, _data_file(path, read_header(path))
    for header in (path.with_suffix(".hdr"), path.with_name(path.name + ".hdr")):
        if header.is_file():
            return header, path
    raise SceneError(path, f"has no ENVI header {path.with_suffix('.hdr').name} beside it")


def _data_file(header: Path, fields: dict[str, str]) -> Path:
    named = fields.get("data file")
    if named:
        if named in (".", "..") or any(mark in named for mark in "/\\:\0"):
            raise SceneError(
                header,
                f"'data file' must name a file in the same folder, the header says {named[:80]!r}",
            )
        choices = [header.with_name(named)]
    else:
        choices = [header.with_suffix(suffix) for suffix in _DATA_SUFFIXES]
    for data in choices:
        if data.is_file():
            return data
    raise SceneError(
        header, f"the data file is missing: looked for {', '.join(data.name for data in choices)}"
    )


def map_values(
    header: Path, data: Path, fields: dict[str, str], shape: tuple[int, int, int]
) -> Array:
    """Return the data file as (band, y, x), mapped, once its size is that of the header."""
    code = integer(header, fields, "data type", minimum=0)
    if code in (6, 9):
        raise SceneError(header, f"'data type' {code} is complex; a scene holds real numbers")
    if code not in _DTYPES:
        raise SceneError(header, f"'data type' {code} is not known")
    order = integer(header, fields, "byte order", minimum=0, default=0)
    if order > 1:
        raise SceneError(header, f"'byte order' must be 0 or 1, the header says {order}")
    interleave = fields.get("interleave", "bsq").lower()
    if interleave not in _ORDER:
        raise SceneError(
            header, f"'interleave' must be bsq, bil or bip, the header says {interleave[:40]!r}"
        )
    if integer(header, fields, "file compression", minimum=0, default=0):
        raise SceneError(header, "the data file is compressed; decompress it first")
    offset = integer(header, fields, "header offset", minimum=0, default=0)
    dtype = np.dtype(_DTYPES[code]).newbyteorder(">" if order else "<")
    declared = offset + shape[0] * shape[1] * shape[2] * dtype.itemsize
    held = data.stat().st_size
    if declared != held:
        fault = "is cut short" if held < declared else "is longer than its header says"
        raise SceneError(
            data, f"the data file {fault}: {held} bytes, the header declares {declared}"
        )
    axes = _ORDER[interleave]
    stored = np.memmap(
        data, dtype=dtype, mode="r", offset=offset, shape=tuple(shape[axis] for axis in axes)
    )
    return stored.transpose(np.argsort(axes))
