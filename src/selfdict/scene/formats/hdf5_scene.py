"""HDF5: products of known sensors by their readers, other files as one array of three axes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import h5py
import xarray as xr

from selfdict.scene.errors import SceneError
from selfdict.scene.formats import aviris, emit, hdf5_any, neon, prisma, tanager
from selfdict.scene.formats.hdf5_text import check_heaps
from selfdict.scene.formats.limits import Limit

NAME = "HDF5"


def read(
    path: Path,
    *,
    variable: str | None = None,
    layout: str | None = None,
    overlap: str | None = None,
    max_bytes: int | None = None,
) -> xr.DataArray:
    """Read a product of PRISMA, NEON, Tanager, AVIRIS or EMIT, or an array of three axes.

    With ``layout``, or with a ``variable`` that is not the cube of the product, the file is read as
    a plain array, see :func:`selfdict.scene.formats.hdf5_any.read`. ``overlap`` is for PRISMA, see
    :func:`selfdict.scene.formats.prisma.read`.
    """
    limit = Limit(path, path.stat().st_size, max_bytes)
    if not h5py.is_hdf5(path):
        raise SceneError(path, "is not an HDF5 file; HDF4 is not read")
    check_heaps(path)
    reader, cube = _find_product(path, variable)
    is_other = variable is not None and variable.strip("/") != cube
    if is_other or layout is not None:
        reader = partial(hdf5_any.read, variable=variable, layout=layout)
    if overlap is not None:
        if reader is not prisma.read:
            raise SceneError(path, "is read without the option overlap, which is for PRISMA")
        return prisma.read(limit, overlap=overlap)
    return reader(limit)


def _find_product(
    path: Path, variable: str | None
) -> tuple[Callable[[Limit], xr.DataArray], str | None]:
    """Return the reader for a file, by the names of its groups, and the path of its cube.

    The path is None if the reader has no single one. ``variable`` may name the cube of one of
    several sites of NEON.
    """
    with h5py.File(path, "r") as file:
        if prisma.is_prisma(file):
            return prisma.read, None
        cube = tanager.find_cube(file)
        if cube is not None:
            return partial(tanager.read, cube_name=cube), cube
        if aviris.is_aviris(path, file):
            return aviris.read, aviris.CUBE
        sites = neon.find_sites(file)
        named = [site for site in sites if f"{site}/{neon.CUBE}" == (variable or "").strip("/")]
        if sites:
            site = (named or sites)[0]
            return partial(neon.read, site=site), f"{site}/{neon.CUBE}"
    cube = emit.find_cube(path)
    if cube is not None:
        return partial(emit.read, cube_name=cube), cube
    return hdf5_any.read, None
