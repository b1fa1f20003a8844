"""HDF5: products of known sensors by their tables, other files as one array of three axes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files import prisma, sensors  # noqa: F401  (register their products)
from selfdict.files.arrays import wavelength_names
from selfdict.files.axes import guess_layout, middle_of, parse_layout
from selfdict.files.cube import Array, StoredCube
from selfdict.files.errors import SceneError
from selfdict.files.hdf5_file import Hdf5File
from selfdict.files.products import PRODUCTS, Hdf5Product, Opened
from selfdict.files.values import describe_values, nodata_value
from selfdict.files.wavelengths import describe_bands

_NO_BAD_BANDS = "the file marks no bands as bad"


def read(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    **options: Any,
) -> StoredCube:
    """Read a product of a known sensor, or an array of three axes.

    With ``layout``, or with a ``variable`` that is not the cube of the product, the file is read as
    a plain array. Options are ``overlap`` (PRISMA), ``ortho`` (EMIT), ``quality``, which leaves out
    pixels that the product marks, and ``as_mask``, which reads its marks.
    """
    file = Hdf5File(path)
    if layout is None:
        found = read_product(file, variable, options)
        if found is not None:
            return found
    check_options(path, "HDF5", options)
    return read_array(file, variable, layout)


def check_options(
    path: Path, what: str, given: Mapping[str, Any], known: tuple[str, ...] = ()
) -> None:
    """Refuse options that a product or a format does not have; a mask is read with any."""
    unknown = given.keys() - set(known)
    if unknown and "as_mask" not in given:
        raise SceneError(path, f"{what} is read without the option {', '.join(sorted(unknown))}")


def read_product(
    file: Hdf5File, variable: str | None, options: dict[str, Any]
) -> StoredCube | None:
    """Return the cube of a known product; None if it is another file, or another variable."""
    wanted = (variable or "").strip("/")
    for product in PRODUCTS:
        if not all(file.has(name) for name in product.needs):
            continue
        for name, sentence in product.refused.items():
            if not wanted and "as_mask" not in options and file.has(name):
                raise SceneError(file.path, sentence)
        cubes = _existing(file, product.cubes)
        if not cubes or (wanted and (product.is_joined or wanted not in cubes)):
            continue
        check_options(file.path, product.name, options, product.options)
        name = wanted or cubes[0]
        cube = _read_table(file, product, name, options)
        used = {name}
        if product.is_joined:
            used = set(cubes)
        cube.notes += file.other_arrays(used)
        return cube
    return None


def _existing(file: Hdf5File, patterns: tuple[str, ...]) -> list[str]:
    """Return the paths of datasets that patterns name."""
    names = []
    for pattern in patterns:
        if pattern.startswith("*/"):
            names += [f"{group}/{pattern[2:]}" for group in file.members()]
        else:
            names.append(pattern)
    return [name for name in names if file.dataset(name) is not None]


def _read_table(
    file: Hdf5File, product: Hdf5Product, name: str, options: dict[str, Any]
) -> StoredCube:
    """Return the cube of a product as its table describes it."""
    path = file.path
    dataset = file.cube(name)
    axes = file.named_axes(dataset) or product.axes
    cube = StoredCube.from_stored(dataset, axes, dataset.chunks)
    if product.divisor:
        divisor = file.attribute_number(dataset, product.divisor)
        if divisor is None or not 0 < divisor < float("inf"):
            raise SceneError(path, f"needs an attribute {product.divisor} above 0, got {divisor}")
        cube.scale_factor = 1 / divisor
        cube.nodata = nodata_value(path, dict(dataset.attrs), product.nodata, cube.dtype)
    else:
        describe_values(cube, path, dict(dataset.attrs))
    opened = Opened(file, name, dataset, cube, options)
    if product.wavelength:
        wavelength, unit = opened.numbers(product.wavelength)
        units: str | None = product.units
        if product.units.startswith("@"):
            units = file.attribute_text(dataset, product.units[1:])
        fwhm, _ = opened.numbers(product.fwhm)
        is_good, _ = opened.numbers(product.good_band)
        _add_bands(cube, path, wavelength, units or unit, fwhm, is_good)
    if product.complete is not None:
        product.complete(opened)
    if product.wavelength and cube.good_band is None:
        cube.notes.append(_NO_BAD_BANDS)
    return opened.cube


def _add_bands(
    cube: StoredCube,
    path: Path,
    wavelength: Array | None,
    unit: str | None,
    fwhm: Array | None,
    is_good: Array | None,
) -> None:
    if wavelength is not None and not np.isfinite(wavelength).all():
        raise SceneError(path, "has wavelengths that are no finite numbers")
    describe_bands(cube, wavelength, unit, fwhm)
    if is_good is not None:
        cube.good_band = is_good != 0


def read_array(file: Hdf5File, variable: str | None, layout: str | None = None) -> StoredCube:
    """Read one array of three axes with what is found beside it.

    ``variable`` is the path of the array, needed if several have three axes. ``layout`` names the
    axes in order, such as ``"band y x"``; default: as the file says, else by what it holds.
    """
    name = _find_cube(file, variable)
    dataset = file.cube(name)
    wavelength, units = _find_wavelengths(file, name, dataset)
    axes, axis_note = _find_axes(file, dataset, wavelength, layout)
    cube = StoredCube.from_stored(dataset, axes, dataset.chunks)
    cube.name = name.rpartition("/")[2]
    cube.notes += [f"{name} is read as a plain array", axis_note]
    describe_values(cube, file.path, dict(dataset.attrs))
    n_bands = cube.shape[0]
    if wavelength is not None and wavelength.size != n_bands:
        wavelength = None
    fwhm = _find_list(file, name, dataset, ("fwhm", "fwhms"), n_bands)
    marks = ("good_wavelengths", "good_band", "good_bands", "bbl")
    is_good = _find_list(file, name, dataset, marks, n_bands)
    _add_bands(cube, file.path, wavelength, units, fwhm, is_good)
    if cube.good_band is None:
        cube.notes.append(_NO_BAD_BANDS)
    file.add_grid(cube, name, dataset)
    cube.notes += file.other_arrays({name})
    return cube


def _find_cube(file: Hdf5File, variable: str | None) -> str:
    """Return the path of the array to read, without a slash at its start."""
    if variable is not None:
        name = variable.strip("/")
        if name and file.dataset(name) is not None:
            return name
        raise SceneError(
            file.path, f"has no dataset {variable!r} of its own; there are: {file.listed()}"
        )
    cubes = file.cubes()
    if len(cubes) != 1:
        raise SceneError(
            file.path,
            f"expected one array of 3 axes, name one by variable=…; there are: {file.listed()}",
        )
    return next(iter(cubes))


def _find_axes(
    file: Hdf5File, dataset: Any, wavelength: Array | None, layout: str | None
) -> tuple[tuple[int, int, int], str]:
    """Return which axes are band, y and x, and how that is known."""
    named = file.named_axes(dataset)
    if layout is not None:
        names = parse_layout(layout)
        note = f"its axes are {', '.join(names)}, as layout says"
    elif named is not None:
        return named, "its axes are those that its dimension scales name"
    else:
        n_wavelengths = None
        if wavelength is not None:
            n_wavelengths = wavelength.size
        load = dataset.__getitem__
        # Chunks may hold whole images.
        if _bytes_of_chunks(dataset, middle_of(dataset.shape)) > 2**28:
            load = None
        names, note = guess_layout(dataset.shape, load, n_wavelengths)
    return (names.index("band"), names.index("y"), names.index("x")), note


def _bytes_of_chunks(dataset: Any, window: tuple[slice, ...]) -> int:
    """Return how many bytes HDF5 unpacks to read a window."""
    n_bytes = int(dataset.dtype.itemsize)
    for size, part in zip(dataset.chunks or (1, 1, 1), window):
        n_bytes *= size * (-(-part.stop // size) - part.start // size)
    return n_bytes


def _find_wavelengths(file: Hdf5File, name: str, dataset: Any) -> tuple[Array | None, str | None]:
    """Return wavelengths that fit one of the axes, and their unit if it is named."""
    for key, unit in wavelength_names(dataset.attrs).items():
        values = np.asarray(file.attribute(dataset, key))
        if values.dtype.kind in "iuf" and values.size in dataset.shape:
            return values.ravel(), unit or file.attribute_text(dataset, "wavelength_units")
    for found in _lists_beside(file, name, set(dataset.shape)):
        for unit in wavelength_names([found.rpartition("/")[2]]).values():
            return file.numbers(found), unit or file.unit(found)
    return None, None


def _find_list(
    file: Hdf5File, cube_name: str, dataset: Any, names: tuple[str, ...], n_bands: int
) -> Array | None:
    """Return one number per band, from an attribute of the cube or a dataset near it."""
    for name in names:
        values = file.attribute_numbers(dataset, name)
        if values is not None and values.size == n_bands:
            return values
    for found in _lists_beside(file, cube_name, {n_bands}):
        if found.rpartition("/")[2].lower() in names:
            return file.numbers(found)
    return None


def _lists_beside(file: Hdf5File, cube_name: str, sizes: set[int]) -> list[str]:
    """Return the paths of lists in the group of the cube, and in the groups around it."""
    found = []
    group = cube_name
    while group:
        group = group.rpartition("/")[0]
        for member in file.members(group):
            path = f"{group}/{member}".strip("/")
            dataset = file.dataset(path)
            if dataset is None or dataset.dtype.kind not in "biuf" or not file.has(path):
                continue
            if len(dataset.shape or ()) == 1 and dataset.shape[0] in sizes:
                found.append(path)
    return found
