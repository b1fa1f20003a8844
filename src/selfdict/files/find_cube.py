"""The cube among the arrays of a file: which of them it is, its axes, its bands and its grid."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict.files.cube import DIMS, Array, StoredCube, standard_name
from selfdict.files.grid import NO_GRID, add_crs, place_grid
from selfdict.files.variables import Variable, add_mapping, describe_values, find_nearby, text_of
from selfdict.files.wavelengths import describe_bands, headings_of, to_nanometres

_SHORT_NAMES = {"bands-first": "band y x", "bands-last": "y x band"}
# What is known about bands besides wavelengths, and the names in lower case that it may have.
_BAND_LISTS = {
    "fwhm": ("fwhm", "fwhms", "bandwidth"),
    "good_band": ("good_band", "good_bands", "good_wavelengths", "bbl"),
    "band_name": ("band_name", "band_names"),
    # No convention has a scale per band: these are the names that this package writes.
    "scale_factor": ("band_gain",),
    "add_offset": ("band_offset",),
}


def read_cube(
    variables: Mapping[str, Variable],
    wanted: str | None = None,
    layout: str | None = None,
    n_bands: int | None = None,
) -> StoredCube:
    """Return an array of three axes with what is found beside it.

    ``wanted`` names it if there are several. ``layout`` names its axes in order, such as
    ``"band y x"``; default: as the file says, else by what it holds, or by ``n_bands``.
    """
    name = _find_name(variables, wanted, n_bands)
    cube = describe_cube(variables, name, layout=layout, n_bands=n_bands)
    cube.notes = other_arrays(variables, {name}) + cube.notes
    return cube


def describe_cube(
    variables: Mapping[str, Variable],
    name: str,
    *,
    layout: str | None = None,
    n_bands: int | None = None,
    axes: tuple[int, int, int] | None = None,
    lists: Mapping[str, Variable] | None = None,
) -> StoredCube:
    """Return the array of a name with what is found beside it.

    ``axes`` are those of band, y and x unless its dims name them. ``lists`` are values for each
    band, such as ``wavelength``, that are not where they are looked for.
    """
    data = variables[name]
    if not data.is_cube:
        raise InputError(f"{name} must have 3 axes of real numbers, got {data.dtype} {data.shape}")
    nearby = find_nearby(variables, name)
    found = _find_lists(data, nearby)
    if n_bands is None and "wavelength" in found:
        n_bands = found["wavelength"].shape[0]
    axes, notes = _find_axes(data, layout, n_bands, axes)
    cube = StoredCube.from_stored(data, axes, data.chunks)
    cube.name = data.short_name
    cube.notes += notes
    describe_values(cube, data.attrs)
    dims = dict.fromkeys(DIMS, "")
    if data.dims:
        dims = {dim: data.dims[axis] for dim, axis in zip(DIMS, axes)}
    fitting = {key: each for key, each in found.items() if each.shape == cube.shape[:1]}
    _add_bands(cube, fitting | dict(lists or {}))
    _add_grid(cube, data, nearby, dims)
    _add_coordinates(cube, variables, dims)
    return cube


def _find_name(
    variables: Mapping[str, Variable], wanted: str | None, n_bands: int | None = None
) -> str:
    """Return the name of the array that is the cube."""
    cubes = _cubes(variables)
    texts = list(cubes.values()) or [f"{name} {each.shape}" for name, each in variables.items()]
    listed = ", ".join(texts[:8]) or "none"
    if wanted is not None:
        name = wanted.strip("/")
        if name not in variables:
            raise InputError(f"has no array {wanted!r}; there are: {listed}")
        return name
    sizes: set[int | None] = {n_bands}
    if n_bands is None:
        lists = [name for name, variable in variables.items() if len(variable.shape) == 1]
        sizes = {variables[name].shape[0] for name in headings_of("wavelength", lists)}
    # An array at the root comes before those in groups, and that of the wavelengths before others,
    # with its bands last as a rule.
    at_root = [name for name in cubes if "/" not in name]
    by_last_axis = [name for name in cubes if variables[name].shape[2] in sizes]
    by_any_axis = [name for name in cubes if not sizes.isdisjoint(variables[name].shape)]
    for names in (list(cubes), at_root, by_last_axis, by_any_axis):
        if len(names) == 1:
            return names[0]
    if not cubes:
        raise InputError(f"expected one array with 3 axes; there are: {listed}")
    raise InputError(f"expected one array with 3 axes: select one with variable=… from {listed}")


def _cubes(variables: Mapping[str, Variable]) -> dict[str, str]:
    """Return the arrays that may be a cube, and how messages name them."""
    coordinates = _coordinate_names(variables)
    cubes = {}
    for name, variable in variables.items():
        if variable.is_cube and variable.short_name not in coordinates:
            cubes[name] = f"{name} {variable.shape}"
    return cubes


def other_arrays(variables: Mapping[str, Variable], used: set[str]) -> list[str]:
    """Return a note that names the arrays of three axes that are not read, if there are any."""
    others = [text for name, text in _cubes(variables).items() if name not in used]
    if not others:
        return []
    names = " and ".join(sorted(used))
    return [f"read: {names}; variable=… reads another array: {', '.join(others[:8])}"]


def _coordinate_names(variables: Mapping[str, Variable]) -> set[str]:
    """Return the variables that are coordinates of others, or named like a dim."""
    names = {name for name, variable in variables.items() if variable.dims == (name,)}
    for variable in variables.values():
        for key in ("coordinates", "grid_mapping"):
            if variable.attrs.get(key) is not None:
                names |= set(text_of(variable.attrs[key]).split())
    return names


def _find_lists(data: Variable, nearby: list[Variable]) -> dict[str, Variable]:
    """Return the wavelengths and other lists that fit an axis, by what they are."""
    units = {"units": data.attrs.get("wavelength_units")}
    listed = [
        Variable.of(name, np.asarray(value).ravel(), attrs=units)
        for name, value in data.attrs.items()
    ]
    lists: dict[str, Variable] = {}
    for each in listed + nearby:
        if len(each.shape) == 1 and each.shape[0] in data.shape:
            lists.setdefault(each.name, each)
    found: dict[str, Variable] = {}
    numbers = [name for name, each in lists.items() if each.dtype.kind in "iuf"]
    headings = headings_of("wavelength", numbers)
    for name in numbers:
        # The coordinate of the bands themselves, as xarray users have it, if its unit is a length.
        is_length = to_nanometres(0.0, lists[name].unit() or "") is not None
        if standard_name(lists[name].short_name) == "band" and is_length:
            headings.setdefault(name, None)
    for name, unit in list(headings.items())[:1]:
        found["wavelength"] = lists[name].in_unit(unit)
    for key, names in _BAND_LISTS.items():
        for each in lists.values():
            is_usable = key == "band_name" or each.dtype.kind in "biuf"
            if is_usable and each.short_name.lower() in names:
                found.setdefault(key, each)
    return found


def _find_axes(
    data: Variable, layout: str | None, n_bands: int | None, axes: tuple[int, int, int] | None
) -> tuple[tuple[int, int, int], list[str]]:
    """Return which axes are the bands, y and x, and notes unless the dims say so."""
    notes = []
    names = tuple(str(standard_name(dim)) for dim in data.dims)
    if layout is not None:
        names = _parse_layout(layout)
        sizes = " × ".join(str(size) for size in data.shape)
        notes = [f"the axes {sizes} are {', '.join(names)}, as layout=… says"]
    elif sorted(names) != sorted(DIMS):
        if axes is not None:
            return axes, []
        names, note = guess_layout(data, n_bands)
        if data.dims:
            notes = [f"{data.name} is read as a plain array"]
        notes.append(note)
    return (names.index("band"), names.index("y"), names.index("x")), notes


def _parse_layout(layout: str) -> tuple[str, ...]:
    """Return the names of the axes in order, from them or from a short name."""
    names = tuple(_SHORT_NAMES.get(layout, layout).split())
    if sorted(names) != sorted(DIMS):
        raise InputError(
            "layout must name the axes band, y and x in their order, or be 'bands-first' or "
            f"'bands-last', got {layout!r}"
        )
    return names


def guess_layout(data: Variable, n_wavelengths: int | None) -> tuple[tuple[str, ...], str]:
    """Return the names of three axes in order, and a sentence that says how they are known."""
    matching = [axis for axis in range(3) if data.shape[axis] == n_wavelengths]
    # MATLAB files and most others keep the spectrum of a pixel along the last axis.
    axis = 2
    how = (
        ", which is a guess: the values do not decide it; "
        "layout='bands-first' takes the first axis as the bands"
    )
    if len(matching) == 1:
        axis = matching[0]
        how = ": as many bands as wavelengths"
    # Few values along an axis are too few to compare. Chunks may hold whole images.
    elif min(data.shape) >= 8 and _bytes_of_middle(data) <= 2**28:
        similar = axis_of_similar_spectra(data)
        if similar is not None:
            axis = similar
            ordinal = ("first", "second", "third")[axis]
            how = f": spectra along the {ordinal} axis are most alike; layout=… takes another"
    # Bands may also be the middle axis, as in files that interleave lines; y is before x.
    names = ["y", "x"]
    names.insert(axis, "band")
    sizes = " × ".join(str(size) for size in data.shape)
    return tuple(names), f"the axes {sizes} are taken as {', '.join(names)}{how}"


def _middle_of(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return a window in the middle of an array, of at most 64 places per axis."""
    window = []
    for size in shape:
        start = max(0, (size - 64) // 2)
        window.append(slice(start, min(size, start + 64)))
    return tuple(window)


def _bytes_of_middle(data: Variable) -> int:
    """Return the size of the chunks that the window in the middle of an array touches."""
    n_bytes = int(data.dtype.itemsize)
    for size, part in zip(data.chunks or (1, 1, 1), _middle_of(data.shape)):
        n_bytes *= size * (-(-part.stop // size) - part.start // size)
    return n_bytes


def axis_of_similar_spectra(cube: Any) -> int | None:
    """Return the axis along which three vectors explain all others best, None if it is not clear.

    A scene holds a few materials, so that its spectra lie near a space of few dimensions. Its rows
    and columns, as vectors over all pixels of an image line, do not.
    """
    values = without_outliers(cube[_middle_of(cube.shape)], None)
    largest = np.abs(values).max()
    if largest == 0:
        return None
    values /= largest
    tails = [_unexplained(values, axis, min(values.shape)) for axis in range(3)]
    best, second = np.sort(tails)[:2]
    # A constant array is explained along every axis. Cubes of noise have a ratio below 1.03, the
    # real and generated scenes of the documentation one above 1.3.
    if second <= 1e-6 or second < 1.2 * best:
        return None
    return int(np.argmin(tails))


def without_outliers(values: Array, axis: tuple[int, ...] | None) -> Array:
    """Return values as float64 without fill values, which would outweigh everything else."""
    with np.errstate(all="ignore"):
        values = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
        low, high = np.percentile(values, (1, 99), axis=axis, keepdims=True)
        return np.clip(values, low, high)


def _unexplained(values: Array, axis: int, n: int) -> float:
    """Return the share of the norm that three vectors along an axis leave, over n of its places."""
    # The same number of places for every axis: fewer are explained better.
    places = np.linspace(0, values.shape[axis] - 1, n).astype(int)
    vectors = np.moveaxis(values.take(places, axis), axis, 0).reshape(n, -1)
    powers = np.linalg.eigvalsh(vectors @ vectors.T)
    return float(np.sqrt(max(powers[:-3].sum(), 0.0) / max(powers.sum(), np.finfo(float).tiny)))


def _add_bands(cube: StoredCube, known: Mapping[str, Variable]) -> None:
    """Add lists of a value for each band."""
    wavelength = fwhm = units = fwhm_units = None
    if "wavelength" in known:
        wavelength = known["wavelength"].numbers()
        units = known["wavelength"].unit()
        if not np.isfinite(wavelength).any() or np.isinf(wavelength).any():
            raise InputError("has wavelengths that are not finite numbers")
    if "fwhm" in known:
        fwhm = known["fwhm"].numbers()
        fwhm_units = known["fwhm"].unit()
    describe_bands(cube, wavelength, units, fwhm, fwhm_units)
    if "good_band" in known:
        cube.good_band = known["good_band"].numbers() != 0
    if "band_name" in known:
        cube.band_name = [text_of(name) for name in known["band_name"].numbers()]
    for key in ("scale_factor", "add_offset"):
        if key in known:
            if getattr(cube, key) is not None:
                raise InputError(f"has a {key} for all bands and another for each of them")
            setattr(cube, key, known[key].numbers().astype(np.float64))


def _add_grid(
    cube: StoredCube, data: Variable, nearby: list[Variable], dims: Mapping[str, str]
) -> None:
    """Add CRS and transform: those of the grid mapping, or of equally spaced coordinates."""
    stored = add_mapping(cube, data, nearby)
    # Files with the dims lat and lon often declare no CRS.
    if cube.crs is None and dims["y"].lower().startswith("lat"):
        add_crs(cube, "EPSG:4326")
    centres: dict[str, Array] = {}
    for dim, size in (("y", cube.shape[1]), ("x", cube.shape[2])):
        # Rows and columns that are only counted may have map coordinates under the usual names.
        for name in (dims[dim], dim):
            for variable in nearby:
                fits = variable.short_name == name and variable.shape == (size,)
                if dim not in centres and fits and variable.dtype.kind in "iuf":
                    centres[dim] = variable.numbers()
    transform = place_grid(stored, centres.get("x"), centres.get("y"))
    if transform is not None:
        cube.transform = transform.to_gdal()
    elif len(centres) == 2:
        cube.notes.append(NO_GRID)


def _add_coordinates(
    cube: StoredCube, variables: Mapping[str, Variable], dims: Mapping[str, str]
) -> None:
    """Add the mask and the positions of the pixels, if they are coordinates of the file."""
    listed = _coordinate_names(variables)
    for key in ("valid", "lat", "lon"):
        found = variables.get(key)
        if found is not None and key in listed and set(found.dims) == {dims["y"], dims["x"]}:
            values = found.numbers()
            if found.dims[0] != dims["y"]:
                values = values.T
            if key == "valid":
                values = values != 0
            cube.coords[key] = values
