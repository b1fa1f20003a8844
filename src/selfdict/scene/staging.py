"""Writing so that a file is complete or absent, even if the process is killed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfdict.scene.errors import SceneError


@contextmanager
def staged(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path of the same name in a hidden folder; on success, move it to ``target``.

    Several files may be written (an ENVI header and its data): a ``.hdr`` is moved last, and an old
    one is removed first, so that a header never describes other data. On an error nothing is moved
    and the hidden folder is removed.
    """
    if not overwrite and target.exists():
        raise SceneError(target, "exists already; pass overwrite=True (--force) to replace it")
    try:
        # In the same folder, hence on the same file system: only there is a move atomic.
        folder = Path(
            tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        )
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    try:
        yield folder / target.name
        _move_into_place(folder, target.parent, overwrite)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_header(path: Path) -> bool:
    return path.suffix.lower() == ".hdr"


def _move_into_place(folder: Path, parent: Path, overwrite: bool) -> None:
    """Move everything in the folder to its parent, a header last."""
    # False sorts before True.
    written = sorted(folder.iterdir(), key=_is_header)
    old = [parent / path.name for path in written if (parent / path.name).exists()]
    # The target was checked before writing, but a header has a second file.
    if old and not overwrite:
        raise SceneError(old[0], "exists already; pass overwrite=True (--force) to replace it")
    # A folder cannot be replaced in one step, and a header must not outlive its data: both are
    # moved to a backup first.
    backups = {}
    for path in reversed(old):
        if path.is_dir() or _is_header(path):
            backups[path] = folder / f"{path.name}.old"
    try:
        for path, backup in backups.items():
            os.replace(path, backup)
        for path in written:
            os.replace(path, parent / path.name)
    except BaseException:
        # Also for KeyboardInterrupt. As long as no new file has been moved, the old ones are
        # complete: restore them.
        if all(path.exists() for path in written):
            for path, backup in backups.items():
                if backup.exists():
                    os.replace(backup, path)
        raise
