"""NumPy's ``.npy`` (mapped into memory) and ``.npz``; never unpickled."""

import io
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import xarray as xr

from selfdict.scene.errors import SceneError
from selfdict.scene.formats.array_source import ArraySource
from selfdict.scene.formats.arrays import scene_from_arrays
from selfdict.scene.formats.axes import order_axes
from selfdict.scene.formats.limits import Limit, check_header, product
from selfdict.scene.model import build_scene
from selfdict.scene.notes import add_notes

NAME = "NumPy"


def read(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: tuple[int, int] | None = None,
    max_bytes: int | None = None,
) -> xr.DataArray:
    """Read an array of three axes (``layout``), or an ``.npz`` in one of the usual layouts."""
    limit = Limit(path, path.stat().st_size, max_bytes)
    if path.suffix.lower() == ".npz":
        return _read_archive(limit, variable, layout, shape)
    if variable is not None or shape is not None:
        raise SceneError(path, "holds one array of three axes: variable and shape are for .npz")
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise SceneError(path, "is an archive, not a single array; name it .npz")
        file.seek(0)
        read_header(path, file)
    values, note = order_axes(path, np.load(path, mmap_mode="r", allow_pickle=False), layout)
    limit.check_lazy_cube(values.shape, values.itemsize)
    return add_notes(build_scene(values), note)


def _read_archive(
    limit: Limit, variable: str | None, layout: str | None, shape: tuple[int, int] | None
) -> xr.DataArray:
    path = limit.path
    shapes = array_shapes(limit)
    with np.load(path, allow_pickle=False) as arrays:
        source = ArraySource(path, shapes, arrays.__getitem__)
        return scene_from_arrays(source, variable, layout, shape)


def array_shapes(limit: Limit) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the numeric arrays of an ``.npz``.

    A file that declares more values than it can hold is refused.
    """
    path = limit.path
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            # NumPy writes no others, and zipfile unpacks them without a limit on the result.
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SceneError(path, f"{info.filename} is compressed in a way that is not read")
            with archive.open(info) as member:
                shape, dtype = read_header(path, member)
            declared = product(shape) * dtype.itemsize
            limit.check(declared, info.filename)
            if declared > info.file_size:
                raise SceneError(
                    path, f"{info.filename} declares {declared} bytes, more than the file can hold"
                )
            if dtype.kind in "biuf":
                shapes[info.filename.removesuffix(".npy")] = shape
    return shapes


def read_header(path: Path, file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and dtype of an array, from the header of its file."""
    version = np.lib.format.read_magic(file)
    n_length_bytes = 4
    if version == (1, 0):
        n_length_bytes = 2
    length = file.read(n_length_bytes)
    # NumPy reads as much as the header says it is long.
    check_header(path, int.from_bytes(length, "little"))
    header = io.BytesIO(length + file.read(int.from_bytes(length, "little")))
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(header)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(header)
    return shape, dtype
