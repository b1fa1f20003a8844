"""NumPy's ``.npy`` (mapped into memory) and ``.npz``; never unpickled."""

import zipfile
from pathlib import Path

import numpy as np

from selfdict.files.arrays import NamedArrays, cube_from_arrays
from selfdict.files.axes import order_axes
from selfdict.files.cube import StoredCube
from selfdict.files.errors import SceneError


def read(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    shape: list[int] | None = None,
    n_bands: int | None = None,
) -> StoredCube:
    """Read an array of three axes (``layout``), or an ``.npz`` in one of the usual layouts."""
    if path.suffix.lower() == ".npz":
        return cube_from_arrays(load_archive(path), variable, layout, shape, n_bands)
    if variable is not None or shape is not None:
        raise SceneError(path, "holds one array of three axes: variable and shape are for .npz")
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise SceneError(path, "is an archive, not a single array; name it .npz")
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    values, note = order_axes(path, mapped, layout, n_bands)
    return StoredCube.from_array(values, notes=[note])


def load_archive(path: Path) -> NamedArrays:
    """Return the numeric arrays of an ``.npz``, loaded on use."""
    shapes = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not info.filename.endswith(".npy"):
                continue
            with archive.open(info) as member:
                version = np.lib.format.read_magic(member)
                read_header = np.lib.format.read_array_header_2_0
                if version == (1, 0):
                    read_header = np.lib.format.read_array_header_1_0
                shape, _, dtype = read_header(member)
            if dtype.kind in "biuf":
                shapes[info.filename.removesuffix(".npy")] = shape
    return NamedArrays(path, shapes, np.load(path, allow_pickle=False).__getitem__)
