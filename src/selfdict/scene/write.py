"""Writing scenes, and maps on their grids, without harming anything else.

What is written goes to a temporary folder ``.selfdict-RANDOM`` beside its target and is renamed
once it is complete. A killed process leaves the folder behind; nothing ever reads it.
"""

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from selfdict._display import plain
from selfdict._errors import SceneError
from selfdict._validation import Array
from selfdict.files.cube import DIMS
from selfdict.files.formats import format_by_suffix, format_named
from selfdict.scene.blocks import in_row_chunks
from selfdict.scene.metadata import nodata_of, with_nodata, without_notes
from selfdict.scene.model import as_scene
from selfdict.scene.write_formats import write_envi, write_geotiff, write_netcdf, write_zarr

# In the folder of a store, and the files that there may be anywhere in it: also chunks.
_ZARR_ROOT = {".zgroup", ".zarray", "zarr.json"}
_ZARR_FILE = re.compile(r"\.z(group|array|attrs|metadata)|zarr\.json|(c|\d+)(\.\d+)*")
# By the names of formats. The layouts of .mat and .npy keep no wavelengths, CRS or no-data value.
_WRITERS = {
    "envi": write_envi,
    "geotiff": write_geotiff,
    "netcdf": write_netcdf,
    "zarr": write_zarr,
}


def write_scene(
    scene: xr.DataArray,
    path: str | PathLike[str],
    format: str | None = None,
    *,
    overwrite: bool = False,
    **options: Any,
) -> Path:
    """Write a scene, or maps on its grid (any leading dim, or none); return the path written.

    The file is written to a temporary folder next to its destination and then renamed, so that it
    is complete or absent.

    Parameters
    ----------
    scene : xarray.DataArray (band, y, x), or maps (…, y, x)
        Pixels that its ``valid`` coordinate leaves out are written as no-data if the format has no
        masks.
    path : str or path-like
        The file; for ENVI the header or the data file (``.img`` next to a ``.hdr``).
    format : {"envi", "geotiff", "netcdf", "zarr"}, optional
        Default: by the name of the file.
    overwrite : bool
        Replace an existing file or zarr store.
    **options
        Of the format: ``interleave`` ("bsq", "bil", "bip") for ENVI.
    """
    target = Path(path)
    name = format or _written_format(target)
    title = format_named(name).title
    if name not in _WRITERS:
        raise SceneError(
            target, f"scenes are not written as {title}; use ENVI, GeoTIFF, NetCDF or zarr"
        )
    with staged(*files_of(target, format), overwrite=overwrite) as temporary:
        # Notes speak about the file that was read, not about the one that is written.
        bands = without_notes(as_bands(scene))
        if name in ("envi", "geotiff"):
            bands = _fill_masked(bands, target)
        _WRITERS[name](bands, temporary, **options)
    return target


def files_of(path: Path, format: str | None = None) -> list[Path]:
    """Return the files that :func:`write_scene` writes, the one that is asked for first."""
    if (format or _written_format(path)) != "envi":
        return [path]
    if path.suffix.lower() == ".hdr":
        return [path, path.with_suffix(".img")]
    return [path, path.with_suffix(".hdr")]


def _written_format(path: Path) -> str:
    """Return the format of a file by its name."""
    # A header that is read may be that of a GeoTIFF beside it; one that is written is not.
    if path.suffix.lower() == ".hdr":
        return "envi"
    return format_by_suffix(path)


def as_bands(data: xr.DataArray) -> xr.DataArray:
    """Return maps (y, x) or (endmember, y, x) as bands named by the labels of the leading dim."""
    bands = data
    if bands.ndim == 2:
        bands = bands.expand_dims("band")
    if "band" not in bands.dims and bands.ndim == 3 and set(DIMS[1:]) < set(bands.dims):
        (leading,) = set(bands.dims) - set(DIMS)
        names = [f"{leading} {label}" for label in labels_of(bands, leading)]
        if "name" in bands.coords:
            names = bands["name"].values.tolist()
        bands = bands.drop_vars([leading, "name"], errors="ignore").rename({leading: "band"})
        bands = bands.assign_coords(band_name=("band", names))
    if "band_name" in bands.coords:
        names = [plain(name) for name in bands["band_name"].values]
        bands = bands.assign_coords(band_name=("band", names))
    # Of the array given: rioxarray may keep the value for that object only.
    return as_scene(with_nodata(bands, nodata_of(data)))


def labels_of(data: xr.DataArray, dim: Hashable) -> Array:
    """Return the labels along a dim, by default counted from 1."""
    if dim in data.coords:
        return data[dim].values
    return np.arange(1, data.sizes[dim] + 1)


