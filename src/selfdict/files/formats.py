"""Formats by the names of files: which are known, what may be opened, and what belongs together.

Only plain files and folders are opened: a pipe waits for ever, a device never ends.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, TypeVar

from selfdict._errors import InputError, SceneError

Function = TypeVar("Function", bound=Callable[..., Any])
# The data file of an ENVI header, which has no suffix or one of these.
ENVI_SUFFIXES = (".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin", ".rfl", ".sli", ".lib")


@dataclass(frozen=True)
class FileFormat:
    """A format: how messages name it, the function that reads it, and which files are of it."""

    title: str
    module: str
    function: str = "read"
    suffixes: tuple[str, ...] = ()
    find: Callable[[Path], list[Path]] | None = None


FORMATS: dict[str, FileFormat] = {}


def _add(name: str, title: str, module: str, *suffixes: str) -> None:
    FORMATS[name] = FileFormat(title, f"selfdict.files.{module}", suffixes=suffixes)


# The modules are imported when they are needed.
_add("envi", "ENVI", "envi", ".hdr", ".img", ".dat", ".raw", ".bsq", ".bil", ".bip")
_add("geotiff", "GeoTIFF", "geotiff", ".tif", ".tiff")
_add("mat", "a MATLAB file", "matlab_numpy", ".mat")
_add("netcdf", "NetCDF", "hdf5", ".nc", ".nc4")
_add("hdf5", "HDF5", "hdf5", ".h5", ".hdf5", ".he5", ".hdf")
_add("zarr", "zarr", "zarr_store", ".zarr")
_add("npy", "NumPy", "matlab_numpy", ".npy", ".npz")

# Modules that have registered formats or products, which the reader process must import.
REGISTERING_MODULES: set[str] = set()


def file_format(
    name: str,
    *,
    suffixes: tuple[str, ...] = (),
    title: str | None = None,
    find: Callable[[Path], list[Path]] | None = None,
) -> Callable[[Function], Function]:
    """Register a function as the reader of a file format.

    Parameters
    ----------
    name : str
        For ``read_scene(path, format=name)``.
    suffixes : tuple of str
        Files of these suffixes are read by it, such as ``(".cube",)``.
    title : str, optional
        How messages name the format; default: its name.
    find : callable, optional
        For products of several files, whatever their suffixes: ``find(path)`` returns the files of
        the product that a file or a folder belongs to, an empty list if there is none.

    Returns
    -------
    decorator
        For a function ``read(path, **options)`` that returns a
        :class:`selfdict.files.StoredCube`. It is called in the reader process, which imports the
        module it is defined in. A function of ``__main__`` is called in this process.

    Examples
    --------
    >>> import numpy as np
    >>> from selfdict.files import StoredCube, file_format
    >>> @file_format("text", suffixes=(".text-cube",))
    ... def read_text_cube(path):
    ...     return StoredCube.from_array(np.loadtxt(path)[None])
    """

    def register(read: Function) -> Function:
        note_module(read)
        endings = tuple(suffix.lower() for suffix in suffixes)
        FORMATS[name] = FileFormat(title or name, read.__module__, read.__name__, endings, find)
        return read

    return register


def options_of(
    title: str, function: Callable[..., Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options that a function has; others are refused, except for a mask."""
    parameters = signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return dict(options)
    unknown = sorted(options.keys() - parameters.keys())
    # A mask is read with the options of the scene.
    if unknown and not options.get("as_mask"):
        listed = ", ".join(f"{name}=…" for name in unknown)
        raise InputError(f"{title} files do not take {listed}")
    return {name: value for name, value in options.items() if name in parameters}


def note_module(function: Callable[..., Any]) -> None:
    """Note the module of a function, which the reader process imports unless it is in here."""
    if not function.__module__.startswith("selfdict.files."):
        REGISTERING_MODULES.add(function.__module__)


def format_named(name: str) -> FileFormat:
    """Return the format of a name."""
    if name not in FORMATS:
        raise InputError(f"format must be one of {', '.join(sorted(FORMATS))}, got {name!r}")
    return FORMATS[name]


def format_of(path: Path) -> str:
    """Return the format of a file that is read, which may be one of several of a product."""
    # A zarr store is a folder of thousands of files, none of them an image.
    if path.suffix.lower() != ".zarr":
        for name, format in FORMATS.items():
            if format.find is not None and format.find(path):
                return name
    return format_by_suffix(path)


