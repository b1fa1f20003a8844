"""What a file may be, and what it may make its reader take: memory and time, by its size.

Only plain files and folders are opened: a pipe waits for ever, a device never ends.
"""

import os
import re
import stat
from pathlib import Path

from selfdict._errors import InputError, SceneError
from selfdict.files.cube import StoredCube

# This much is always allowed: a file of fill values may hold almost nothing.
_ALWAYS_ALLOWED = 64 * 2**20


def allowed_bytes(held: int, max_bytes: int | None = None) -> int:
    """Return the most bytes that one block or array of a file of ``held`` bytes may take."""
    if max_bytes is not None:
        return max_bytes
    # zlib packs 1032 bytes of equal values into one. Measurements take a tenth as a rule: above
    # 1 GiB a block must be plausible for the size of the file.
    return max(_ALWAYS_ALLOWED, min(1100 * held, max(2**30, 32 * held)))


def memory_limit(held: int, max_bytes: int | None, block_bytes: int = 0) -> int:
    """Return the memory in bytes that the reader process may take for one request."""
    # Python and its libraries themselves, and three copies of a block, which is unpacked, converted
    # and rearranged.
    return 768 * 2**20 + 3 * (allowed_bytes(held, max_bytes) + block_bytes)


def time_limit(held: int, block_bytes: int = 0) -> int:
    """Return the seconds of processor time that one request may take."""
    return 10 + int((held + block_bytes) / 5e6)


def check_declared(cube: StoredCube, held: int, max_bytes: int | None) -> None:
    """Refuse a cube that declares far more than its file of ``held`` bytes can hold."""
    held = cube.held or held
    n_bands, n_rows, n_columns = cube.shape
    total = n_bands * n_rows * n_columns * cube.dtype.itemsize
    # It need not fit in memory, and sparse files and codecs for constant values pack it well.
    if max_bytes is None and total > max(_ALWAYS_ALLOWED, 100_000 * held):
        raise InputError(f"declares {total} bytes of data but holds {held} (max_bytes)")
    # Reading block by block still takes a mask of all pixels, and coordinates.
    needed = n_rows * n_columns + 8 * (n_bands + n_rows + n_columns)
    allowed = allowed_bytes(held, max_bytes)
    if needed > allowed:
        raise InputError(
            f"needs {needed} bytes for a mask and coordinates; for a file of {held} bytes at most "
            f"{allowed} are allocated at once (max_bytes)"
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
