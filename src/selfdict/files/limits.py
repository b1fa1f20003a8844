"""What a file may be, and what it may make its reader take: memory and time, by its size.

Only plain files and folders are opened: a pipe waits for ever, a device never ends.
"""

import os
import stat
from pathlib import Path

from selfdict.files.errors import SceneError

# This much is always allowed: a file of fill values may hold almost nothing.
_ALWAYS_ALLOWED = 64 * 2**20
# Above this a block must be plausible for the size of the file.
_LARGE_BLOCK = 2**30
# Bytes of values per byte in the file, if the values are measurements: at most 10 as a rule.
_PLAUSIBLE_RATIO = 32
# The same for any values: zlib reaches 1032.
_MAX_RATIO = 1100
# The same for a cube that is read block by block, and so need not fit in memory: sparse files and
# codecs for constant values reach more.
_MAX_LAZY_RATIO = 100_000
# Python and the libraries themselves.
_PROCESS_BYTES = 768 * 2**20
# A block is unpacked, converted and rearranged: this many copies of it at a time.
_COPIES = 3
_LEAST_SECONDS = 10
_BYTES_PER_SECOND = 5e6


def allowed_bytes(held: int, max_bytes: int | None = None) -> int:
    """Return the most bytes that one block or array of a file of ``held`` bytes may take."""
    if max_bytes is not None:
        return max_bytes
    plausible = max(_LARGE_BLOCK, _PLAUSIBLE_RATIO * held)
    return max(_ALWAYS_ALLOWED, min(plausible, _MAX_RATIO * held))


def memory_limit(held: int, max_bytes: int | None, block_bytes: int = 0) -> int:
    """Return the memory in bytes that the reader process may take for one request."""
    return _PROCESS_BYTES + _COPIES * (allowed_bytes(held, max_bytes) + block_bytes)


def time_limit(held: int, block_bytes: int = 0) -> int:
    """Return the seconds of processor time that one request may take."""
    return _LEAST_SECONDS + int((held + block_bytes) / _BYTES_PER_SECOND)


def check_declared(
    path: Path, shape: tuple[int, int, int], itemsize: int, held: int, max_bytes: int | None
) -> None:
    """Refuse a cube (band, y, x) that declares far more than its file can hold."""
    allowed = allowed_bytes(held, max_bytes)
    n_bands, n_rows, n_columns = shape
    total = n_bands * n_rows * n_columns * itemsize
    if max_bytes is None and total > max(_ALWAYS_ALLOWED, _MAX_LAZY_RATIO * held):
        raise SceneError(path, f"declares {total} bytes of data but holds {held} (max_bytes)")
    # Reading block by block still takes a mask of all pixels, and coordinates.
    for needed, what in (
        (n_rows * n_columns, "a mask of its pixels"),
        (8 * (n_rows + n_columns), "its coordinates"),
        (8 * n_bands, "its bands"),
    ):
        if needed > allowed:
            raise SceneError(
                path,
                f"declares {needed} bytes of data for {what} but holds {held}; "
                f"at most {allowed} are allocated at once (max_bytes)",
            )


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


def read_bytes(path: Path, most: int = MAX_TEXT_BYTES, what: str = "a header") -> bytes:
    """Return all bytes of a small file, such as a header."""
    n_bytes = check_plain(path).st_size
    if n_bytes > most:
        raise SceneError(path, f"is too large for {what}: {n_bytes} bytes")
    return path.read_bytes()


def size_of(path: Path, *, refuse_links: bool = False) -> int:
    """Return the size of a file, or of everything in a folder.

    A link in a folder may lead out of it, to any file that its author names.
    """
    if not path.is_dir():
        return path.stat().st_size
    held = 0
    waiting = [os.fspath(path)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                held += found.st_size
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(entry.path)
                elif refuse_links and not stat.S_ISREG(found.st_mode):
                    inside = os.path.relpath(entry.path, path)
                    raise SceneError(path, f"{inside} is a link, a pipe or a device")
    return held
