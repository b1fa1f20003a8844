"""HDF5 and NetCDF: products of known sensors by their tables, other files as one array.

NetCDF 4 is HDF5; version 3 is read by scipy.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from selfdict._errors import InputError, SceneError
from selfdict.files.cube import Array, StoredCube
from selfdict.files.find_cube import describe_cube, other_arrays, read_cube
from selfdict.files.formats import options_of
from selfdict.files.products import PRODUCTS, Hdf5Product, Opened
from selfdict.files.variables import Variable, parse_numbers, text_of


class Hdf5File:
    """An open file, without what it links to in other files.

    A name is the path of a dataset or of a group, or ``path@attribute``; missing ones are None.
    """

    def __init__(self, path: Path, source: Any = None) -> None:
        """Open a file, or a ``source`` of its bytes elsewhere."""
        self.path = path
        if source is None and not h5py.is_hdf5(path):
            raise SceneError(
                path,
                "is neither HDF5, NetCDF 4 nor NetCDF 3 (classic or 64-bit offset); "
                "HDF4 is not read",
            )
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

    def require(self, name: str) -> Variable:
        """Return the dataset of a path; it is an error if there is none."""
        variable = self.variable(name)
        if variable is None:
            raise SceneError(
                self.path, f"has no dataset {name} (links to other files are not followed)"
            )
        return variable

    def variables(self) -> dict[str, Variable]:
        """Return the datasets with values in all groups, by path."""
        names: list[str] = []
        # Unlike visit() this does not look up the chunks of every dataset. h5py returns names that
        # are not UTF-8 as bytes.
        self.root.visit_links(lambda name: names.append(str(name)))
        # Looking up a path takes time for each of its groups.
        found = [self.variable(name) for name in sorted(names) if name.count("/") <= 32]
        return {variable.name: variable for variable in found if variable is not None}

    def variable(self, name: str) -> Variable | None:
        """Return a dataset with its dims and attributes, or the values of an attribute (n,)."""
        place, at, key = name.partition("@")
        node = self.node(place)
        if at and node is not None:
            value = node.attrs.get(key)
            if value is None or isinstance(value, h5py.Empty):
                return None
            return Variable.of(name, np.ravel(value))
        if not isinstance(node, h5py.Dataset) or node.shape is None:
            return None
        attrs = {}
        for key in node.attrs:
            # References by which HDF5 and the NetCDF library keep dims.
            if key not in ("DIMENSION_LIST", "REFERENCE_LIST"):
                value = node.attrs[key]
                if not isinstance(value, h5py.Empty):
                    attrs[key] = value
        # A variable that is named like a dim of another one.
        name = name.replace("_nc4_non_coord_", "")
        return Variable.of(name, node, _dimensions(node), attrs)

    def text(self, name: str) -> str:
        """Return the text of a dataset or an attribute, empty if it is missing."""
        variable = self.variable(name)
        if variable is None:
            return ""
        return text_of(variable.numbers())

    def numbers(self, name: str) -> Array | None:
        """Return the numbers of a dataset, unpacked if they are packed, or of an attribute (n,)."""
        variable = self.variable(name)
        if variable is None:
            return None
        values = variable.numbers()
        if values.dtype.kind in "biuf":
            return values
        return parse_numbers(values, name)

    def number(self, name: str) -> float | None:
        """Return the only number of an attribute."""
        values = self.numbers(name)
        if values is None:
            return None
        if values.size != 1:
            raise SceneError(self.path, f"{name} must be a single number, it has {values.size}")
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


def read(path: Path, **options: Any) -> StoredCube:
    """Read HDF5, NetCDF 4 or NetCDF 3."""
    # scipy reads the third kind, CDF-5 with 64-bit data, wrongly.
    with path.open("rb") as file:
        is_netcdf3 = file.read(4) in (b"CDF\1", b"CDF\2")
    if is_netcdf3:
        return _read_netcdf3(path, **options_of("NetCDF 3", _read_netcdf3, options))
    return read_file(Hdf5File(path), **options)


def _read_netcdf3(
    path: Path, *, variable: str | None = None, layout: str | None = None
) -> StoredCube:
    from scipy.io import netcdf_file

    variables = {}
    for name, stored in netcdf_file(path, "r", mmap=False).variables.items():
        dims = tuple(stored.dimensions)
        variables[name] = Variable.of(name, stored.data, dims, dict(stored._attributes))
    return read_cube(variables, variable, layout)


def read_file(
    file: Hdf5File, *, variable: str | None = None, layout: str | None = None, **options: Any
) -> StoredCube:
    """Read a product of a known sensor, or an array of three axes.

    With ``layout``, or with a ``variable`` that is not the cube of the product, the file is read as
    a plain array. The options are those of the products; ``as_mask`` reads the marks of one.
    """
    if layout is None:
        for product in PRODUCTS:
            names = _cubes_of(file, product, (variable or "").strip("/"), "as_mask" in options)
            if names:
                return _read_product(file, product, names, options)
    if options and "as_mask" not in options:
        listed = ", ".join(f"{name}=…" for name in sorted(options))
        raise InputError(f"HDF5 files do not take {listed}")
    return read_cube(file.variables(), variable, layout)


def _cubes_of(file: Hdf5File, product: Hdf5Product, wanted: str, as_mask: bool) -> list[str]:
    """Return the paths of a product's cubes; none if this is another file, or another is wanted."""
    if any(file.node(name) is None for name in product.needs):
        return []
    for name, sentence in product.refused.items():
        if not wanted and not as_mask and file.node(name) is not None:
            raise InputError(sentence)
    names = []
    for pattern in product.cubes:
        if pattern.startswith("*/"):
            names += [f"{group}/{pattern[2:]}" for group in file.root if isinstance(group, str)]
        else:
            names.append(pattern)
    names = [name for name in names if isinstance(file.node(name), h5py.Dataset)]
    if not wanted:
        return names
    if wanted in names and not product.is_joined:
        return [wanted]
    return []


