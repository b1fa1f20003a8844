"""A scene as it is given on the command line: a file and the part of it to use."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selfdict._errors import InputError

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Source:
    """A file, and which bands, rows, columns and pixels of it are used.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    bands, roi : str or None
        As on the command line, see :func:`parse_bands` and :func:`parse_roi`; None: all.
    drop_bad_bands : bool
        Leave out the bands that the file marks as bad.
    mask : pathlib.Path or None
        A file with one band; pixels that are not 0 are left out.
    variable : str or None
        Which array of the file.
    overlap : str or None
        The detector whose bands are kept where two see the same wavelengths.
    shape : str or None
        As on the command line, see :func:`parse_shape`; None: as the file says.
    layout : str or None
        The axes of the array in order; None: as the file says.
    max_bytes : int or None
        The most bytes of one allocation, see :func:`selfdict.scene.read_scene`.
    name : str or None
        The name of the file in records; None: its path.
    nodata : float or None
        The value that marks missing data; None: as the file says.
    """

    path: Path
    bands: str | None = None
    drop_bad_bands: bool = False
    mask: Path | None = None
    roi: str | None = None
    variable: str | None = None
    overlap: str | None = None
    shape: str | None = None
    layout: str | None = None
    max_bytes: int | None = None
    name: str | None = None
    nodata: float | None = None

    def read(self) -> "xr.DataArray":
        """Return the scene."""
        from selfdict.scene import SceneError, read_scene

        options: dict[str, Any] = {}
        if self.bands is not None:
            options["bands"] = parse_bands(self.bands)
        if self.roi is not None:
            options["roi"] = parse_roi(self.roi)
        if self.shape is not None:
            options["shape"] = parse_shape(self.shape)
        # Not every format has these options.
        if self.variable is not None:
            options["variable"] = self.variable
        if self.overlap is not None:
            options["overlap"] = str(self.overlap)
        if self.layout is not None:
            options["layout"] = self.layout
        try:
            return read_scene(
                self.path,
                drop_bad_bands=self.drop_bad_bands,
                mask=self.mask,
                nodata=self.nodata,
                max_bytes=self.max_bytes,
                **options,
            )
        except SceneError:
            if self.bands is None:
                raise
            highest = options.pop("bands")[-1] + 1
            n_bands = read_scene(self.path, max_bytes=self.max_bytes, **options).sizes["band"]
            if highest <= n_bands:
                raise
            # The reader counts bands from 0, the command from 1.
            raise SceneError(
                self.path, f"--bands must lie between 1 and {n_bands}, got {highest}"
            ) from None

    @property
    def label(self) -> str:
        """The name of the file in records and messages."""
        if self.name is not None:
            return self.name
        return str(self.path)

    def arguments(self) -> list[str]:
        """Return the arguments that give this source on a command line."""
        arguments = [self.label]
        options = {
            "--bands": self.bands,
            "--mask": self.mask,
            "--roi": self.roi,
            "--variable": self.variable,
            "--overlap": self.overlap,
            "--shape": self.shape,
            "--layout": self.layout,
            "--max-bytes": self.max_bytes,
            "--no-data": self.nodata,
        }
        for option, value in options.items():
            if value is not None:
                arguments += [option, str(value)]
        if self.drop_bad_bands:
            arguments.append("--drop-bad-bands")
        return arguments

    def first_pixel(self) -> tuple[int, int]:
        """Return the row and column in the file of the first pixel of the scene."""
        if self.roi is None:
            return 0, 0
        rows, columns = parse_roi(self.roi)
        return rows.start or 0, columns.start or 0

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file in which the scene is stored, by name."""
        # Sorted, since the order of the files in a folder depends on the file system.
        return {name: sha256(path) for name, path in sorted(self._files().items())}

    def files(self) -> list[Path]:
        """Return the files and folders that are read."""
        files = [self.path]
        # A folder stands for all files inside.
        if not self.path.is_dir():
            files += self._files().values()
        if self.mask is not None:
            files += Source(self.mask).files()
        return files

    def _files(self) -> dict[str, Path]:
        from selfdict.files.formats import format_of
        from selfdict.files.image_names import find_product

        format = format_of(self.path)
        if format in ("enmap", "desis"):
            product = find_product(self.path)
            if product is not None:
                return {path.name: path for path in product.files()}
        # A zarr store is a folder of many files, which have the same names in every subfolder.
        if self.path.is_dir():
            parts = (path for path in self.path.rglob("*") if path.is_file())
            return {path.relative_to(self.path.parent).as_posix(): path for path in parts}
        files = [self.path]
        if format == "envi":
            from selfdict.files import envi

            # The header and the data, whichever of them was given.
            files = list(envi.find_files(self.path))
        return {path.name: path for path in files}


