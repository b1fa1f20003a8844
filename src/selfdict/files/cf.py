"""Variables with named dims that follow the CF conventions, as NetCDF and zarr hold them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files.cube import Array, StoredCube, whole_nodata
from selfdict.files.dims import DIMS, WAVELENGTH_DIMS, standard_name
from selfdict.files.errors import SceneError
from selfdict.files.grid import NO_GRID, crs_from_text, place_grid, transform_from_numbers
from selfdict.files.units import to_nanometres, unit_note, unit_of
from selfdict.files.values import (
    ignored_notes,
    missing_notes,
    parse_numbers,
    text_of,
    unpacked,
)

# What is known about bands, and the names of the variables that may hold it.
_BAND_VARIABLES = {
    "wavelength": ("wavelength", "wavelengths", "wl", "center_wavelength", "central_wavelength"),
    "fwhm": ("fwhm", "bandwidth"),
    "good_band": ("good_band", "good_bands", "good_wavelengths", "bbl"),
    "band_name": ("band_name", "band_names"),
    # No convention has a scale per band: these are the names that this package writes.
    "scale_factor": ("band_gain",),
    "add_offset": ("band_offset",),
}
# Attributes that may declare the no-data value, the preferred one first.
_NODATA_NAMES = ("_FillValue", "missing_value", "fill_value", "nodata")


@dataclass(frozen=True)
class Variable:
    """An array of a file: its dims by name, its attributes, and a function that reads a part."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attrs: Mapping[str, Any]
    load: Callable[[Any], Any]
    chunks: tuple[int, ...] | None = None

    def values(self) -> Array:
        """Return all values."""
        return np.asarray(self.load(tuple(slice(None) for _ in self.shape)))

    def numbers(self, path: Path) -> Array:
        """Return all values, unpacked if they are packed."""
        return unpacked(path, self.name, self.values(), self.attrs)

    def unit(self) -> str | None:
        """Return the unit that the variable names."""
        unit = self.attrs.get("units")
        return None if unit is None else text_of(unit)


def read_cube(path: Path, variables: Mapping[str, Variable], wanted: str | None) -> StoredCube:
    """Return the variable with three dims; ``wanted`` names one if several have them."""
    name = _find_cube(path, variables, wanted)
    data = variables[name]
    if data.dtype.kind not in "biuf":
        raise SceneError(path, f"{name} holds {data.dtype}, not real numbers")
    dims = _file_dims(path, data)
    axes = tuple(data.dims.index(dims[dim]) for dim in DIMS)
    shape = (data.shape[axes[0]], data.shape[axes[1]], data.shape[axes[2]])
    if 0 in shape:
        raise SceneError(path, f"a scene must not be empty, {name} has the shape {data.shape}")

    def load(bands: slice, rows: slice, columns: slice) -> Array:
        key = [slice(None)] * 3
        for axis, part in zip(axes, (bands, rows, columns)):
            key[axis] = part
        return np.asarray(data.load(tuple(key))).transpose(axes)

    cube = StoredCube(load, shape, data.dtype.newbyteorder("="), name=name)
    if data.chunks is not None:
        cube.chunk = (data.chunks[axes[1]], data.chunks[axes[2]])
    _add_values(cube, path, data)
    _add_grid(cube, path, variables, data, dims)
    _add_bands(cube, path, variables, data, dims["band"])
    listed = _coordinate_names(variables)
    for key in ("valid", "lat", "lon"):
        found = variables.get(key)
        if found is not None and key in listed and set(found.dims) == {dims["y"], dims["x"]}:
            values = found.numbers(path)
            if found.dims[0] != dims["y"]:
                values = values.T
            if key == "valid":
                values = values != 0
            cube.coords[key] = values
    return cube


def _find_cube(path: Path, variables: Mapping[str, Variable], wanted: str | None) -> str:
    """Return the name of the variable that is the cube."""
    coordinates = _coordinate_names(variables)
    cubes = [
        name
        for name, variable in variables.items()
        if len(variable.dims) == 3 and name not in coordinates
    ]
    listed = ", ".join(cubes) or "none"
    if wanted is not None:
        if wanted not in variables or wanted in coordinates:
            raise SceneError(
                path, f"has no variable {wanted!r}; with three dims there are: {listed}"
            )
        return wanted
    if len(cubes) != 1:
        raise SceneError(
            path,
            "expected one variable with three dims, name one by variable=… (--variable); "
            f"there are: {listed}",
        )
    return cubes[0]


def _coordinate_names(variables: Mapping[str, Variable]) -> set[str]:
    """Return the variables that are coordinates of others, or named like a dim."""
    names = {name for name, variable in variables.items() if variable.dims == (name,)}
    for variable in variables.values():
        for key in ("coordinates", "grid_mapping"):
            if key in variable.attrs:
                names |= set(text_of(variable.attrs[key]).split())
    return names


def _file_dims(path: Path, data: Variable) -> dict[str, str]:
    """Return the names that band, y and x have in the file."""
    dims = {standard_name(dim): dim for dim in data.dims}
    if len(data.dims) != 3:
        raise SceneError(
            path, f"a scene must have 3 dimensions (band, y, x), got {len(data.dims)}: {data.dims}"
        )
    if dims.keys() != set(DIMS):
        raise SceneError(
            path, f"cannot tell which of the dims {data.dims} are band, y and x: rename them"
        )
    return {dim: dims[dim] for dim in DIMS}


