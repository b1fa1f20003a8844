"""The entry point for reading spectral libraries, in the reader process."""

from collections.abc import Callable
from pathlib import Path

from selfdict.files.libraries import envi, tables
from selfdict.files.libraries.folder import read_folder, read_text
from selfdict.files.libraries.record import StoredLibrary

# Readers by the suffix of a file. ENVI files have many suffixes: they are told by the header.
_READERS: dict[str, Callable[[Path], StoredLibrary]] = {
    ".csv": tables.read_csv,
    ".npz": tables.read_npz,
    ".txt": read_text,
}


def read(path: Path) -> StoredLibrary:
    """Read a library of any format."""
    if path.is_dir():
        return read_folder(path)
    return _READERS.get(path.suffix.lower(), envi.read)(path)
