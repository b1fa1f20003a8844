"""An output folder that is there whole or not at all, even if the process is killed."""

import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfdict.scene import SceneError

_SUFFIX = ".selfdict-part"
_MAPS = {
    name + suffix
    for name in ("abundances", "residual")
    for suffix in (".hdr", ".img", ".tif", ".nc", ".zarr")
}
_OURS = {"endmembers.csv", "run.json", "report.html"} | _MAPS
_DEMO = {
    "scene.hdr",
    "scene.img",
}  # common names: without a run beside it, such a scene is somebody's data


@contextmanager
def whole_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a hidden folder beside ``target`` that becomes ``target`` when the block ends without error.

    The change of name is one step of the file system. A killed run leaves at most hidden folders,
    which the next run with the same target takes away. With ``force`` an old output steps aside
    once the new one is whole; a folder that holds anything else than our outputs is never replaced.

    Parameters
    ----------
    target : pathlib.Path
        The folder to make.
    force : bool
        Replace an older output.
    """
    target = Path(os.path.abspath(target))
    check_free(target, force=force)
    _remove_leftovers(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = _hidden_folder(target)
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    lock = _lock(folder)
    try:
        yield folder
        _publish(folder, target, force=force)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def check_free(target: Path, *, force: bool) -> None:
    """Raise a :class:`SceneError` if ``target`` may not become an output folder."""
    if not target.exists() and not target.is_symlink():
        return
    if target.is_symlink() or not target.is_dir():
        raise SceneError(target, "exists and is no folder")
    held = sorted(path.name for path in target.iterdir())
    if held and not force:
        raise SceneError(
            target, "exists already; choose another folder or pass --force to replace it"
        )
    ours = _OURS | _DEMO if "run.json" in held else _OURS
    foreign = [name for name in held if name not in ours]
    if foreign:
        raise SceneError(
            target, f"holds files that selfdict did not write ({foreign[0]}); choose another folder"
        )


def _publish(folder: Path, target: Path, *, force: bool) -> None:
    if not target.exists():
        folder.rename(target)
        return
    check_free(target, force=force)
    aside = _hidden_folder(target)
    try:
        target.rename(aside / "old")
        folder.rename(target)
    finally:
        if not target.exists():  # an error or an interruption between the two
            (aside / "old").rename(target)
        shutil.rmtree(aside, ignore_errors=True)


def _hidden_folder(target: Path) -> Path:
    folder = target.with_name(f".{target.name}.{secrets.token_hex(6)}{_SUFFIX}")
    folder.mkdir()
    return folder


def _lock(folder: Path) -> int | None:
    """Lock a folder as long as this process lives; None where folders cannot be locked."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _remove_leftovers(target: Path) -> None:
    """Remove the hidden folders of killed runs: those that nobody has locked."""
    for folder in target.parent.glob(f".{glob.escape(target.name)}.*{_SUFFIX}"):
        if (lock := _lock(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