def _add_values(cube: StoredCube, path: Path, data: Variable) -> None:
    """Add scale, offset and no-data value."""
    for key in ("scale_factor", "add_offset"):
        if key in data.attrs:
            numbers = parse_numbers(path, data.attrs[key], f"the attribute {key}")
            if numbers.size != 1:
                raise SceneError(path, f"the attribute {key} must be one number")
            setattr(cube, key, float(numbers[0]))
    for name in _NODATA_NAMES:
        declared = data.attrs.get(name)
        if cube.nodata is None and declared is not None:
            numbers = np.asarray(declared).ravel()
            if numbers.size and numbers.dtype.kind in "biuf":
                cube.nodata = whole_nodata(numbers[0].item(), cube.dtype)
    cube.notes += ignored_notes(data.attrs)
    cube.notes += missing_notes(cube.nodata, data.attrs.get("missing_value"))


def _add_grid(
    cube: StoredCube,
    path: Path,
    variables: Mapping[str, Variable],
    data: Variable,
    dims: Mapping[str, str],
) -> None:
    """Add CRS and transform: those of the grid mapping, or of equally spaced coordinates."""
    stored = None
    named = text_of(data.attrs.get("grid_mapping", "spatial_ref")).split(":")[0].strip()
    mapping = variables.get(named)
    if mapping is not None:
        attrs = mapping.attrs
        # GDAL writes the first name, the CF conventions know the second.
        text = attrs.get("spatial_ref", attrs.get("crs_wkt"))
        if text is not None:
            cube.crs, notes = crs_from_text(text_of(text))
            cube.notes += notes
        elif "grid_mapping_name" in attrs:
            cube.crs = _crs_from_parameters(attrs)
        if "GeoTransform" in attrs:
            numbers = parse_numbers(path, attrs["GeoTransform"], "GeoTransform")
            stored = transform_from_numbers(numbers)
    # Files with the dims lat and lon often declare no CRS.
    if cube.crs is None and dims["y"].lower().startswith("lat"):
        cube.crs, _ = crs_from_text("EPSG:4326")
    centres: dict[str, Array | None] = {}
    for dim in ("x", "y"):
        centres[dim] = None
        # Rows and columns that are only counted may have map coordinates under the usual names.
        for name in (dims[dim], dim):
            found = variables.get(name)
            if centres[dim] is None and found is not None and found.dims == (dims[dim],):
                numbers = found.numbers(path)
                if numbers.dtype.kind in "iuf":
                    centres[dim] = numbers
    transform = place_grid(stored, centres["x"], centres["y"])
    if transform is not None:
        cube.transform = transform.to_gdal()
    elif centres["x"] is not None and centres["y"] is not None:
        cube.notes.append(NO_GRID)


def _crs_from_parameters(attrs: Mapping[str, Any]) -> str | None:
    """Return the CRS that the parameters of a grid mapping give as WKT, or None."""
    import pyproj

    try:
        found = pyproj.CRS.from_cf({key: _plain(value) for key, value in attrs.items()})
    except (KeyError, ValueError, TypeError, pyproj.exceptions.ProjError):
        return None
    return str(found.to_wkt())


def _plain(value: Any) -> Any:
    """Return the value of an attribute as Python's own number, list or text."""
    if isinstance(value, bytes | str):
        return text_of(value)
    numbers = np.asarray(value)
    return numbers.item() if numbers.size == 1 else numbers.tolist()


def _add_bands(
    cube: StoredCube, path: Path, variables: Mapping[str, Variable], data: Variable, band: str
) -> None:
    """Add what the variables along the bands say."""
    found = {}
    for key, names in _BAND_VARIABLES.items():
        for name in names:
            variable = variables.get(name)
            if key not in found and variable is not None and variable.dims == (band,):
                found[key] = variable
    # The coordinate of a dim such as ``wavelength``.
    if "wavelength" not in found and band.lower() in WAVELENGTH_DIMS and band in variables:
        found["wavelength"] = variables[band]
    known = {key: variable.numbers(path) for key, variable in found.items()}
    if "wavelength" in found and known["wavelength"].dtype.kind not in "iuf":
        cube.notes.append(
            f"the coordinate {found['wavelength'].name!r} is not used: it holds no numbers"
        )
        del found["wavelength"]
    if "wavelength" in found:
        named = found["wavelength"].unit()
        cube.notes += unit_note(known["wavelength"], named)
        unit = unit_of(known["wavelength"], named)
        cube.wavelength = to_nanometres(known["wavelength"], unit)
        # Widths without a unit have that of the wavelengths; by their size it cannot be guessed.
        if "fwhm" in found:
            cube.fwhm = to_nanometres(known["fwhm"], found["fwhm"].unit() or unit)
    elif "fwhm" in found:
        cube.fwhm = known["fwhm"]
    if "good_band" in found:
        cube.good_band = known["good_band"] != 0
    if "band_name" in found:
        cube.band_name = [text_of(name) for name in known["band_name"].ravel()]
    for key in ("scale_factor", "add_offset"):
        if key in found:
            if getattr(cube, key) is not None:
                raise SceneError(path, f"has a {key} for all bands and another for each of them")
            setattr(cube, key, known[key].astype(np.float64))
