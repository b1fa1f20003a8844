"""NumPy's ``.npy`` (mapped into memory) and ``.npz``; never unpickled."""

import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import xarray as xr

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.arrays import order_axes, scene_from_arrays
from selfdict.scene.model import build_scene

NAME = "NumPy"
_DEFLATE = 1032  # zlib never packs tighter than this: a larger ratio is a lie


def read(path: Path, *, variable: str | None = None, layout: str | None = None) -> xr.DataArray:
    """Read an array of three axes (``layout``), or an ``.npz`` in one of the community's layouts."""
    if path.suffix.lower() == ".npz":
        return _read_archive(path, variable, layout)
    values = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(values, np.ndarray):
        raise SceneError(path, "is an archive, not a single array; name it .npz")
    return build_scene(order_axes(path, values, layout))


def _read_archive(path: Path, variable: str | None, layout: str | None) -> xr.DataArray:
    shapes = array_shapes(path)
    with np.load(path, allow_pickle=False) as arrays:
        return scene_from_arrays(path, shapes, arrays.__getitem__, variable, layout)


def array_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the numeric arrays of an ``.npz``, once all its arrays fit into the file."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            with archive.open(info) as member:
                shape, dtype = _header(member)
            declared = int(np.prod(shape, dtype=object)) * dtype.itemsize
            if declared > info.file_size or info.file_size > _DEFLATE * info.compress_size + 1024:
                raise SceneError(
                    path, f"{info.filename} declares {declared} bytes, more than the file can hold"
                )
            if dtype.kind in "biuf":
                shapes[info.filename.removesuffix(".npy")] = shape
    return shapes


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read_header(member)
    return shape, dtype
