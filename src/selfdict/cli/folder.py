"""An output folder that is complete or does not exist, even if the process is killed."""

import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfdict.scene import SceneError

# The end of the names of unfinished folders.
_UNFINISHED_SUFFIX = ".selfdict-part"
# What a run writes. A folder with nothing else may be replaced by --force.
_MAP_SUFFIXES = (".hdr", ".img", ".tif", ".nc", ".zarr")
_OUTPUT_NAMES = {
    "endmembers.csv",
    "run.json",
    "report.html",
    *(f"abundances{suffix}" for suffix in _MAP_SUFFIXES),
    *(f"residual{suffix}" for suffix in _MAP_SUFFIXES),
}
# What ``demo`` writes besides. These are common names: without the record of a run in the same
# folder they are likely to be the user's data.
_DEMO_NAMES = {"scene.hdr", "scene.img"}


@contextmanager
def atomic_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a hidden folder that becomes ``target`` when the block ends without an error.

    Renaming is one step of the file system. A killed run leaves at most hidden folders, which the
    next run with the same target removes. With ``force`` an old output is replaced once the new one
    is complete. A folder with anything else than outputs of this program is never replaced.

    Parameters
    ----------
    target : pathlib.Path
        The folder to make.
    force : bool
        Replace an older output.
    """
    # Without following links: the link itself would be replaced, not what it points to.
    target = Path(os.path.abspath(target))
    # Checked before the work and again at the end: a long run must not fail for a reason that was
    # known when it began.
    check_free(target, force=force)
    _remove_leftovers(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = _make_hidden_folder(target)
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    lock = _lock(folder)
    try:
        yield folder
        _publish(folder, target, force=force)
    finally:
        # After success the folder has its final name, and there is nothing to remove.
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def check_free(target: Path, *, force: bool) -> None:
    """Raise a :class:`SceneError` if ``target`` may not become an output folder."""
    if not target.exists() and not target.is_symlink():
        return
    if target.is_symlink() or not target.is_dir():
        raise SceneError(target, "exists and is no folder")
    names = sorted(path.name for path in target.iterdir())
    if names and not force:
        raise SceneError(
            target, "exists already; choose another folder or pass --force to replace it"
        )
    output_names = _OUTPUT_NAMES
    if "run.json" in names:
        output_names = _OUTPUT_NAMES | _DEMO_NAMES
    foreign = [name for name in names if name not in output_names]
    if foreign:
        raise SceneError(
            target, f"holds files that selfdict did not write ({foreign[0]}); choose another folder"
        )


def _publish(folder: Path, target: Path, *, force: bool) -> None:
    """Rename the finished folder to ``target``."""
    if not target.exists():
        folder.rename(target)
        return
    check_free(target, force=force)
    # A folder cannot be replaced in one step: the old one moves into a hidden folder first.
    backup = _make_hidden_folder(target)
    try:
        target.rename(backup / "old")
        folder.rename(target)
    finally:
        # After an error or an interruption between the two steps the old output comes back.
        if not target.exists():
            (backup / "old").rename(target)
        shutil.rmtree(backup, ignore_errors=True)


def _make_hidden_folder(target: Path) -> Path:
    """Make a folder beside ``target``: renaming is one step within one file system only."""
    # A random part, since two runs may have the same target at the same time.
    folder = target.with_name(f".{target.name}.{secrets.token_hex(6)}{_UNFINISHED_SUFFIX}")
    folder.mkdir()
    return folder


def _lock(folder: Path) -> int | None:
    """Lock a folder as long as this process lives, and return the file descriptor of the lock.

    None if another process has locked it, or if folders cannot be locked, as on Windows.
    """
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    # The operating system releases the lock when the process ends, even if it is killed.
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_leftovers(target: Path) -> None:
    """Remove the hidden folders of killed runs: those that no process has locked."""
    # Escaped, since brackets in a name are a pattern for glob.
    for folder in target.parent.glob(f".{glob.escape(target.name)}.*{_UNFINISHED_SUFFIX}"):
        lock = _lock(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
