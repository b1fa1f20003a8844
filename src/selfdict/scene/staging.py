"""Writing so that a file is there whole or not at all, even if the process is killed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfdict.scene.errors import SceneError


@contextmanager
def staged(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path of the same name in a hidden folder beside ``target``; on success move it into place.

    Several files may be written (an ENVI header and its data): a ``.hdr`` is moved last, and an old
    one is taken away first, so that a header never stands beside data it does not describe. On an
    error nothing is moved and the hidden folder is removed.
    """
    if not overwrite and target.exists():
        raise SceneError(target, "exists already; pass overwrite=True (--force) to replace it")
    try:
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
    made = sorted(folder.iterdir(), key=_is_header)
    old = [parent / path.name for path in made if (parent / path.name).exists()]
    if old and not overwrite:
        raise SceneError(old[0], "exists already; pass overwrite=True (--force) to replace it")
    # A folder cannot be replaced in one step, a header must not outlive its data: both step aside
    # first.
    aside = {
        path: folder / f"{path.name}.old"
        for path in reversed(old)
        if path.is_dir() or _is_header(path)
    }
    try:
        for path, refuge in aside.items():
            os.replace(path, refuge)
        for path in made:
            os.replace(path, parent / path.name)
    except BaseException:
        if all(
            path.exists() for path in made
        ):  # nothing is replaced yet: what stepped aside comes back
            for path, refuge in aside.items():
                if refuge.exists():
                    os.replace(refuge, path)
        raise
