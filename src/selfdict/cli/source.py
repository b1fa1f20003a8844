"""A scene as it is named on the command line: a file and which part of it."""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selfdict._errors import InputError

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Source:
    """A file, and which bands, rows, columns and pixels of it are used."""

    path: Path
    bands: str | None = None
    drop_bad_bands: bool = False
    mask: Path | None = None
    roi: str | None = None
    variable: str | None = None
    name: str | None = None
    """What to call the file in records; its path when there is no name."""

    def read(self) -> "xr.DataArray":
        """Return the scene."""
        from selfdict.scene import read_scene

        return read_scene(
            self.path,
            bands=None if self.bands is None else parse_bands(self.bands),
            drop_bad_bands=self.drop_bad_bands,
            mask=self.mask,
            roi=None if self.roi is None else parse_roi(self.roi),
            **({} if self.variable is None else {"variable": self.variable}),
        )

    @property
    def label(self) -> str:
        """The name of the file for people."""
        return str(self.path) if self.name is None else self.name

    def arguments(self) -> list[str]:
        """Return the words that name this source on a command line."""
        words = [self.label]
        for option, value in (
            ("--bands", self.bands),
            ("--mask", self.mask),
            ("--roi", self.roi),
            ("--variable", self.variable),
        ):
            words += [] if value is None else [option, str(value)]
        return words + (["--drop-bad-bands"] if self.drop_bad_bands else [])

    def first_pixel(self) -> tuple[int, int]:
        """Return the row and column of the file that row 0 and column 0 of the scene are."""
        rows, columns = (slice(0, None),) * 2 if self.roi is None else parse_roi(self.roi)
        return rows.start or 0, columns.start or 0

    def hashes(self) -> dict[str, str]:
        """Return the SHA-256 of each file the scene is stored in, by name."""
        return {name: sha256(path) for name, path in sorted(self._files().items())}

    def _files(self) -> dict[str, Path]:
        from selfdict.scene.formats import format_of

        if self.path.is_dir():
            parts = (path for path in self.path.rglob("*") if path.is_file())
            return {path.relative_to(self.path.parent).as_posix(): path for path in parts}
        files = [self.path]
        if format_of(self.path) == "envi":
            from selfdict.scene.formats import envi

            files = list(envi.find_files(self.path))
        return {path.name: path for path in files}


def parse_bands(text: str) -> list[int]:
    """Return band indices counted from 0 for a list like ``1-103,109,112-149``, counted from 1, ends included.

    Examples
    --------
    >>> from selfdict.cli.source import parse_bands
    >>> parse_bands("1-3,7")
    [0, 1, 2, 6]
    """
    bands: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?", part, re.ASCII)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last:
            raise InputError(
                f"--bands must be a list like 1-103,109,112-149, counted from 1, got {text!r}"
            )
        bands.extend(range(first - 1, last))
    return bands


def parse_roi(text: str) -> tuple[slice, slice]:
    """Return the rows and columns of a region like ``10:60,20:80``, counted from 0, ends excluded.

    Examples
    --------
    >>> from selfdict.cli.source import parse_roi
    >>> parse_roi("10:60,:80")
    (slice(10, 60, None), slice(None, 80, None))
    """
    match = re.fullmatch(r"\s*(\d*):(\d*)\s*,\s*(\d*):(\d*)\s*", text, re.ASCII)
    if match is None:
        raise InputError(
            f"--roi must be rows and columns like 10:60,20:80, counted from 0, got {text!r}"
        )
    top, bottom, left, right = (int(number) if number else None for number in match.groups())
    return slice(top, bottom), slice(left, right)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
