"""HDF5: products of known sensors by their tables, other files as one array of three axes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files import prisma, sensors  # noqa: F401  (register their products)
from selfdict.files.cube import DIMS, StoredCube, standard_name
from selfdict.files.errors import SceneError
from selfdict.files.hdf5_file import Hdf5File
from selfdict.files.netcdf import read_cube
from selfdict.files.products import PRODUCTS, Hdf5Product, Opened
from selfdict.files.values import describe_values, nodata_value
from selfdict.files.wavelengths import describe_bands


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
    return read_file(Hdf5File(path), variable, layout, options)


def read_file(
    file: Hdf5File, variable: str | None, layout: str | None, options: dict[str, Any]
) -> StoredCube:
    """Read an open file, see :func:`read`."""
    if layout is None:
        found = _read_product(file, variable, options)
        if found is not None:
            return found
    check_options(file.path, "HDF5", options)
    return read_cube(file.path, file.variables(), variable, layout)


def check_options(
    path: Path, what: str, given: Mapping[str, Any], known: tuple[str, ...] = ()
) -> None:
    """Refuse options that a product or a format does not have; a mask is read with any."""
    unknown = given.keys() - set(known)
    if unknown and "as_mask" not in given:
        raise SceneError(path, f"{what} is read without the option {', '.join(sorted(unknown))}")


def _read_product(
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
    axes = product.axes
    named = [standard_name(dim) for dim in file.dimensions(dataset)]
    if set(named) == set(DIMS):
        axes = (named.index("band"), named.index("y"), named.index("x"))
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
        if wavelength is not None and not np.isfinite(wavelength).all():
            raise SceneError(path, "has wavelengths that are no finite numbers")
        describe_bands(cube, wavelength, units or unit, fwhm)
        if is_good is not None:
            cube.good_band = is_good != 0
    if product.complete is not None:
        product.complete(opened)
    if product.wavelength and cube.good_band is None:
        cube.notes.append("the file marks no bands as bad")
    return opened.cube
