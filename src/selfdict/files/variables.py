"""Arrays of HDF5, NetCDF, zarr, MATLAB and NumPy files by name, and what their attributes mean."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from affine import Affine

from selfdict._errors import InputError
from selfdict.files.cube import Array, StoredCube, parse_floats, whole_nodata
from selfdict.files.grid import add_crs, transform_from_numbers

_PACKING = ("scale_factor", "add_offset")
# Attributes that may declare the no-data value, the preferred one first.
_NODATA = ("_FillValue", "missing_value", "fill_value", "nodata")
# Names of attributes that change what values mean, or say which values are measurements.
_MEANING = re.compile(
    "scale|offset|gain|ignore|no_?data|fill|missing|unsigned|^valid_(min|max|range)$", re.IGNORECASE
)


@dataclass(frozen=True)
class Variable:
    """An array of a file, of which parts are read on use."""

    name: str  # with the groups that it is in
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    load: Callable[[Any], Any]
    dims: tuple[str, ...] = ()  # their names, none if the format has no names
    attrs: Mapping[str, Any] = field(default_factory=dict)
    chunks: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        stored: Any,
        dims: tuple[str, ...] = (),
        attrs: Mapping[str, Any] | None = None,
    ) -> "Variable":
        """Return an array of any library as a variable."""
        shape = tuple(int(size) for size in stored.shape)
        chunks = getattr(stored, "chunks", None)
        dtype = np.dtype(stored.dtype)
        return cls(name, shape, dtype, stored.__getitem__, dims, attrs or {}, chunks)

    def __getitem__(self, key: Any) -> Any:
        return self.load(key)

    @property
    def short_name(self) -> str:
        """The name without groups, or without the structs of MATLAB."""
        return re.split("[/.]", self.name)[-1]

    @property
    def is_cube(self) -> bool:
        """Whether it has three axes of real numbers."""
        return len(self.shape) == 3 and self.dtype.kind in "biuf"

    def numbers(self) -> Array:
        """Return all values, unpacked if they are packed; NaN for the fill."""
        values = np.asarray(self.load(tuple(slice(None) for _ in self.shape)))
        if values.dtype.kind not in "iuf" or self.attrs.keys().isdisjoint(_PACKING):
            return values
        scale, offset = (
            parse_numbers(self.attrs.get(key, default), f"{key} of {self.name}")
            for key, default in zip(_PACKING, (1.0, 0.0))
        )
        if scale.size != 1 or offset.size != 1 or not np.isfinite(scale + offset).all():
            raise InputError(
                f"{' and '.join(_PACKING)} of {self.name} must be one finite number each"
            )
        # In double precision, since single precision moves map coordinates by metres.
        numbers: Array = values.astype(np.float64) * scale + offset
        # The fill value is stored packed, too.
        if "_FillValue" in self.attrs:
            fill = parse_numbers(self.attrs["_FillValue"], f"_FillValue of {self.name}")
            numbers[np.isin(values, fill)] = np.nan
        return numbers

    def in_unit(self, unit: str | None) -> "Variable":
        """Return the same with another unit, if one is given."""
        if not unit:
            return self
        return replace(self, attrs={**self.attrs, "units": unit})

    def unit(self) -> str | None:
        """Return the unit that the variable names."""
        for name in ("units", "Units", "unit", "Unit"):
            if self.attrs.get(name) is not None:
                return text_of(self.attrs[name])
        return None


def text_of(value: Any) -> str:
    """Return text that a file holds, as bytes, as str or as an array of one of them."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.ravel()[0]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    # h5py keeps bytes that are not UTF-8 as characters that cannot be printed.
    return str(value).encode("utf-8", "replace").decode("utf-8")


def parse_numbers(value: Any, what: str) -> Array:
    """Return numbers, or a text of numbers separated by spaces or commas, as float64 (n,)."""
    values = np.asarray(value).ravel()
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    text = text_of(value)
    numbers = parse_floats(text.replace(",", " ").split())
    if numbers is None:
        raise InputError(f"{what} must hold numbers, the file says {text[:80]!r}")
    return numbers


def describe_values(cube: StoredCube, attrs: Mapping[str, Any]) -> None:
    """Add scale, offset and no-data value, as attributes of the CF conventions declare them."""
    n_bands = cube.shape[0]
    for name in _PACKING:
        if attrs.get(name) is None:
            continue
        values = parse_numbers(attrs[name], f"the attribute {name}")
        if values.size not in (1, n_bands):
            raise InputError(
                f"the attribute {name} must be a single number or one for each of the {n_bands} "
                f"bands; it has {values.size}"
            )
        setattr(cube, name, values)
        if values.size == 1:
            setattr(cube, name, float(values[0]))
    applied = set(_PACKING)
    for name in _NODATA:
        if attrs.get(name) is None:
            continue
        values = parse_numbers(attrs[name], f"the attribute {name}")
        if values.size == 0:
            continue
        declared = whole_nodata(float(values[0]), cube.dtype)
        if cube.nodata is None:
            cube.nodata = declared
        # The same value under another name; NaN differs from itself.
        if str(declared) == str(cube.nodata):
            applied.add(name)
    ignored = [name for name in attrs if name not in applied and _MEANING.search(name)]
    if ignored:
        listed = ", ".join(f"{name[:40]} {text_of(attrs[name])[:40]}" for name in ignored[:5])
        cube.notes.append(f"attributes of the file are not applied: {listed}")


def find_nearby(variables: Mapping[str, Variable], name: str) -> list[Variable]:
    """Return the variables in the group of one, then those in the groups around it."""
    found = []
    group = name
    while group:
        group = group.rpartition("/")[0]
        found += [each for each in variables.values() if each.name.rpartition("/")[0] == group]
    return found


def add_mapping(cube: StoredCube, data: Variable, nearby: list[Variable]) -> Affine | None:
    """Add the CRS of the grid mapping of an array; return GDAL's ``GeoTransform``, if it has it."""
    named = text_of(data.attrs.get("grid_mapping") or "").split(":")[0].strip()
    # Files of AVIRIS have one of the last two names, and need not refer to it.
    for name in (named.rpartition("/")[2], "spatial_ref", "transverse_mercator", "projection"):
        for mapping in nearby:
            if mapping.short_name == name:
                return _add_grid_mapping(cube, mapping.attrs)
    return None


def _add_grid_mapping(cube: StoredCube, attrs: Mapping[str, Any]) -> Affine | None:
    # GDAL writes the first name, the CF conventions know the second.
    text = text_of(attrs.get("spatial_ref", attrs.get("crs_wkt", "")))
    if text:
        add_crs(cube, text)
    if cube.crs is None and "grid_mapping_name" in attrs:
        cube.crs = _crs_from_parameters(attrs)
    if attrs.get("GeoTransform") is None:
        return None
    return transform_from_numbers(parse_numbers(attrs["GeoTransform"], "GeoTransform"))


def _crs_from_parameters(attrs: Mapping[str, Any]) -> str | None:
    """Return the CRS that the parameters of a grid mapping give as WKT, or None."""
    import pyproj

    parameters: dict[str, Any] = {}
    for key, value in attrs.items():
        if np.asarray(value).dtype.kind in "biuf":
            parameters[key] = np.squeeze(value).tolist()
        else:
            parameters[key] = text_of(value)
    try:
        return str(pyproj.CRS.from_cf(parameters).to_wkt())
    except (KeyError, ValueError, TypeError, pyproj.exceptions.ProjError):
        return None
