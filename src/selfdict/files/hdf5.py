"""HDF5 and NetCDF: products of known sensors by their tables, other files as one array.

NetCDF 4 is HDF5; version 3 is read by scipy.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py

from selfdict.files import prisma, sensors  # noqa: F401  (register their products)
from selfdict.files.cube import DIMS, Array, StoredCube, standard_name
from selfdict.files.errors import SceneError
from selfdict.files.find_cube import other_arrays, read_cube
from selfdict.files.formats import PRODUCTS, Hdf5Product, Opened
from selfdict.files.variables import (
    Variable,
    describe_values,
    nodata_value,
    parse_numbers,
    text_of,
)
from selfdict.files.wavelengths import check_wavelengths, describe_bands


class Hdf5File:
    """An open file, without what it links to in other files.

    A name is the path of a dataset or of a group, or ``path@attribute``; missing ones are None.
    """

    def __init__(self, path: Path, source: Any = None) -> None:
        """Open a file, or a ``source`` of its bytes elsewhere."""
        self.path = path
        if source is None and not h5py.is_hdf5(path):
            raise SceneError(path, "is not an HDF5 file; HDF4 is not read")
        # Neighbouring blocks share unpacked chunks in the cache, of a prime number of slots.
        # A lock would keep others from writing as long as the scene is used.
        self.root = h5py.File(
            source or path, "r", rdcc_nbytes=2**28, rdcc_nslots=10_007, locking=False
        )

    def node(self, name: str) -> Any:
        """Return the group or dataset of a path, if its values are in this file.

        External links, external storage and virtual datasets would let a file read whatever its
        author names.
        """
        node = self.root
        # Any group on the way may be a link: each is examined before it is followed.
        for part in filter(None, name.split("/")):
            if not isinstance(node, h5py.Group):
                return None
            if not isinstance(node.get(part, getlink=True), h5py.HardLink):
                return None
            node = node[part]
        if not isinstance(node, h5py.Dataset):
            return node
        # The words of the NetCDF library for a dimension without values, followed by its size.
        words = "This is a netCDF dimension but not a netCDF variable"
        if node.external or node.is_virtual or text_of(node.attrs.get("NAME")).startswith(words):
            return None
        return node

    def dataset(self, name: str) -> Any:
        """Return the dataset of a path."""
        node = self.node(name)
        if not isinstance(node, h5py.Dataset):
            return None
        return node

    def require(self, name: str) -> Any:
        """Return the dataset of a path; it is an error if there is none."""
        dataset = self.dataset(name)
        if dataset is None:
            raise SceneError(self.path, f"has no dataset {name} of its own")
        return dataset

    def cube(self, name: str) -> Any:
        """Return the dataset of a path, which must have three axes of real numbers."""
        dataset = self.require(name)
        if dataset.ndim != 3 or dataset.dtype.kind not in "iuf" or 0 in dataset.shape:
            raise SceneError(
                self.path,
                f"{name} must have 3 axes of real numbers, got {dataset.dtype} {dataset.shape}",
            )
        return dataset

    def datasets(self) -> dict[str, Any]:
        """Return the datasets with values in all groups, by path."""
        names: list[str] = []
        # Unlike visit() this does not look up the chunks of every dataset. h5py returns names that
        # are not UTF-8 as bytes.
        self.root.visit_links(lambda name: names.append(str(name)))
        found = {}
        for name in sorted(names):
            # Looking up a path takes time for each of its groups.
            if name.count("/") <= 32:
                dataset = self.dataset(name)
                if dataset is not None and dataset.shape is not None:
                    found[name] = dataset
        return found

    def variables(self) -> dict[str, Variable]:
        """Return the same with their dims and attributes."""
        found = [self.as_variable(name, dataset) for name, dataset in self.datasets().items()]
        return {variable.name: variable for variable in found}

    def variable(self, name: str) -> Variable | None:
        """Return the dataset of a path with its dims and attributes."""
        dataset = self.dataset(name)
        if dataset is None:
            return None
        return self.as_variable(name, dataset)

    def as_variable(self, name: str, dataset: Any) -> Variable:
        """Return a dataset with its dims and attributes."""
        attrs = {}
        for key in dataset.attrs:
            # References by which HDF5 and the NetCDF library keep dims.
            if key not in ("DIMENSION_LIST", "REFERENCE_LIST"):
                value = dataset.attrs[key]
                if not isinstance(value, h5py.Empty):
                    attrs[key] = value
        # A variable that is named like a dim of another one.
        name = name.replace("_nc4_non_coord_", "")
        return Variable.of(self.path, name, dataset, _dimensions(dataset), attrs)

    def value(self, name: str) -> Any:
        """Return what a dataset or an attribute holds."""
        place, at, key = name.partition("@")
        node = self.node(place)
        value = None
        if at and node is not None:
            value = node.attrs.get(key)
        elif isinstance(node, h5py.Dataset):
            value = node[()]
        if isinstance(value, h5py.Empty):
            return None
        return value

    def text(self, name: str) -> str:
        """Return the text of a dataset or an attribute, empty if it is missing."""
        value = self.value(name)
        if value is None:
            return ""
        return text_of(value)

    def numbers(self, name: str) -> Array | None:
        """Return the numbers of a dataset, unpacked if they are packed, or of an attribute (n,)."""
        variable = self.variable(name)
        if variable is not None:
            return variable.numbers()
        value = self.value(name)
        if value is None:
            return None
        return parse_numbers(self.path, value, f"the attribute {name.rpartition('@')[2]}")

    def number(self, name: str) -> float | None:
        """Return the only number of an attribute."""
        values = self.numbers(name)
        if values is None:
            return None
        if values.size != 1:
            raise SceneError(self.path, f"{name} must be one number, it has {values.size}")
        return float(values[0])


def _dimensions(dataset: Any) -> tuple[str, ...]:
    """Return the names of the dims of a dataset; those without a scale are numbered."""
    # A scale is its own dim.
    if text_of(dataset.attrs.get("CLASS")) == "DIMENSION_SCALE" and dataset.ndim == 1:
        return (dataset.name.rpartition("/")[2],)
    names = []
    for axis, dimension in enumerate(dataset.dims):
        name = f"dim_{axis}"
        if len(dimension):
            name = str(dimension[0].name).rpartition("/")[2]
        names.append(name)
    return tuple(names)


def read(
    path: Path, *, variable: str | None = None, layout: str | None = None, **options: Any
) -> StoredCube:
    """Read a product of a known sensor, or an array of three axes.

    With ``layout``, or with a ``variable`` that is not the cube of the product, the file is read as
    a plain array. Options are ``overlap`` (PRISMA), ``ortho`` (EMIT), ``quality``, which leaves out
    pixels that the product marks, and ``as_mask``, which reads its marks.
    """
    return read_file(Hdf5File(path), variable, layout, options)


def read_netcdf(
    path: Path, *, variable: str | None = None, layout: str | None = None, **options: Any
) -> StoredCube:
    """Read NetCDF 4 like HDF5, or a variable with three dims of version 3."""
    with path.open("rb") as file:
        start = file.read(4)
    if start == b"\x89HDF":
        return read(path, variable=variable, layout=layout, **options)
    # scipy reads the third kind, CDF-5 with 64-bit data, wrongly.
    if start not in (b"CDF\1", b"CDF\2"):
        raise SceneError(path, "is neither NetCDF 4 (HDF5) nor NetCDF 3 (classic or 64-bit offset)")
    from scipy.io import netcdf_file

    _check_options(path, "NetCDF 3", options)
    variables = {}
    for name, stored in netcdf_file(path, "r", mmap=False).variables.items():
        dims = tuple(stored.dimensions)
        variables[name] = Variable.of(path, name, stored.data, dims, dict(stored._attributes))
    return read_cube(path, variables, variable, layout)


def read_file(
    file: Hdf5File, variable: str | None, layout: str | None, options: dict[str, Any]
) -> StoredCube:
    """Read an open file, see :func:`read`."""
    if layout is None:
        found = _read_product(file, variable, options)
        if found is not None:
            return found
    _check_options(file.path, "HDF5", options)
    return read_cube(file.path, file.variables(), variable, layout)


def _check_options(
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
        if any(file.node(name) is None for name in product.needs):
            continue
        for name, sentence in product.refused.items():
            if not wanted and "as_mask" not in options and file.node(name) is not None:
                raise SceneError(file.path, sentence)
        cubes = _existing(file, product.cubes)
        if not cubes or (wanted and (product.is_joined or wanted not in cubes)):
            continue
        _check_options(file.path, product.name, options, product.options)
        name = wanted or cubes[0]
        cube = _read_table(file, product, name, options)
        used = {name}
        if product.is_joined:
            used = set(cubes)
        arrays = {}
        for place, dataset in file.datasets().items():
            if dataset.ndim == 3 and dataset.dtype.kind in "iuf":
                arrays[place] = f"{place} {dataset.shape}"
        cube.notes += other_arrays(arrays, used)
        return cube
    return None


def _existing(file: Hdf5File, patterns: tuple[str, ...]) -> list[str]:
    """Return the paths of datasets that patterns name."""
    names = []
    for pattern in patterns:
        if pattern.startswith("*/"):
            names += [f"{group}/{pattern[2:]}" for group in file.root if isinstance(group, str)]
        else:
            names.append(pattern)
    return [name for name in names if file.dataset(name) is not None]


def _read_table(
    file: Hdf5File, product: Hdf5Product, name: str, options: dict[str, Any]
) -> StoredCube:
    """Return the cube of a product as its table describes it."""
    path = file.path
    dataset = file.cube(name)
    data = file.as_variable(name, dataset)
    axes = product.axes
    named = [standard_name(dim) for dim in data.dims]
    if set(named) == set(DIMS):
        axes = (named.index("band"), named.index("y"), named.index("x"))
    cube = StoredCube.from_stored(dataset, axes, dataset.chunks)
    if product.divisor:
        divisor = file.number(f"{name}@{product.divisor}")
        if divisor is None or not 0 < divisor < float("inf"):
            raise SceneError(path, f"needs an attribute {product.divisor} above 0, got {divisor}")
        cube.scale_factor = 1 / divisor
        cube.nodata = nodata_value(path, data.attrs, product.nodata, cube.dtype)
    else:
        describe_values(cube, path, data.attrs)
    opened = Opened(file, name, dataset, cube, options)
    if product.wavelength:
        wavelength, unit = _listed(opened, product.wavelength)
        fwhm, _ = _listed(opened, product.fwhm)
        is_good, _ = _listed(opened, product.good_band)
        if product.units.startswith("@"):
            unit = file.text(name + product.units)
        elif product.units:
            unit = product.units
        check_wavelengths(path, wavelength)
        describe_bands(cube, wavelength, unit, fwhm)
        if is_good is not None:
            cube.good_band = is_good != 0
    if product.complete is not None:
        product.complete(opened)
    if product.wavelength and cube.good_band is None:
        cube.notes.append("the file marks no bands as bad")
    return opened.cube


def _listed(opened: Opened, name: str) -> tuple[Array | None, str | None]:
    """Return the numbers that a name of the table stands for, and their unit."""
    if name.startswith("@"):
        return opened.file.numbers(opened.cube_name + name), None
    for place in (f"{opened.group}/{name}", name):
        variable = opened.file.variable(place)
        if name and variable is not None:
            return variable.numbers(), variable.unit()
    return None, None
