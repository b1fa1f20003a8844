"""Numbers beside a cube that are stored packed: number = stored · scale_factor + add_offset."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats.hdf5 import load_values, number_list, parse_numbers
from selfdict.scene.formats.limits import Limit

_SCALE = "scale_factor"
_OFFSET = "add_offset"


def load_numbers(limit: Limit, dataset: Any) -> Array:
    """Return all values of an HDF5 dataset such as wavelengths, unpacked if they are packed."""
    values = load_values(limit, dataset)
    declared = {}
    for name in (_SCALE, _OFFSET, "_FillValue"):
        numbers = number_list(limit.path, dataset, name)
        if numbers is not None:
            declared[name] = numbers
    return _unpack(limit.path, dataset.name, values, declared)


def unpacked(path: Path, dataset: xr.Dataset, cube: str) -> xr.Dataset:
    """Return the dataset with all that may describe its cube unpacked; the cube stays as it is.

    Parameters
    ----------
    path : pathlib.Path
        The file, for messages.
    dataset : xarray.Dataset
        Opened without unpacking, so that the values of the cube are those of the file.
    cube : str
        The variable that is the cube.
    """
    for name, variable in list(dataset.variables.items()):
        if name == cube or not {_SCALE, _OFFSET} & variable.attrs.keys():
            continue
        # Wavelengths and the like have one axis, lat and lon may have two. Others are not used,
        # and must not be loaded.
        is_coordinate = name in dataset.coords and variable.ndim == 2
        if variable.dtype.kind not in "iuf" or not (variable.ndim == 1 or is_coordinate):
            continue
        attributes = dict(variable.attrs)
        declared = {}
        for key in (_SCALE, _OFFSET, "_FillValue"):
            if key in attributes:
                declared[key] = parse_numbers(path, attributes.pop(key), f"{key} of {name}")
        numbers = _unpack(path, str(name), variable.values, declared)
        changed = {name: (variable.dims, numbers, attributes)}
        if name in dataset.coords:
            dataset = dataset.assign_coords(changed)
        else:
            dataset = dataset.assign(changed)
    return dataset


def _unpack(path: Path, name: str, values: Array, declared: dict[str, Array]) -> Array:
    """Return numbers from stored values, NaN where they are missing."""
    if values.dtype.kind not in "iuf" or not {_SCALE, _OFFSET} & declared.keys():
        return values
    for key, numbers in declared.items():
        if numbers.size != 1 or (key != "_FillValue" and not np.isfinite(numbers).all()):
            raise SceneError(path, f"{key} of {name} must be one finite number")
    unit = np.ones(1)
    scale = declared.get(_SCALE, unit)
    offset = declared.get(_OFFSET, 0 * unit)
    # In double precision, since single precision moves map coordinates by metres.
    numbers = values.astype(np.float64) * scale + offset
    # As numbers: the fill value is stored packed, too.
    if "_FillValue" in declared:
        numbers[values == declared["_FillValue"]] = np.nan
    return numbers
