"""NetCDF: the CF conventions through xarray; products of EMIT and AVIRIS have their own readers."""

from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import h5netcdf  # noqa: F401  (xarray reads and writes with it)
import h5py
import xarray as xr

from selfdict._validation import Array
from selfdict.scene.errors import SceneError
from selfdict.scene.formats import aviris, emit, hdf5_any
from selfdict.scene.formats.cf import OPEN, dataset_from_scene, scene_from_dataset
from selfdict.scene.formats.hdf5 import (
    check_attribute,
    check_blocks,
    check_dimensions,
    plain_dataset,
)
from selfdict.scene.formats.hdf5_file import PatientFile
from selfdict.scene.formats.hdf5_text import check_heaps, check_references
from selfdict.scene.formats.limits import Limit, product

NAME = "NetCDF"


def read(
    path: Path,
    *,
    variable: str | None = None,
    ortho: bool = True,
    max_bytes: int | None = None,
) -> xr.DataArray:
    """Read a variable with three dims; ``ortho`` is for EMIT files, see there.

    ``variable`` may be the path of a variable in a group.
    """
    limit = Limit(path, path.stat().st_size, max_bytes)
    engine = "scipy"
    if h5py.is_hdf5(path):
        engine = "h5netcdf"
        check_heaps(path)
        _check_datasets(limit)
        emit_cube = emit.find_cube(path)
        if emit_cube is not None and variable in (None, emit_cube):
            return emit.read(limit, cube_name=emit_cube, ortho=ortho)
        with h5py.File(path, "r") as file:
            is_aviris = variable in (None, aviris.CUBE) and aviris.is_aviris(path, file)
            is_in_group = _is_in_group(file, variable)
        if is_aviris:
            return aviris.read(limit)
        if is_in_group:
            return hdf5_any.read(limit, variable)
    else:
        _check_classic(path)
    reopen = partial(xr.open_dataset, path, engine=engine, **OPEN)
    with reopen() as dataset:
        return scene_from_dataset(limit, dataset, reopen, variable)


def _check_datasets(limit: Limit) -> None:
    """Refuse a file that would read another one, or allocate more than it can hold."""
    with h5py.File(limit.path, "r") as file:
        _check_all_attributes(limit.path, file)
        for name in file:
            # Without opening it: whatever other file a link names must not even be looked at.
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                raise SceneError(limit.path, f"{name} is a link, which may lead to another file")
            # A named data type, such as an enumeration, holds no values.
            if isinstance(file[name], h5py.Group | h5py.Datatype):
                continue
            dataset = plain_dataset(file, name)
            if dataset is None:
                raise SceneError(limit.path, f"{name} takes its values from another file")
            check_blocks(dataset, limit)
            check_dimensions(limit.path, dataset)
            _check_all_attributes(limit.path, dataset)
            # Cubes are read block by block, everything else is loaded.
            if dataset.shape is not None and len(dataset.shape) < 3:
                limit.check(product(dataset.shape) * dataset.dtype.itemsize, name)
                check_references(limit, dataset)


def _check_all_attributes(path: Path, node: Any) -> None:
    """Refuse a damaged attribute: xarray reads them all."""
    for name in node.attrs:
        check_attribute(path, node, name)


def _is_in_group(file: Any, variable: str | None) -> bool:
    """Whether the variable to read is in a group of the file, where xarray does not look."""
    if variable is not None:
        return "/" in variable.strip("/")
    for name in file:
        dataset = plain_dataset(file, name)
        if dataset is not None and len(dataset.shape or ()) == 3:
            return False
    return True


def _check_classic(path: Path) -> None:
    """Refuse a file that is not one of the two classic formats, which scipy reads."""
    with path.open("rb") as file:
        # scipy reads the third one, CDF-5 with 64-bit data, wrongly.
        if file.read(4) not in (b"CDF\1", b"CDF\2"):
            raise SceneError(
                path, "is neither NetCDF 4 (HDF5) nor NetCDF 3 (classic or 64-bit offset)"
            )


def write(scene: xr.DataArray, path: Path) -> None:
    """Write NetCDF 4; a mask stays what it is, the coordinate ``valid``."""
    dataset, encoding = dataset_from_scene(scene)
    (name,) = dataset.data_vars
    encoding.setdefault(name, {})
    n_bands, n_rows, n_columns = dataset[name].shape
    # Whole spectra, since pixels are read with all their bands, and about 1 MB of them.
    chunks = (n_bands, min(16, n_rows), min(64, n_columns))
    # Higher levels take much more time, and make noisy measurements hardly smaller.
    encoding[name] |= {"zlib": True, "complevel": 1, "chunksizes": chunks}
    with PatientFile(path) as file:
        # Stops at the next block, instead of after the last.
        dataset[name] = dataset[name].copy(data=_unless_failed(dataset[name].data, file))
        try:
            dataset.to_netcdf(file, engine="h5netcdf", encoding=encoding)
        except Exception as error:
            # HDF5 may stumble over what could not be written, with an error of its own.
            raise (file.error or error) from None
        if file.error is not None:
            raise file.error


def _unless_failed(values: Any, file: PatientFile) -> Any:
    """Return a dask array that cannot be computed once the file has failed."""

    def check(block: Array) -> Array:
        if file.error is not None:
            raise file.error
        return block

    # A random name: dask would otherwise pickle the file to make one.
    return values.map_blocks(check, meta=values._meta, token=uuid4().hex)
