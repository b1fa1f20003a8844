"""NetCDF: the CF conventions through xarray; files of the EMIT mission have their own reader."""

from functools import partial
from pathlib import Path

import h5netcdf  # noqa: F401  (xarray reads and writes with it)
import h5py
import xarray as xr

from selfdict.scene.errors import SceneError
from selfdict.scene.formats import emit
from selfdict.scene.formats.cf import OPEN, dataset_from_scene, scene_from_dataset
from selfdict.scene.formats.hdf5 import plain_dataset

NAME = "NetCDF"


def read(path: Path, *, variable: str | None = None, ortho: bool = True) -> xr.DataArray:
    """Read a variable with three dims; ``ortho`` is for EMIT files, see there."""
    engine = "scipy"
    if h5py.is_hdf5(path):
        engine = "h5netcdf"
        _refuse_external_values(path)
        if emit.is_emit(path):
            return emit.read(path, ortho=ortho)
    else:
        _check_classic(path)
    reopen = partial(xr.open_dataset, path, engine=engine, **OPEN)
    with reopen() as dataset:
        return scene_from_dataset(path, dataset, reopen, path.stat().st_size, variable)


def _refuse_external_values(path: Path) -> None:
    """Refuse a file that would read whatever other file its author names."""
    with h5py.File(path, "r") as file:
        for name, node in file.items():
            if not isinstance(node, h5py.Group) and plain_dataset(file, name) is None:
                raise SceneError(path, f"{name} takes its values from another file")


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
    dataset.to_netcdf(path, engine="h5netcdf", encoding=encoding)