def _read_product(
    file: Hdf5File, product: Hdf5Product, names: list[str], options: dict[str, Any]
) -> StoredCube:
    """Return the first cube of a product as its table describes it."""
    usable = options_of(product.name, product.complete, options)
    name, *others = names
    variables = file.variables()
    variables[name] = _with_usual_names(variables[name], product)
    cube = describe_cube(
        variables, name, axes=product.axes, lists=_product_lists(file, product, name)
    )
    opened = Opened(file, name, cube)
    product.complete(opened, **usable)
    cube = opened.cube
    if cube.wavelength is not None and cube.good_band is None:
        cube.notes.append("the file marks no bands as bad")
    used = {name}
    if product.is_joined:
        used |= set(others)
    cube.notes += other_arrays(variables, used)
    return cube


def _with_usual_names(data: Variable, product: Hdf5Product) -> Variable:
    """Return a cube whose attributes have the names of the CF conventions."""
    attrs = dict(data.attrs)
    if product.nodata in attrs:
        attrs["_FillValue"] = attrs.pop(product.nodata)
    if product.divisor:
        divisor = float(attrs.pop(product.divisor, 0))
        if not 0 < divisor < float("inf"):
            raise InputError(f"needs an attribute {product.divisor} above 0, got {divisor}")
        attrs["scale_factor"] = 1 / divisor
    return replace(data, attrs=attrs)


def _product_lists(file: Hdf5File, product: Hdf5Product, cube_name: str) -> dict[str, Variable]:
    """Return the lists of values for each band that a product's table names."""
    unit = product.units
    if unit.startswith("@"):
        unit = file.text(cube_name + unit)
    group = cube_name.rpartition("/")[0]
    lists = {}
    for key in ("wavelength", "fwhm", "good_band"):
        place = getattr(product, key)
        found = file.variable(f"{group}/{place}") or file.variable(place)
        if place.startswith("@"):
            found = file.variable(cube_name + place)
        if place and found is not None:
            lists[key] = found.in_unit(unit)
    return lists
