"""The output folder of a run: complete, or without the record of a run."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from selfdict.cli.outputs import EXPORT_NAMES
from selfdict.scene import SceneError
from selfdict.scene.staging import check_free, publish, temporary_folder

# What ``unmix`` and ``demo`` write. Nothing of another name is ever replaced or removed.
_MAPS = ("abundances", "brightness", "residual", "uncertainty")
_MAP_SUFFIXES = (".hdr", ".img", ".tif", ".nc", ".zarr")
_OUTPUT_NAMES = {
    "endmembers.csv",
    "run.json",
    "report.html",
    "scene.hdr",
    "scene.img",
    *EXPORT_NAMES,
    *(name + suffix for name in _MAPS for suffix in _MAP_SUFFIXES),
}


@contextmanager
def output_folder(
    target: Path, *, force: bool = False, inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """Yield a temporary folder whose files get into ``target`` if the block ends without an error.

    A new folder appears in one step. With ``force`` the outputs that the ``run.json`` of an
    existing one lists are replaced. A folder that holds anything else, or one of the ``inputs``, is
    refused before the work.
    """
    target = _without_links(target)
    inputs = list(inputs)
    _check_outputs(target, force, inputs)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    with temporary_folder(target) as temporary:
        folder = temporary / "new" / target.name
        folder.mkdir()
        yield folder
        # Again, since the work may have taken hours.
        replaced = _check_outputs(target, force, inputs)
        if target.exists():
            publish(list(folder.iterdir()), target, replaced, temporary / "old")
        else:
            os.rename(folder, target)


def _without_links(target: Path) -> Path:
    """Return the path with a name of its own, in a folder that is reached without links."""
    try:
        str(target).encode("utf-8")
    except UnicodeEncodeError:
        # Python keeps the bytes of such a name as surrogates. The libraries that write maps cannot
        # take them.
        raise SceneError(
            target, "the name is not UTF-8: choose another output by --output"
        ) from None
    if target.name in ("", ".."):
        return Path(os.path.realpath(target))
    return Path(os.path.realpath(target.parent), target.name)


def _check_outputs(target: Path, force: bool, inputs: list[Path]) -> list[Path]:
    """Return what is in the output folder, all of which may be replaced; refuse anything else."""
    if not os.path.lexists(target):
        return []
    if target.is_symlink() or not target.is_dir():
        raise SceneError(target, "exists and is not a folder; choose another one by --output")
    found = sorted(target.iterdir())
    if found and not force:
        raise SceneError(target, "exists already; choose another folder, or use --force")
    listed = _listed_outputs(target / "run.json")
    for path in found:
        if path.name not in listed:
            raise SceneError(
                target, f"holds {path.name}, which is no output of selfdict; choose another folder"
            )
    check_free(found, overwrite=True, inputs=inputs)
    return found


def _listed_outputs(path: Path) -> set[str]:
    """Return the names of outputs in the record of a run; none if there is no such record."""
    # Nothing else is opened: a pipe would never end.
    if path.is_symlink() or not path.is_file():
        return set()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if "selfdict" not in record:
            return set()
        return {name for name in record["files"] if name in _OUTPUT_NAMES}
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        # The file of another program.
        return set()
