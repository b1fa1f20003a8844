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


def read(path: Path, *, variable: str | None = None, layout: str | None = None) -> xr.DataArray:
    """Read an array of three axes (``layout``), or an ``.npz`` in one of the usual layouts."""
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
    """Return the shapes of the numeric arrays of an ``.npz``.

    A file that declares more values than it can hold is refused.
    """
    # zlib does not compress further; 1,024 bytes are left for the header of an array.
    max_ratio = 1032
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            with archive.open(info) as member:
                shape, dtype = _header(member)
            # As Python integers: the product of damaged sizes may exceed 64 bits.
            declared = int(np.prod(shape, dtype=object)) * dtype.itemsize
            # The array must fit into the unpacked member, and that into the packed one.
            possible = max_ratio * info.compress_size + 1024
            if declared > info.file_size or info.file_size > possible:
                raise SceneError(
                    path, f"{info.filename} declares {declared} bytes, more than the file can hold"
                )
            if dtype.kind in "biuf":
                shapes[info.filename.removesuffix(".npy")] = shape
    return shapes


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype of an array, from the header of its file."""
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(member)
    return shape, dtype
