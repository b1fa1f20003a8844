"""NetCDF, and what it shares with HDF5 and zarr: dims by name, attributes of the CF conventions.

NetCDF 4 is HDF5; version 3 is read by scipy. Where dims have no names that are known, the axes are
guessed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from affine import Affine

from selfdict.files.arrays import wavelength_names
from selfdict.files.axes import guess_layout, middle_of, parse_layout
from selfdict.files.cube import DIMS, Array, StoredCube, standard_name
from selfdict.files.errors import SceneError
from selfdict.files.grid import NO_GRID, add_grid_mapping, crs_from_text, place_grid
from selfdict.files.values import describe_values, text_of, unpacked
from selfdict.files.wavelengths import describe_bands

# What is known about bands besides wavelengths, and the names in lower case that it may have.
_BAND_LISTS = {
    "fwhm": ("fwhm", "fwhms", "bandwidth"),
    "good_band": ("good_band", "good_bands", "good_wavelengths", "bbl"),
    "band_name": ("band_name", "band_names"),
    # No convention has a scale per band: these are the names that this package writes.
    "scale_factor": ("band_gain",),
    "add_offset": ("band_offset",),
}


@dataclass(frozen=True)
class Variable:
    """An array of a file: its dims by name, its attributes, and a function that reads a part."""

    name: str  # with the groups that it is in
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    attrs: Mapping[str, Any]
    load: Callable[[Any], Any]
    chunks: tuple[int, ...] | None = None

    def __getitem__(self, key: Any) -> Any:
        return self.load(key)

    @property
    def short_name(self) -> str:
        """The name without groups."""
        return self.name.rpartition("/")[2]

    def numbers(self, path: Path) -> Array:
        """Return all values, unpacked if they are packed."""
        values = np.asarray(self.load(tuple(slice(None) for _ in self.shape)))
        return unpacked(path, self.name, values, self.attrs)

    def unit(self) -> str | None:
        """Return the unit that the variable names."""
        for name in ("units", "Units", "unit", "Unit"):
            if self.attrs.get(name) is not None:
                return text_of(self.attrs[name])
        return None


def read(
    path: Path, *, variable: str | None = None, layout: str | None = None, **options: Any
) -> StoredCube:
    """Read a variable with three dims, in a group by its path; other options are of products."""
    from selfdict.files import hdf5

    with path.open("rb") as file:
        start = file.read(4)
    # scipy reads the third kind, CDF-5 with 64-bit data, wrongly.
    if start in (b"CDF\1", b"CDF\2"):
        hdf5.check_options(path, "NetCDF 3", options)
        return read_cube(path, _classic_variables(path), variable, layout)
    if start == b"\x89HDF":
        return hdf5.read(path, variable=variable, layout=layout, **options)
    raise SceneError(path, "is neither NetCDF 4 (HDF5) nor NetCDF 3 (classic or 64-bit offset)")


def _classic_variables(path: Path) -> dict[str, Variable]:
    from scipy.io import netcdf_file

    opened = netcdf_file(path, "r", mmap=False)
    variables = {}
    for name, stored in opened.variables.items():
        attrs = dict(stored._attributes)
        dtype = np.dtype(stored.data.dtype)
        variables[name] = decoded(name, stored, tuple(stored.dimensions), dtype, attrs)
    return variables


def decoded(
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


def read_cube(
    path: Path, variables: Mapping[str, Variable], wanted: str | None, layout: str | None = None
) -> StoredCube:
    """Return an array of three axes with what is found beside it.

    ``wanted`` names it if there are several. ``layout`` names its axes in order, such as
    ``"band y x"``; default: as the file says, else by what it holds.
    """
    name, notes = _find_cube(path, variables, wanted)
    data = variables[name]
    if len(data.shape) != 3 or data.dtype.kind not in "biuf":
        raise SceneError(
            path, f"{name} must have 3 axes of real numbers, got {data.dtype} {data.shape}"
        )
    nearby = find_nearby(variables, name)
    wavelength, units = _find_wavelengths(path, data, nearby)
    names, axis_notes = _find_axes(data, wavelength, layout)
    axes = (names.index("band"), names.index("y"), names.index("x"))
    cube = StoredCube.from_stored(data, axes, data.chunks)
    cube.name = data.short_name
    cube.notes += [*notes, *axis_notes]
    describe_values(cube, path, data.attrs)
    dims = {dim: data.dims[axis] for dim, axis in zip(DIMS, axes)}
    _add_bands(cube, path, data, nearby, wavelength, units)
    _add_grid(cube, path, data, nearby, dims)
    _add_coordinates(cube, path, variables, dims)
    return cube


def _find_cube(
    path: Path, variables: Mapping[str, Variable], wanted: str | None
) -> tuple[str, list[str]]:
    """Return the name of the array that is the cube, and a note about others."""
    coordinates = _coordinate_names(variables)
    cubes = {}
    for name, variable in variables.items():
        is_cube = len(variable.shape) == 3 and variable.dtype.kind in "biuf"
        if is_cube and variable.short_name not in coordinates:
            cubes[name] = f"{name} {variable.shape}"
    listed = ", ".join(list(cubes.values())[:8]) or "none"
    found = (wanted or "").strip("/")
    if wanted is not None and found not in variables:
        raise SceneError(path, f"has no array {wanted!r}; of three axes there are: {listed}")
    # An array at the root comes before those in groups.
    for names in (list(cubes), [name for name in cubes if "/" not in name]):
        if not found and len(names) == 1:
            found = names[0]
    if not found:
        raise SceneError(
            path, f"expected one array of 3 axes, name one by variable=…; there are: {listed}"
        )
    others = [text for name, text in cubes.items() if name != found]
    if not others:
        return found, []
    text = ", ".join(others[:8])
    return found, [f"{found} is read; variable=… reads another array: {text}"]


def _coordinate_names(variables: Mapping[str, Variable]) -> set[str]:
    """Return the variables that are coordinates of others, or named like a dim."""
    names = {name for name, variable in variables.items() if variable.dims == (name,)}
    for variable in variables.values():
        for key in ("coordinates", "grid_mapping"):
            if variable.attrs.get(key) is not None:
                names |= set(text_of(variable.attrs[key]).split())
    return names


def find_nearby(variables: Mapping[str, Variable], name: str) -> list[Variable]:
    """Return the variables in the group of one, then those in the groups around it."""
    found = []
    group = name
    while group:
        group = group.rpartition("/")[0]
        found += [each for each in variables.values() if each.name.rpartition("/")[0] == group]
    return found


def _find_wavelengths(
    path: Path, data: Variable, nearby: list[Variable]
) -> tuple[Array | None, str | None]:
    """Return wavelengths that fit one of the axes, and their unit if it is named."""
    for key, unit in wavelength_names(data.attrs).items():
        values = np.asarray(data.attrs[key])
        if values.dtype.kind in "iuf" and values.size in data.shape:
            declared = data.attrs.get("wavelength_units")
            if unit is None and declared is not None:
                unit = text_of(declared)
            return values.ravel(), unit
    lists = {}
    for variable in reversed(nearby):
        if len(variable.shape) == 1 and variable.shape[0] in data.shape:
            lists[variable.short_name] = variable
    for name, unit in wavelength_names(lists).items():
        if lists[name].dtype.kind in "iuf":
            return lists[name].numbers(path), unit or lists[name].unit()
    return None, None


def _find_axes(
    data: Variable, wavelength: Array | None, layout: str | None
) -> tuple[tuple[str, ...], list[str]]:
    """Return which axis is the band, y and x, and a note unless the dims say so."""
    if layout is not None:
        names = parse_layout(layout)
        return names, [f"its axes are {', '.join(names)}, as layout says"]
    named = tuple(str(standard_name(dim)) for dim in data.dims)
    if sorted(named) == sorted(DIMS):
        return named, []
    n_wavelengths = None
    if wavelength is not None:
        n_wavelengths = wavelength.size
    load: Callable[[Any], Any] | None = data.load
    # Chunks may hold whole images.
    if _bytes_of_chunks(data, middle_of(data.shape)) > 2**28:
        load = None
    names, note = guess_layout(data.shape, load, n_wavelengths)
    return names, [f"{data.name} is read as a plain array", note]


def _bytes_of_chunks(data: Variable, window: tuple[slice, ...]) -> int:
    """Return how many bytes are unpacked to read a window."""
    n_bytes = int(data.dtype.itemsize)
    for size, part in zip(data.chunks or (1, 1, 1), window):
        n_bytes *= size * (-(-part.stop // size) - part.start // size)
    return n_bytes


def _add_bands(
    cube: StoredCube,
    path: Path,
    data: Variable,
    nearby: list[Variable],
    wavelength: Array | None,
    units: str | None,
) -> None:
    """Add what attributes of the cube and lists beside it say about the bands."""
    n_bands = cube.shape[0]
    if wavelength is not None and wavelength.size != n_bands:
        wavelength = None
    if wavelength is not None and not np.isfinite(wavelength).all():
        raise SceneError(path, "has wavelengths that are no finite numbers")
    known: dict[str, Array] = {}
    fwhm_units = None
    for key, names in _BAND_LISTS.items():
        for variable in nearby:
            has_name = variable.short_name.lower() in names
            if key not in known and has_name and variable.shape == (n_bands,):
                known[key] = variable.numbers(path)
                if key == "fwhm":
                    fwhm_units = variable.unit()
        for name in names:
            values = np.asarray(data.attrs.get(name))
            if key not in known and values.dtype.kind in "biuf" and values.size == n_bands:
                known[key] = values.ravel()
    describe_bands(cube, wavelength, units, known.get("fwhm"), fwhm_units)
    if "good_band" in known:
        cube.good_band = known["good_band"] != 0
    if "band_name" in known:
        cube.band_name = [text_of(name) for name in known["band_name"]]
    for key in ("scale_factor", "add_offset"):
        if key in known:
            if getattr(cube, key) is not None:
                raise SceneError(path, f"has a {key} for all bands and another for each of them")
            setattr(cube, key, known[key].astype(np.float64))


def add_mapping(
    cube: StoredCube, path: Path, data: Variable, nearby: list[Variable]
) -> Affine | None:
    """Add the CRS of the grid mapping of an array; return its ``GeoTransform``, if it has one."""
    named = text_of(data.attrs.get("grid_mapping") or "").split(":")[0].strip()
    # Files of AVIRIS have one of the last two names, and need not refer to it.
    for name in (named.rpartition("/")[2], "spatial_ref", "transverse_mercator", "projection"):
        for mapping in nearby:
            if mapping.short_name == name:
                stored = add_grid_mapping(cube, path, mapping.attrs)
                if cube.crs is None and "grid_mapping_name" in mapping.attrs:
                    cube.crs = _crs_from_parameters(mapping.attrs)
                return stored
    return None


def _add_grid(
    cube: StoredCube, path: Path, data: Variable, nearby: list[Variable], dims: Mapping[str, str]
) -> None:
    """Add CRS and transform: those of the grid mapping, or of equally spaced coordinates."""
    stored = add_mapping(cube, path, data, nearby)
    # Files with the dims lat and lon often declare no CRS.
    if cube.crs is None and dims["y"].lower().startswith("lat"):
        cube.crs, _ = crs_from_text("EPSG:4326")
    centres: dict[str, Array] = {}
    for dim, size in (("y", cube.shape[1]), ("x", cube.shape[2])):
        # Rows and columns that are only counted may have map coordinates under the usual names.
        for name in (dims[dim], dim):
            for variable in nearby:
                fits = variable.short_name == name and variable.shape == (size,)
                if dim not in centres and fits and variable.dtype.kind in "iuf":
                    centres[dim] = variable.numbers(path)
    transform = place_grid(stored, centres.get("x"), centres.get("y"))
    if transform is not None:
        cube.transform = transform.to_gdal()
    elif len(centres) == 2:
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
    if numbers.size == 1:
        return numbers.item()
    return numbers.tolist()


def _add_coordinates(
    cube: StoredCube, path: Path, variables: Mapping[str, Variable], dims: Mapping[str, str]
) -> None:
    """Add the mask and the positions of the pixels, if they are coordinates of the file."""
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
