"""NetCDF: version 4, which is HDF5, and version 3; variables that follow the CF conventions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files.cube import DIMS, WAVELENGTH_DIMS, Array, StoredCube, standard_name
from selfdict.files.errors import SceneError
from selfdict.files.grid import NO_GRID, add_grid_mapping, crs_from_text, place_grid
from selfdict.files.values import describe_values, text_of, unpacked
from selfdict.files.wavelengths import describe_bands

# Attributes by which HDF5 and the NetCDF library keep dims.
_HIDDEN = {
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
}
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

    def __getitem__(self, key: Any) -> Any:
        return self.load(key)

    def numbers(self, path: Path) -> Array:
        """Return all values, unpacked if they are packed."""
        values = np.asarray(self.load(tuple(slice(None) for _ in self.shape)))
        return unpacked(path, self.name, values, self.attrs)

    def unit(self) -> str | None:
        """Return the unit that the variable names."""
        unit = self.attrs.get("units")
        return None if unit is None else text_of(unit)


def read(path: Path, *, variable: str | None = None, **options: Any) -> StoredCube:
    """Read a variable with three dims, in a group by its path; other options are of products."""
    from selfdict.files.hdf5 import check_options
    from selfdict.files.hdf5_file import Hdf5File

    with path.open("rb") as file:
        start = file.read(4)
    # scipy reads the third kind, CDF-5 with 64-bit data, wrongly.
    if start in (b"CDF\1", b"CDF\2"):
        check_options(path, "NetCDF 3", options)
        return read_cube(path, _classic_variables(path), variable)
    if start == b"\x89HDF":
        return read_netcdf_4(Hdf5File(path), variable, options)
    raise SceneError(path, "is neither NetCDF 4 (HDF5) nor NetCDF 3 (classic or 64-bit offset)")


def read_netcdf_4(file: Any, variable: str | None, options: dict[str, Any]) -> StoredCube:
    """Read a product, a variable at the root, or an array in a group of an HDF5 file."""
    from selfdict.files import hdf5

    path = file.path
    found = hdf5.read_product(file, variable, options)
    if found is not None:
        return found
    hdf5.check_options(path, "NetCDF", options)
    variables = _hdf5_variables(file)
    if variable is not None and "/" in variable.strip("/"):
        return hdf5.read_array(file, variable)
    if variable is None and not any(len(found.dims) == 3 for found in variables.values()):
        return hdf5.read_array(file, None)
    return read_cube(path, variables, variable)


def _hdf5_variables(file: Any) -> dict[str, Variable]:
    """Return the variables at the root of a file, their dims named by dimension scales."""
    import h5py

    variables = {}
    for name in file.root:
        # Whatever other file a link names must not even be looked at.
        if not isinstance(file.root.get(name, getlink=True), h5py.HardLink):
            raise SceneError(file.path, f"{name} is a link, which may lead to another file")
        dataset = file.root[name]
        # A group, or a named data type such as an enumeration, holds no values.
        if not isinstance(dataset, h5py.Dataset):
            continue
        if dataset.external or dataset.is_virtual:
            raise SceneError(file.path, f"{name} takes its values from another file")
        if dataset.shape is None or file.is_bare_dimension(dataset):
            continue
        attrs = {key: file.attribute(dataset, key) for key in dataset.attrs if key not in _HIDDEN}
        dims = _dimension_names(file, dataset)
        name = name.removeprefix("_nc4_non_coord_")
        variables[name] = _decoded(name, dataset, dims, dataset.dtype, attrs)
    return variables


def _dimension_names(file: Any, dataset: Any) -> tuple[str, ...]:
    """Return the names of the dims of a dataset; those without a scale are numbered."""
    # A scale is its own dim.
    if file.attribute_text(dataset, "CLASS") == "DIMENSION_SCALE" and dataset.ndim == 1:
        return (dataset.name.rpartition("/")[2],)
    names = []
    for axis, dimension in enumerate(dataset.dims):
        name = f"dim_{axis}"
        if len(dimension):
            name = str(dimension[0].name).rpartition("/")[2]
        names.append(name)
    return tuple(names)


def _classic_variables(path: Path) -> dict[str, Variable]:
    from scipy.io import netcdf_file

    opened = netcdf_file(path, "r", mmap=False)
    variables = {}
    for name, stored in opened.variables.items():
        attrs = dict(stored._attributes)
        dtype = np.dtype(stored.data.dtype)
        variables[name] = _decoded(name, stored, tuple(stored.dimensions), dtype, attrs)
    return variables


def _decoded(
    name: str, stored: Any, dims: tuple[str, ...], dtype: np.dtype[Any], attrs: dict[str, Any]
) -> Variable:
    """Return a variable; characters along the last dim become text."""
    shape = tuple(int(size) for size in stored.shape)
    chunks = getattr(stored, "chunks", None)
    if dtype.kind != "S" or dtype.itemsize != 1 or not dims:
        return Variable(name, dims, shape, dtype, attrs, stored.__getitem__, chunks)

    def load(key: Any) -> Any:
        characters = np.ascontiguousarray(stored[(*key, slice(None))])
        joined = characters.view(f"S{max(characters.shape[-1], 1)}")[..., 0]
        return np.char.decode(joined, "utf-8", "replace")

    return Variable(name, dims[:-1], shape[:-1], np.dtype(str), attrs, load)


def read_cube(path: Path, variables: Mapping[str, Variable], wanted: str | None) -> StoredCube:
    """Return the variable with three dims; ``wanted`` names one if several have them."""
    name, others = _find_cube(path, variables, wanted)
    data = variables[name]
    if data.dtype.kind not in "biuf":
        raise SceneError(path, f"{name} holds {data.dtype}, not real numbers")
    dims = _file_dims(path, data)
    axes = (
        data.dims.index(dims["band"]),
        data.dims.index(dims["y"]),
        data.dims.index(dims["x"]),
    )
    cube = StoredCube.from_stored(data, axes, data.chunks)
    cube.name = name
    if others:
        cube.notes.append(f"{name} is read; variable=… reads another array: {others}")
    describe_values(cube, path, data.attrs)
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


def _find_cube(
    path: Path, variables: Mapping[str, Variable], wanted: str | None
) -> tuple[str, str]:
    """Return the name of the variable that is the cube, and a list of others."""
    coordinates = _coordinate_names(variables)
    cubes = [
        name
        for name, variable in variables.items()
        if len(variable.dims) == 3 and name not in coordinates
    ]
    listed = ", ".join(f"{name} {variables[name].shape}" for name in cubes[:8]) or "none"
    if wanted is not None:
        if wanted not in variables or wanted in coordinates:
            raise SceneError(
                path, f"has no variable {wanted!r}; with three dims there are: {listed}"
            )
        others = [f"{name} {variables[name].shape}" for name in cubes if name != wanted]
        return wanted, ", ".join(others[:8])
    if len(cubes) != 1:
        raise SceneError(
            path,
            f"expected one variable with three dims, name one by variable=…; there are: {listed}",
        )
    return cubes[0], ""


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
        stored = add_grid_mapping(cube, path, mapping.attrs)
        if cube.crs is None and "grid_mapping_name" in mapping.attrs:
            cube.crs = _crs_from_parameters(mapping.attrs)
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
        del known["wavelength"]
    units = {key: variable.unit() for key, variable in found.items()}
    describe_bands(
        cube,
        known.get("wavelength"),
        units.get("wavelength"),
        known.get("fwhm"),
        units.get("fwhm"),
    )
    if "good_band" in found:
        cube.good_band = known["good_band"] != 0
    if "band_name" in found:
        cube.band_name = [text_of(name) for name in known["band_name"].ravel()]
    for key in ("scale_factor", "add_offset"):
        if key in found:
            if getattr(cube, key) is not None:
                raise SceneError(path, f"has a {key} for all bands and another for each of them")
            setattr(cube, key, known[key].astype(np.float64))
