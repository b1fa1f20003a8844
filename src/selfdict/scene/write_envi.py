"""Scenes and spectra written as ENVI files: values, and a header beside them."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._errors import InputError, SceneError
from selfdict._validation import Array
from selfdict.files.envi import AXES, DTYPES, format_header
from selfdict.files.grid import map_fields
from selfdict.scene.blocks import row_blocks
from selfdict.scene.metadata import crs_of, declared_nodata, scaling_of, transform_of


def write_envi(scene: xr.DataArray, path: Path, *, interleave: str = "bsq") -> None:
    """Write header and data; ``path`` names either (the data of a header ``.hdr`` are ``.img``)."""
    if interleave not in AXES:
        raise InputError(f"interleave must be 'bsq', 'bil' or 'bip', got {interleave!r}")
    header = path.with_suffix(".hdr")
    data = path
    if path.suffix.lower() == ".hdr":
        header = path
        data = path.with_suffix(".img")
    code, dtype = _stored_type(scene, path)
    _write_values(scene, data, interleave, dtype)
    fields = _layout(scene.shape, "ENVI Standard", code, interleave) | _band_fields(scene)
    if "good_band" in scene.coords:
        fields["bbl"] = scene["good_band"].values.astype(int).tolist()
    if "band_name" in scene.coords:
        fields["band names"] = scene["band_name"].values.tolist()
    nodata = declared_nodata(scene)
    if nodata is not None:
        fields["data ignore value"] = nodata
    fields |= _scale_fields(scene)
    fields |= map_fields(crs_of(scene), transform_of(scene))
    header.write_text(format_header(fields), encoding="utf-8")


def _layout(shape: tuple[int, ...], kind: str, code: int, interleave: str) -> dict[str, object]:
    """Return the fields that tell how values (bands, rows, columns) are stored."""
    n_bands, n_rows, n_columns = shape
    return {
        "samples": n_columns,
        "lines": n_rows,
        "bands": n_bands,
        "header offset": 0,
        "file type": kind,
        "data type": code,
        "interleave": interleave,
        "byte order": 0,
    }


def _stored_type(scene: xr.DataArray, path: Path) -> tuple[int, np.dtype[Any]]:
    """Return the number of the data type, and the dtype, that the values are written in."""
    # ENVI has no booleans, int8 and float16: the next type that holds them without loss.
    wider = {"?": "u1", "b": "i2", "e": "f4"}
    native = np.dtype(wider.get(scene.dtype.char, scene.dtype.newbyteorder("=")))
    codes = {np.dtype(dtype): code for code, dtype in DTYPES.items()}
    if native not in codes:
        raise SceneError(path, f"ENVI has no data type for {scene.dtype}")
    return codes[native], native.newbyteorder("little")


def _write_values(scene: xr.DataArray, path: Path, interleave: str, dtype: np.dtype[Any]) -> None:
    """Write the data file, some rows of the scene at a time."""
    n_bands, n_rows, n_columns = scene.shape
    with path.open("wb") as file:
        for rows in row_blocks(scene):
            block = scene.isel(y=rows).values.astype(dtype)
            if interleave == "bsq":
                # The rows of one band are together in the file, those of several bands are not.
                for band in range(n_bands):
                    file.seek((band * n_rows + rows.start) * n_columns * dtype.itemsize)
                    file.write(block[band].tobytes())
            else:
                file.write(block.transpose(AXES[interleave]).tobytes())


def _band_fields(data: xr.DataArray) -> dict[str, object]:
    """Return the fields about wavelengths."""
    fields: dict[str, object] = {}
    for key in ("wavelength", "fwhm"):
        if key in data.coords:
            fields["wavelength units"] = "Nanometers"
            fields[key] = data[key].values.tolist()
    return fields


def _scale_fields(scene: xr.DataArray) -> dict[str, object]:
    """Return the fields from which the reader gets the scale of this scene."""
    gain, offset = scaling_of(scene)
    if (gain == 1).all() and (offset == 0).all():
        return {}
    is_one_factor = (gain == gain[0]).all() and (offset == 0).all() and gain[0] > 0
    if is_one_factor:
        # Rounded to 15 digits, so that a factor of 0.0001 is written as 10000.
        divisor = float(f"{1 / gain[0]:.15g}")
        # Not every factor is the reciprocal of a number.
        if 1 / divisor == gain[0]:
            return {"reflectance scale factor": divisor}
    return {"data gain values": gain.tolist(), "data offset values": offset.tolist()}


def write_envi_library(spectra: xr.DataArray, names: list[str], path: Path) -> None:
    """Write spectra (spectrum, band) as ``path`` with the suffixes ``.sli`` and ``.hdr``."""
    values: Array = spectra.values
    code = 4
    dtype = "<f4"
    if values.dtype.itemsize > 4:
        code = 5
        dtype = "<f8"
    path.with_suffix(".sli").write_bytes(values.astype(dtype).tobytes())
    fields = _layout((1, *values.shape), "ENVI Spectral Library", code, "bsq")
    fields |= _band_fields(spectra) | {"spectra names": names}
    path.with_suffix(".hdr").write_text(format_header(fields), encoding="utf-8")
