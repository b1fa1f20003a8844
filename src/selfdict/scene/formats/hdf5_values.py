"""What the attributes of a dataset say about its values: scale, offset and no-data value."""

from pathlib import Path
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.hdf5 import attribute, nodata_attribute, number_list

# Attributes of the CF conventions that are applied.
_APPLIED = ("scale_factor", "add_offset", "_FillValue", "missing_value")
# Parts of the names of attributes that change what values mean.
_MEANING_WORDS = ("scale", "offset", "gain", "ignore", "nodata", "no_data", "fill", "unsigned")
# Those that say which values are measurements.
_VALID_NAMES = ("valid_min", "valid_max", "valid_range")


def value_data(path: Path, cube: Any, n_bands: int) -> tuple[dict[str, Any], list[str]]:
    """Return scale, offset and no-data value as arguments of ``build_scene``, and notes.

    Parameters
    ----------
    path : pathlib.Path
        The file, for messages.
    cube : h5py.Dataset
        The array, with attributes of the CF conventions.
    n_bands : int
        A scale or an offset is one number, or one for each of the bands.
    """
    data: dict[str, Any] = {}
    for name in ("scale_factor", "add_offset"):
        data[name] = _one_or_each(path, cube, name, n_bands)
    data["nodata"] = nodata_attribute(path, cube, "_FillValue")
    if data["nodata"] is None:
        data["nodata"] = nodata_attribute(path, cube, "missing_value")
    notes = ignored_notes(cube.attrs)
    notes += missing_notes(data["nodata"], attribute(path, cube, "missing_value"))
    return data, notes


def _one_or_each(path: Path, cube: Any, name: str, n_bands: int) -> float | Array | None:
    """Return the number of an attribute, or one for each band, or None if there is none."""
    values = number_list(path, cube, name)
    if values is None:
        return None
    if values.size == 1:
        return float(values[0])
    if values.size != n_bands:
        raise SceneError(
            path,
            f"the attribute {name} must be one number, or one for each of the {n_bands} bands, "
            f"it has {values.size}",
        )
    return values


def ignored_notes(attributes: Any) -> list[str]:
    """Return a note about attributes that seem to change what the values mean.

    Examples
    --------
    >>> ignored_notes({"Scale_Factor": 10000, "scale_factor": 0.1, "author": "A"})
    ['its attributes Scale_Factor are not applied']
    """
    ignored = []
    for name in attributes:
        lowered = str(name).lower()
        has_meaning = lowered in _VALID_NAMES or any(word in lowered for word in _MEANING_WORDS)
        if name not in _APPLIED and has_meaning:
            ignored.append(str(name)[:40])
    if not ignored:
        return []
    return [f"its attributes {', '.join(ignored[:5])} are not applied"]


def missing_notes(nodata: Any, missing: Any) -> list[str]:
    """Return a note if ``missing_value`` differs from the value that marks missing data.

    Examples
    --------
    >>> missing_notes(-1, -1.0)
    []
    >>> missing_notes(-1, [-9999])
    ['missing_value -9999 differs from _FillValue -1: pass it to leave out its pixels (nodata)']
    """
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
