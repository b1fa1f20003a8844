"""Text files of spectral libraries, read with a limit on their size."""

from pathlib import Path

import numpy as np

from selfdict.files.cube import Array
from selfdict.files.errors import SceneError

_MAX_BYTES = 4 * 2**20  # of one spectrum; the largest of the USGS library take 0.5 MB


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file.

    ISO 8859-1 decodes any bytes. The files are ASCII but for names of persons and places.
    """
    n_bytes = path.stat().st_size
    if n_bytes > _MAX_BYTES:
        raise SceneError(path, f"is too large for a spectrum: {n_bytes} bytes")
    return path.read_text(encoding="iso-8859-1").splitlines()


def read_start(path: Path) -> str:
    """Return the first characters of a file, by which its format is told."""
    with path.open("rb") as file:
        return file.read(200).decode("iso-8859-1")


def numbers(path: Path, lines: list[str]) -> Array:
    """Return the numbers of lines that hold one each; empty lines are left out."""
    values = []
    for line in lines:
        text = line.strip()
        if not text:
            continue
        try:
            values.append(float(text))
        except ValueError:
            raise SceneError(
                path, f"must hold one number per line, a line is {text[:40]!r}"
            ) from None
    if not values:
        raise SceneError(path, "holds no number")
    return np.array(values)
