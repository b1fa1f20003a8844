"""Writing outputs without harming anything else.

What is written goes to a temporary folder ``.selfdict-RANDOM`` beside its target and is renamed
once it is complete. A killed process leaves the folder behind; nothing ever reads it.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from selfdict._errors import SceneError

# In the folder of a store, and the files that there may be anywhere in it: also chunks.
_ZARR_ROOT = {".zgroup", ".zarray", "zarr.json"}
_ZARR_FILE = re.compile(r"\.z(group|array|attrs|metadata)|zarr\.json|(c|\d+)(\.\d+)*")


@contextmanager
def staged(target: Path, *companions: Path, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path in a temporary folder; on success, move all that is in it beside ``target``."""
    check_free([target, *companions], overwrite=overwrite)
    with temporary_folder(target) as temporary:
        new = temporary / "new"
        try:
            yield new / target.name
        except SceneError as error:
            if not Path(error.path).is_relative_to(new):
                raise
            # The user does not know the temporary folder.
            raise SceneError(target, error.reason) from error
        except OSError as error:
            raise SceneError(target, f"cannot be written: {error}") from error
        written = list(new.iterdir())
        targets = [target.with_name(path.name) for path in written]
        # Again, since the work may have taken hours.
        check_free(targets, overwrite=overwrite)
        replaced = [path for path in targets if os.path.lexists(path)]
        publish(written, target.parent, replaced, temporary / "old")


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder beside ``target``: ``new`` in it is for outputs, ``old`` for the replaced.

    After an error that kept replaced files from being restored, ``old`` stays.
    """
    try:
        # In the same folder, hence on the same file system: only there can a file be renamed.
        temporary = Path(tempfile.mkdtemp(prefix=".selfdict-", dir=target.parent))
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    new = temporary / "new"
    old = temporary / "old"
    try:
        new.mkdir()
        old.mkdir()
        yield temporary
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        for folder in (old, temporary):
            if folder.is_dir() and not os.listdir(folder):
                folder.rmdir()


def publish(written: Sequence[Path], folder: Path, replaced: Sequence[Path], aside: Path) -> None:
    """Rename ``replaced`` into ``aside``, then ``written`` into ``folder``; all or nothing."""
    first = folder / written[0].name
    is_one_file = len(written) == 1 and not (written[0].is_dir() or first.is_dir())
    if is_one_file and set(replaced) <= {first}:
        # In one step, so that there is always an old or a new file.
        os.replace(written[0], first)
        return
    # What describes other files leaves first and comes last: it never describes different ones.
    moves = [(path, aside / path.name) for path in sorted(replaced, key=_rank, reverse=True)]
    moves += [(path, folder / path.name) for path in sorted(written, key=_rank)]
    begun: list[tuple[Path, Path]] = []
    try:
        for source, destination in moves:
            begun.append((source, destination))
            os.rename(source, destination)
    except BaseException:
        for source, destination in reversed(begun):
            # The last one may not have been renamed.
            if not os.path.lexists(source):
                os.rename(destination, source)
        raise


def _rank(path: Path) -> int:
    """Return 0 for data, 1 for a header of data, 2 for the record of a whole folder."""
    if path.name == "run.json":
        return 2
    return int(path.suffix.lower() == ".hdr")


def check_free(paths: Iterable[Path], *, overwrite: bool, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write to ``paths`` if one exists, unless it may be replaced.

    Only files and zarr stores are ever replaced, with ``overwrite``; never a link, another folder
    or one of the ``inputs``, by whatever name.
    """
    found = [path for path in paths if os.path.lexists(path)]
    if not found:
        return
    protected = set()
    for path in inputs:
        protected |= _identities(path)
    for path in found:
        if not protected.isdisjoint(_identities(path)):
            raise SceneError(path, "is an input of this run; choose another output")
        if not overwrite:
            raise SceneError(path, "exists already; use overwrite=True to replace it")
        if path.is_symlink() or not (path.is_file() or _is_zarr_store(path)):
            raise SceneError(path, "is not a file or zarr store; choose another output")


def _identities(path: Path) -> set[tuple[int, int]]:
    """Return device and inode of what a path leads to, and of all files inside a folder."""
    found = set()
    inside = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
    for name in (os.fspath(path), *inside):
        try:
            status = os.stat(name)
        except OSError:
            # A link that leads nowhere.
            continue
        found.add((status.st_dev, status.st_ino))
    return found


def _is_zarr_store(path: Path) -> bool:
    """Whether a path is a folder, not a link, that holds a zarr store and nothing else."""
    if path.is_symlink() or not path.is_dir() or _ZARR_ROOT.isdisjoint(os.listdir(path)):
        return False
    for each in path.rglob("*"):
        is_own = each.is_dir() or _ZARR_FILE.fullmatch(each.name) is not None
        if each.is_symlink() or not is_own:
            return False
    return True