def _fill_masked(scene: xr.DataArray, path: Path) -> xr.DataArray:
    """Return the scene without its ``valid`` coordinate, the excluded pixels set to no-data."""
    if "valid" not in scene.coords:
        return scene
    valid = scene["valid"].values.astype(bool)
    scene = scene.drop_vars("valid")
    if valid.all():
        return scene
    fill = scene.attrs.get("_FillValue")
    if fill is None:
        if scene.dtype.kind != "f":
            raise SceneError(
                path,
                f"masked pixels of {scene.dtype} need a no-data value: set scene.attrs"
                "['_FillValue'], or write NetCDF or zarr, which keep the mask itself",
            )
        fill = np.nan
    # In the dtype of the scene: ``where`` would otherwise promote its values.
    try:
        fill = scene.dtype.type(fill)
    except OverflowError:
        raise SceneError(path, f"the no-data value {fill} does not fit {scene.dtype}") from None
    return in_row_chunks(scene).where(xr.DataArray(valid, dims=("y", "x")), fill)


@contextlib.contextmanager
def staged(target: Path, *companions: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path in a temporary folder; on success, move all that is in it beside ``target``."""
    check_free([target, *companions], overwrite=overwrite)
    with temporary_folder(target) as temporary:
        new = temporary / "new"
        try:
            yield new / target.name
        except OSError as error:
            raise SceneError(target, f"cannot be written: {error}") from error
        written = list(new.iterdir())
        targets = [target.with_name(path.name) for path in written]
        # Again, since the work may have taken hours.
        check_free(targets, overwrite=overwrite)
        replaced = [path for path in targets if os.path.lexists(path)]
        publish(written, target.parent, replaced, temporary / "old")


@contextlib.contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a folder beside ``target``: ``new`` in it is for outputs, ``old`` for the replaced."""
    try:
        # In the same folder, hence on the same file system: only there can a file be renamed.
        temporary = Path(tempfile.mkdtemp(prefix=".selfdict-", dir=target.parent))
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    new = temporary / "new"
    old = temporary / "old"
    least_rounds = 10
    try:
        new.mkdir()
        old.mkdir()
        yield temporary
        shutil.rmtree(old, ignore_errors=True)
        least_rounds = 1
    except SceneError as error:
        path = Path(error.path)
        if not path.is_relative_to(new):
            raise
        # The user does not know the temporary folder.
        raise SceneError(target.parent / path.relative_to(new), error.reason) from error
    finally:
        # After an error other threads of dask may still write for a moment, also into folders that
        # they make anew.
        for finished in range(1, 51):
            shutil.rmtree(new, ignore_errors=True)
            for folder in (old, temporary):
                with contextlib.suppress(OSError):
                    folder.rmdir()  # only if it is empty
            if finished >= least_rounds and not new.exists():
                break
            time.sleep(0.02)


def publish(written: Sequence[Path], folder: Path, replaced: Sequence[Path], aside: Path) -> None:
    """Rename ``replaced`` into ``aside``, then ``written`` into ``folder``; all or nothing."""
    first = folder / written[0].name
    is_one_file = len(written) == 1 and not (written[0].is_dir() or first.is_dir())
    if is_one_file and set(replaced) <= {first}:
        # In one step, so that there is always an old or a new file.
        os.replace(written[0], first)
        return
    # What describes other files leaves first and comes last: it never describes different ones.
    moves = [(path, aside / path.name) for path in sorted(replaced, key=_rank, reverse=True)]
    moves += [(path, folder / path.name) for path in sorted(written, key=_rank)]
    begun: list[tuple[Path, Path]] = []
    try:
        for source, destination in moves:
            begun.append((source, destination))
            os.rename(source, destination)
    except BaseException:
        for source, destination in reversed(begun):
            # The last one may not have been renamed.
            if not os.path.lexists(source):
                os.rename(destination, source)
        raise


def _rank(path: Path) -> int:
    """Return 0 for data, 1 for a header of data, 2 for the record of a whole folder."""
    if path.name == "run.json":
        return 2
    return int(path.suffix.lower() == ".hdr")


def check_free(paths: Iterable[Path], *, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse to replace anything but files and zarr stores that are no inputs by any name."""
    found = [path for path in paths if os.path.lexists(path)]
    if not found:
        return
    protected = set()
    for path in inputs:
        protected |= _identities(path)
    for path in found:
        if not protected.isdisjoint(_identities(path)):
            raise SceneError(path, "is an input of this run; choose another output")
        if not overwrite:
            raise SceneError(path, "exists already; use overwrite=True to replace it")
        if path.is_symlink() or not (path.is_file() or _is_zarr_store(path)):
            raise SceneError(path, "is not a file or zarr store; choose another output")


def _identities(path: Path) -> set[tuple[int, int]]:
    """Return device and inode of what a path leads to, and of all files inside a folder."""
    found = set()
    inside = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    for name in (os.fspath(path), *inside):
        try:
            status = os.stat(name)
        except OSError:
            # A link that leads nowhere.
            continue
        found.add((status.st_dev, status.st_ino))
    return found


def _is_zarr_store(path: Path) -> bool:
    """Whether a path is a folder, not a link, that holds a zarr store and nothing else."""
    if path.is_symlink() or not path.is_dir() or _ZARR_ROOT.isdisjoint(os.listdir(path)):
        return False
    for each in path.rglob("*"):
        is_own = each.is_dir() or _ZARR_FILE.fullmatch(each.name) is not None
        if each.is_symlink() or not is_own:
            return False
    return True
