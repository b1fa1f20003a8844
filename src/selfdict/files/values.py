"""Numbers and text as HDF5, NetCDF and zarr files declare them, and what the attributes mean."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.errors import SceneError

_SCALE = "scale_factor"
_OFFSET = "add_offset"
# Attributes that may declare the no-data value, the preferred one first.
_NODATA = ("_FillValue", "missing_value", "fill_value", "nodata")
# Names of attributes that change what values mean, or say which values are measurements.
_MEANING = re.compile(
    "scale|offset|gain|ignore|no_?data|fill|unsigned|^valid_(min|max|range)$", re.IGNORECASE
)


def text_of(value: Any) -> str:
    """Return text that a file holds, as bytes, as str or as an array of one of them."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.ravel()[0]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # h5py keeps bytes that are no UTF-8 as characters that cannot be printed.
    return str(value).encode("utf-8", "replace").decode("utf-8")


def parse_numbers(path: Path, value: Any, what: str) -> Array:
    """Return numbers, or a text of numbers separated by spaces or commas, as float64 (n,)."""
    values = np.asarray(value).ravel()
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    text = text_of(value)
    try:
        return np.array([float(entry) for entry in text.replace(",", " ").split()])
    except ValueError:
        raise SceneError(path, f"{what} must hold numbers, the file says {text[:80]!r}") from None


def unpacked(path: Path, name: str, values: Array, attributes: Mapping[str, Any]) -> Array:
    """Return numbers such as wavelengths that may be stored packed, NaN where they are missing.

    Number = stored value · scale_factor + add_offset.
    """
    if values.dtype.kind not in "iuf" or not {_SCALE, _OFFSET} & attributes.keys():
        return values
    scale = parse_numbers(path, attributes.get(_SCALE, 1.0), f"{_SCALE} of {name}")
    offset = parse_numbers(path, attributes.get(_OFFSET, 0.0), f"{_OFFSET} of {name}")
    if scale.size != 1 or offset.size != 1 or not np.isfinite(scale + offset).all():
        raise SceneError(path, f"{_SCALE} and {_OFFSET} of {name} must be one finite number each")
    # In double precision, since single precision moves map coordinates by metres.
    numbers: Array = values.astype(np.float64) * scale + offset
    # The fill value is stored packed, too.
    if "_FillValue" in attributes:
        fill = parse_numbers(path, attributes["_FillValue"], f"_FillValue of {name}")
        numbers[np.isin(values, fill)] = np.nan
    return numbers


def describe_values(cube: StoredCube, path: Path, attributes: Mapping[str, Any]) -> None:
    """Add scale, offset and no-data value, as attributes of the CF conventions declare them."""
    n_bands = cube.shape[0]
    cube.scale_factor = _one_or_each(path, attributes, _SCALE, n_bands)
    cube.add_offset = _one_or_each(path, attributes, _OFFSET, n_bands)
    for name in _NODATA:
        if cube.nodata is None:
            cube.nodata = nodata_value(path, attributes, name, cube.dtype)
    cube.notes += _ignored_notes(attributes)
    cube.notes += _missing_notes(cube.nodata, attributes.get("missing_value"))


def nodata_value(
    path: Path, attributes: Mapping[str, Any], name: str, dtype: np.dtype[Any]
) -> float | None:
    """Return the no-data value that an attribute declares, or None."""
    if attributes.get(name) is None:
        return None
    values = parse_numbers(path, attributes[name], f"the attribute {name}")
    if values.size == 0:
        return None
    return whole_nodata(float(values[0]), dtype)


def _one_or_each(
    path: Path, attributes: Mapping[str, Any], name: str, n_bands: int
) -> float | Array | None:
    """Return the number of an attribute, or one for each band, or None if there is none."""
    if attributes.get(name) is None:
        return None
    values = parse_numbers(path, attributes[name], f"the attribute {name}")
    if values.size == 1:
        return float(values[0])
    if values.size != n_bands:
        raise SceneError(
            path,
            f"the attribute {name} must be one number, or one for each of the {n_bands} bands, "
            f"it has {values.size}",
        )
    return values


def _ignored_notes(attributes: Any) -> list[str]:
    """Return a note about attributes that seem to change what the values mean."""
    ignored = []
    for name in attributes:
        if name not in (_SCALE, _OFFSET, *_NODATA) and _MEANING.search(str(name)):
            ignored.append(str(name)[:40])
    if not ignored:
        return []
    return [f"its attributes {', '.join(ignored[:5])} are not applied"]


def _missing_notes(nodata: Any, missing: Any) -> list[str]:
    """Return a note if ``missing_value`` differs from the value that marks missing data."""
    if missing is None or nodata is None:
        return []
    declared = np.asarray(missing).ravel()
    if declared.dtype.kind in "biuf":
        is_other = (declared != nodata) & ~(np.isnan(declared) & np.isnan(nodata))
        declared = declared[is_other]
    if declared.size == 0:
        return []
    listed = ", ".join(str(value)[:40] for value in declared[:3].tolist())
    return [
        f"missing_value {listed} differs from _FillValue {nodata}: pass it to leave out its "
        "pixels (nodata)"
    ]