def format_by_suffix(path: Path) -> str:
    """Return the format of a file that is written, or of one that belongs to no product."""
    suffix = path.suffix.lower()
    if suffix == ".hdr" and tiff_of_header(path) is not None:
        return "geotiff"
    # The last one first, so that others can read files of these suffixes in their way.
    for name, format in reversed(FORMATS.items()):
        if suffix in format.suffixes:
            return name
    if any(is_plain_file(header) for header in header_names(path)):
        return "envi"
    raise SceneError(
        path,
        f"the format of {suffix or 'a folder or a name without suffix'} is not known: "
        "expected .hdr, .tif, .mat, .nc, .h5, .he5, .zarr, .npy or .npz",
    )


def check_plain(path: Path) -> os.stat_result:
    """Refuse what is neither a plain file nor a folder, by itself or as the target of a link."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = "no such file"
        # An address has lost one of its slashes in a path.
        if re.match("[a-z0-9]{2,}:/", str(path)):
            reason = "only scenes are read from addresses, with https://, http:// or s3://"
        raise SceneError(path, reason) from error
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise SceneError(path, "is not a regular file or folder")
    return found


def is_plain_file(path: Path) -> bool:
    """Whether there is a plain file of this name."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def files_in(folder: Path) -> list[Path]:
    """Return the files and folders in a folder, by name."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise SceneError(folder, f"cannot be read: {error.strerror}") from error


def read_bytes(path: Path) -> bytes:
    """Return all bytes of a small file, such as a header: thousands of bands take 1 MiB."""
    n_bytes = check_plain(path).st_size
    if n_bytes > 32 * 2**20:
        raise SceneError(path, f"is too large for a header: {n_bytes} bytes")
    return path.read_bytes()


def size_of(path: Path, *, refuse_links: bool = False) -> int:
    """Return the size of a file, or of everything in a folder; a link may lead out of it."""
    if not path.is_dir():
        return path.stat().st_size
    held = 0
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            entry = os.path.join(folder, name)
            found = os.lstat(entry)
            held += found.st_size
            is_plain = stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
            if refuse_links and not is_plain:
                inside = os.path.relpath(entry, path)
                raise SceneError(path, f"{inside} is a link, a pipe or a device")
    return held


def header_names(data: Path) -> list[Path]:
    """Return the names that the ENVI header of a data file may have, the preferred one first."""
    # A path such as "." has no name to put a suffix on.
    if not data.name:
        return []
    # One with the whole name belongs to this file only, the other may be that of cube.bsq, too.
    names = [data.with_name(data.name + suffix) for suffix in (".hdr", ".HDR")]
    return names + [data.with_suffix(suffix) for suffix in (".hdr", ".HDR")]


def tiff_of_header(header: Path) -> Path | None:
    """Return the GeoTIFF that an ENVI header describes, if no data file of ENVI is beside it."""
    for suffix in ("", *ENVI_SUFFIXES):
        if is_plain_file(header.with_suffix(suffix)):
            # A header may have the whole name of its image, "cube.tif.hdr".
            if suffix == "" and header.stem.lower().endswith((".tif", ".tiff")):
                return header.with_suffix("")
            return None
    for suffix in (".tif", ".tiff", ".TIF", ".TIFF"):
        if is_plain_file(header.with_suffix(suffix)):
            return header.with_suffix(suffix)
    return None


def product_files(path: Path, *patterns: str) -> list[Path | None]:
    r"""Return the files of a product that a file or a folder belongs to, None for missing ones.

    Parameters
    ----------
    path : pathlib.Path
        One of the files, or a folder with one image.
    *patterns : str
        Regular expressions of the names, the first of them of the image. The first group of each
        is what the names of one product have in common.

    Returns
    -------
    list of pathlib.Path or None
        One for each pattern; all None if the name of ``path`` fits none of them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from selfdict.files import product_files
    >>> product_files(Path("cube.tif"), r"(.*)-cube\.tif", r"(.*)-bands\.csv")
    [None, None]
    """
    nothing: list[Path | None] = [None] * len(patterns)
    compiled = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    if path.is_dir():
        images = [file for file in files_in(path) if compiled[0].fullmatch(file.name)]
        if len(images) > 1:
            names = f"{images[0].name}, {images[1].name}"
            raise SceneError(path, f"holds {len(images)} images, name one of them: {names}")
        if not images:
            return nothing
        path = images[0]
    matches = [match for pattern in compiled if (match := pattern.fullmatch(path.name))]
    if not matches:
        return nothing
    found = nothing
    for file in files_in(path.parent):
        for k, pattern in enumerate(compiled):
            match = pattern.fullmatch(file.name)
            is_of_product = match is not None and match[1].lower() == matches[0][1].lower()
            # Of several images the one that is named is meant.
            is_meant = found[k] is None or file == path
            if is_of_product and is_meant and is_plain_file(file):
                found[k] = file
    return found
