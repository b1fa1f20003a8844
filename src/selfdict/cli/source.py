"""A scene as it is given on the command line: a file and the part of it to use."""

import hashlib
import re
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from selfdict._errors import InputError
from selfdict._imports import optional

if TYPE_CHECKING:
    import xarray as xr

# Imports of other packages are inside functions: the help needs no NumPy.


class Source:
    """A file, and the options of reading it, by their names: which bands, rows, pixels, ….

    ``name`` is that of the file in records, if it is not its path.
    """

    def __init__(self, file: Path, *, name: str | None = None, **options: Any) -> None:
        self.file = file
        self.name = name
        self.options = options

    def prepare(self) -> None:
        """Start the process that reads the file: it loads while this one imports its modules."""
        from selfdict.files.reader import start_early

        start_early(self.file)
        _let_xarray_import_on_use()

    def read(self, *, at_once: bool = True) -> "xr.DataArray":
        """Return the scene; with ``at_once`` the values of a small file are loaded."""
        self.prepare()
        from selfdict.scene.read import read_scene

        # Only those that are given: not every format has all of them.
        given = {name: value for name, value in self.options.items() if value is not None}
        for name, parse in (("bands", parse_bands), ("roi", parse_roi), ("shape", parse_shape)):
            if name in given:
                given[name] = parse(given[name])
        if "no_data" in given:
            given["nodata"] = given.pop("no_data")
        scene = read_scene(self.file, at_once=at_once, **given)
        # Every command looks at all values.
        if self.address is not None and scene.chunks is not None:
            size = scene.nbytes / 1e6
            note = f"all {size:,.0f} MB of values are read from the server, less if compressed"
            click.echo(f"note: {note}", err=True)
        return scene

    @property
    def address(self) -> str | None:
        """The address, if the file is elsewhere."""
        from selfdict.files.remote import address_of

        return address_of(self.file)

    @property
    def format(self) -> str:
        """The name of the format of the file."""
        from selfdict.files.formats import format_of

        if self.address is not None:
            return "remote"
        return format_of(self.file)

    @property
    def label(self) -> str:
        """The name of the file in records and messages."""
        return self.name or self.address or str(self.file)

    def first_pixel(self) -> tuple[int, int]:
        """Return the row and column in the file of the first pixel of the scene."""
        rows, columns = parse_roi(self.options.get("roi") or ":,:")
        return rows.start or 0, columns.start or 0

    def fingerprints(self, *, hashed: bool) -> dict[str, dict[str, Any]]:
        """Return size, time of change and SHA-256 of each file of the scene, by name.

        A hash reads the whole file once more: ``hashed`` says whether to.
        """
        found = {}
        # Sorted, since the order of the files in a folder depends on the file system.
        for name, path in sorted(self._files().items()):
            status = path.stat()
            changed = datetime.fromtimestamp(status.st_mtime, UTC)
            digest = None
            if hashed:
                digest = _sha256(path)
            found[name] = {
                "bytes": status.st_size,
                "modified": changed.isoformat(timespec="seconds"),
                "sha256": digest,
            }
        return found

    def files(self) -> list[Path]:
        """Return the files and folders that are read."""
        files = []
        if self.address is None:
            files.append(self.file)
        # A folder stands for all files inside.
        if not self.file.is_dir():
            files += self._files().values()
        mask = self.options.get("mask")
        if mask is not None:
            files += Source(mask).files()
        return files

    def _files(self) -> dict[str, Path]:
        # Of a file elsewhere nothing is known but its address.
        if self.address is not None:
            return {}
        from selfdict.files.formats import FORMATS

        find = FORMATS[self.format].find
        if find is not None:
            return {path.name: path for path in find(self.file)}
        # A zarr store is a folder of many files, which have the same names in every subfolder.
        if self.file.is_dir():
            parts = (path for path in self.file.rglob("*") if path.is_file())
            return {path.relative_to(self.file.parent).as_posix(): path for path in parts}
        files = [self.file]
        if self.format == "envi":
            from selfdict.files import envi

            # The header and the data, whichever of them was given.
            header, data = envi.find_files(self.file)
            files = [header.path, data]
        return {path.name: path for path in files}


