"""Only plain files and folders are opened: a pipe waits for ever, a device never ends."""

import os
import stat
from pathlib import Path

from selfdict.files.errors import SceneError

# A header, or the metadata of an array. Some thousand bands take less than 1 MiB.
MAX_TEXT_BYTES = 32 * 2**20


def check_plain(path: Path) -> os.stat_result:
    """Refuse what is neither a plain file nor a folder, by itself or as the target of a link."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise SceneError(path, "no such file") from error
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise SceneError(path, "is neither a plain file nor a folder")
    return found


def is_plain_file(path: Path) -> bool:
    """Whether there is a plain file of this name."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def open_plain(path: Path) -> int:
    """Return a descriptor of a plain file, to be closed by the caller."""
    # Without waiting for the other end of a pipe, which may have taken the place of a file.
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SceneError(path, f"cannot be opened: {reason}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SceneError(path, "is not a plain file")
    return descriptor


def read_bytes(path: Path, most: int = MAX_TEXT_BYTES, what: str = "a header") -> bytes:
    """Return all bytes of a small file, such as a header."""
    with os.fdopen(open_plain(path), "rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        if n_bytes > most:
            raise SceneError(path, f"is too large for {what}: {n_bytes} bytes")
        return file.read(most)


def held_bytes(folder: Path) -> int:
    """Return the size of all files of a folder; refuse what is not plain.

    A link may lead out of it, to any file that its author names.
    """
    held = 0
    for entry in _walk(folder):
        mode = entry.stat(follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            inside = os.path.relpath(entry.path, folder)
            raise SceneError(folder, f"{inside} is a link, a pipe or a device")
        held += entry.stat(follow_symlinks=False).st_size
    return held


def size_of(path: Path) -> int:
    """Return the size of a file, or of everything in a folder."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(entry.stat(follow_symlinks=False).st_size for entry in _walk(path))


def _walk(folder: Path) -> "list[os.DirEntry[str]]":
    """Return everything in a folder and its subfolders."""
    found = []
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                inside = list(entries)
        except OSError as error:
            raise SceneError(folder, f"cannot be read: {error.strerror}") from error
        found += inside
        waiting += [entry.path for entry in inside if entry.is_dir(follow_symlinks=False)]
    return found
