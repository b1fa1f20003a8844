"""zarr: a folder of chunks, of version 2 or 3."""

import base64
import json
import re
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import zarr

from selfdict._errors import InputError
from selfdict.files.cube import StoredCube
from selfdict.files.find_cube import read_cube
from selfdict.files.formats import size_of
from selfdict.files.variables import Variable

# Reading a pickle runs whatever its author wrote.
_PICKLE = re.compile(r'"(numcodecs\.)?pickle"')


def read(path: Path, *, variable: str | None = None, layout: str | None = None) -> StoredCube:
    """Read a variable with three dims, whose axes ``layout`` names if the store does not."""
    if not path.is_dir():
        raise InputError("a zarr store is a folder, this is a file")
    held = size_of(path, refuse_links=True)
    is_consolidated = (path / ".zmetadata").is_file()
    cube = read_group(path, variable, layout, consolidated=is_consolidated)
    cube.held = held
    return cube


def read_group(
    store: Path | str,
    variable: str | None,
    layout: str | None,
    *,
    consolidated: bool | None = None,
    settings: dict[str, Any] | None = None,
) -> StoredCube:
    """Read a variable of a store, a folder or an address with settings of fsspec."""
    opened = zarr.open(store, mode="r", use_consolidated=consolidated, storage_options=settings)
    # A store may be an array by itself, without a name.
    arrays = [("array", opened)]
    if isinstance(opened, zarr.Group):
        arrays = list(opened.arrays())
    variables = {}
    for name, array in arrays:
        metadata = array.metadata.to_dict()
        if _PICKLE.search(json.dumps(metadata, default=str)):
            raise InputError(f"{name} uses the codec pickle, which could run code and is refused")
        attrs = dict(array.attrs)
        dims = attrs.pop("_ARRAY_DIMENSIONS", None) or metadata.get("dimension_names")
        if dims is None:
            dims = [f"dim_{axis}" for axis in range(array.ndim)]
        _decode_fill_value(attrs, array)
        found = Variable.of(name, array, tuple(dims), attrs)
        variables[name] = replace(found, chunks=array.shards or array.chunks)
    if not variables and isinstance(store, str):
        raise InputError("has no consolidated metadata, which a store on a server needs")
    return read_cube(variables, variable, layout)


def _decode_fill_value(attrs: dict[str, Any], array: Any) -> None:
    """Let ``_FillValue`` be the no-data value of an array, as xarray has stored it."""
    stored = attrs.get("_FillValue")
    # Of version 2 it is the fill value of the array itself.
    if stored is None and array.metadata.zarr_format == 2 and array.fill_value is not None:
        attrs["_FillValue"] = array.fill_value
    # Of version 3 it is a floating-point number in base 64.
    if isinstance(stored, str) and array.dtype.kind == "f":
        (attrs["_FillValue"],) = struct.unpack("<d", base64.standard_b64decode(stored))