def parse_bands(text: str) -> list[int]:
    """Return the band indices of a list, in rising order, since a scene has its bands in one order.

    The list counts from 1 and includes both ends of a range; indices count from 0.

    Examples
    --------
    >>> parse_bands("1-3,7")
    [0, 1, 2, 6]
    """
    bands: list[int] = []
    for part in text.split(","):
        # Six digits at most, so that a typing error does not ask for billions of bands.
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part, re.ASCII)
        if match is None or not 1 <= int(match[1]) <= int(match[2] or match[1]):
            raise InputError(
                f"--bands must be a list like 1-103,109,112-149, counted from 1, got {text!r}"
            )
        bands.extend(range(int(match[1]) - 1, int(match[2] or match[1])))
    bands.sort()
    for k in range(1, len(bands)):
        if bands[k] == bands[k - 1]:
            raise InputError(f"--bands must name each band once, got {bands[k] + 1} twice")
    return bands


def parse_roi(text: str) -> tuple[slice, slice]:
    """Return the rows and columns of a region; they count from 0, and the ends are excluded.

    Examples
    --------
    >>> parse_roi("10:60,:80")
    (slice(10, 60, None), slice(None, 80, None))
    """
    wanted = "--roi must be rows and columns like 10:60,20:80, counted from 0"
    # Python refuses to convert thousands of digits; 18 digits fit into 64 bits.
    number = r"(\d{1,18})?"
    bounds = _numbers(rf"{number}:{number}\s*,\s*{number}:{number}", text, wanted)
    return slice(*bounds[:2]), slice(*bounds[2:])


def parse_shape(text: str) -> tuple[int, int]:
    """Return the rows and columns of an image.

    Examples
    --------
    >>> parse_shape("100,150")
    (100, 150)
    """
    wanted = "--shape must be rows and columns like 100,150"
    # Nine digits at most: an image has no longer side.
    rows, columns = _numbers(r"(\d{1,9})\s*,\s*(\d{1,9})", text, wanted)
    if not rows or not columns:
        raise InputError(f"{wanted}, got {text!r}")
    return rows, columns


def _numbers(pattern: str, text: str, wanted: str) -> list[int | None]:
    """Return the numbers of a pattern; None for those that are left out."""
    match = re.fullmatch(rf"\s*{pattern}\s*", text, re.ASCII)
    if match is None:
        raise InputError(f"{wanted}, got {text!r}")
    numbers: list[int | None] = []
    for digits in match.groups():
        numbers.append(None if digits is None else int(digits))
    return numbers


def library_files(path: Path | None) -> list[Path]:
    """Return the files of a spectral library, or its folder."""
    from selfdict._errors import SceneError
    from selfdict.files import envi

    if path is None:
        return []
    try:
        # Most libraries are single files, without a header beside them.
        header, data = envi.find_files(path)
        return [path, header.path, data]
    except (SceneError, OSError, ValueError):
        return [path]


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file, or one of the names and hashes of all files in a folder."""
    if not path.is_dir():
        return _sha256(path)
    total = hashlib.sha256()
    for part in sorted(path.rglob("*")):
        if part.is_file():
            total.update(f"{part.relative_to(path).as_posix()} {_sha256(part)}\n".encode())
    return total.hexdigest()


def _sha256(path: Path) -> str:
    # Read in blocks by ``file_digest``: the file may be larger than memory.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _LibraryIfImported:
    """What xarray knows about a library of arrays: no classes before it is imported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "type" and self._name not in sys.modules:
            return ()
        known = optional("xarray.namedarray.pycompat").DuckArrayModule(self._name)
        return getattr(known, attribute)


@cache
def _let_xarray_import_on_use() -> None:
    """Let xarray not import other libraries of arrays before something else does.

    It imports dask, pint and CuPy to find out whether an array is one of theirs, which takes as
    long as the import of xarray itself. Before they are imported, no array is one of theirs.
    """
    # These names are no part of xarray's interface: without them it is only slower.
    known = getattr(optional("xarray.namedarray.pycompat"), "_cached_duck_array_modules", {})
    for name in ("dask", "pint", "cupy", "sparse"):
        known.setdefault(name, _LibraryIfImported(name))
    utils = optional("xarray.namedarray.utils")
    ask = getattr(utils, "is_dask_collection", None)
    if ask is None:
        return

    def is_dask_collection(value: Any) -> bool:
        return "dask" in sys.modules and bool(ask(value))

    utils.is_dask_collection = is_dask_collection
