"""NetCDF: version 4, which is HDF5, with its products of sensors; and version 3 through scipy."""

from pathlib import Path
from typing import Any

import numpy as np

from selfdict.files.cf import Variable, read_cube
from selfdict.files.cube import StoredCube
from selfdict.files.errors import SceneError

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


def read(path: Path, *, variable: str | None = None, ortho: bool | None = None) -> StoredCube:
    """Read a variable with three dims, in a group by its path; ``ortho`` is for EMIT."""
    with path.open("rb") as file:
        start = file.read(4)
    # scipy reads the third kind, CDF-5 with 64-bit data, wrongly.
    if start in (b"CDF\1", b"CDF\2"):
        return read_cube(path, _classic_variables(path), variable)
    if start == b"\x89HDF":
        return _read_netcdf_4(path, variable, ortho)
    raise SceneError(path, "is neither NetCDF 4 (HDF5) nor NetCDF 3 (classic or 64-bit offset)")


def _read_netcdf_4(path: Path, variable: str | None, ortho: bool | None) -> StoredCube:
    from selfdict.files import hdf5
    from selfdict.files.hdf5_file import Hdf5File

    file = Hdf5File(path)
    options = {} if ortho is None else {"ortho": ortho}
    found = hdf5.read_product(file, variable, options)
    if found is not None:
        return found
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