def parse_bands(text: str) -> list[int]:
    """Return the band indices, counted from 0, of a list like ``1-103,109,112-149``.

    The list counts from 1, and a range includes both ends. The indices are sorted, since a scene
    has its bands in one order only.

    Examples
    --------
    >>> from selfdict.cli.source import parse_bands
    >>> parse_bands("1-3,7")
    [0, 1, 2, 6]
    """
    bands: list[int] = []
    for part in text.split(","):
        # Six digits at most, so that a typing error does not ask for billions of bands.
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part, re.ASCII)
        if match is None:
            raise _bands_error(text)
        first = int(match[1])
        last = int(match[2] or match[1])
        if not 1 <= first <= last:
            raise _bands_error(text)
        bands.extend(range(first - 1, last))
    bands.sort()
    for k in range(1, len(bands)):
        if bands[k] == bands[k - 1]:
            raise InputError(f"--bands must name each band once, got {bands[k] + 1} twice")
    return bands


def _bands_error(text: str) -> InputError:
    return InputError(
        f"--bands must be a list like 1-103,109,112-149, counted from 1, got {text!r}"
    )


def parse_roi(text: str) -> tuple[slice, slice]:
    """Return the rows and columns of a region like ``10:60,20:80``.

    They count from 0, and the ends are excluded.

    Examples
    --------
    >>> from selfdict.cli.source import parse_roi
    >>> parse_roi("10:60,:80")
    (slice(10, 60, None), slice(None, 80, None))
    """
    # Python refuses to convert thousands of digits; 18 digits fit into 64 bits.
    number = r"(\d{0,18})"
    match = re.fullmatch(rf"\s*{number}:{number}\s*,\s*{number}:{number}\s*", text, re.ASCII)
    if match is None:
        raise InputError(
            f"--roi must be rows and columns like 10:60,20:80, counted from 0, got {text!r}"
        )
    rows = slice(_integer_or_none(match[1]), _integer_or_none(match[2]))
    columns = slice(_integer_or_none(match[3]), _integer_or_none(match[4]))
    return rows, columns


def parse_shape(text: str) -> tuple[int, int]:
    """Return the rows and columns of an image, given like ``100,150``.

    Examples
    --------
    >>> from selfdict.cli.source import parse_shape
    >>> parse_shape("100,150")
    (100, 150)
    """
    # Nine digits at most: an image has no longer side.
    match = re.fullmatch(r"\s*(\d{1,9})\s*,\s*(\d{1,9})\s*", text, re.ASCII)
    if match is None or int(match[1]) < 1 or int(match[2]) < 1:
        raise InputError(f"--shape must be rows and columns like 100,150, got {text!r}")
    return int(match[1]), int(match[2])


def _integer_or_none(digits: str) -> int | None:
    if digits == "":
        return None
    return int(digits)


def library_files(path: Path | None) -> list[Path]:
    """Return the files of a spectral library, or its folder."""
    from selfdict.files import envi
    from selfdict.scene import SceneError

    if path is None:
        return []
    try:
        # Most libraries are single files, without a header beside them.
        return [path, *envi.find_files(path)]
    except (SceneError, OSError, ValueError):
        return [path]


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file, or one of the names and hashes of all files in a folder."""
    if not path.is_dir():
        return sha256(path)
    total = hashlib.sha256()
    for part in sorted(path.rglob("*")):
        if part.is_file():
            total.update(f"{part.relative_to(path).as_posix()} {sha256(part)}\n".encode())
    return total.hexdigest()


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    # Read in blocks by ``file_digest``: the file may be larger than memory.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
