"""An output folder that is complete or does not exist, even if the process is killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selfdict.cli.console import ignore_interruptions
from selfdict.cli.exports import EXPORT_NAMES
from selfdict.scene import SceneError
from selfdict.scene.staging import finish_killed, staged

# What a run writes. A folder with nothing else may be replaced by --force.
_MAP_SUFFIXES = (".hdr", ".img", ".tif", ".nc", ".zarr")
_OUTPUT_NAMES = {
    "endmembers.csv",
    "run.json",
    "report.html",
    *EXPORT_NAMES,
    *(f"abundances{suffix}" for suffix in _MAP_SUFFIXES),
    *(f"brightness{suffix}" for suffix in _MAP_SUFFIXES),
    *(f"residual{suffix}" for suffix in _MAP_SUFFIXES),
    *(f"uncertainty{suffix}" for suffix in _MAP_SUFFIXES),
}
# What ``demo`` writes besides. These are common names: without the record of a run in the same
# folder they are likely to be the user's data.
_DEMO_NAMES = {"scene.hdr", "scene.img"}


@contextmanager
def atomic_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a hidden folder that becomes ``target`` when the block ends without an error.

    See :func:`selfdict.scene.staging.staged` for what a killed run leaves and how the next one
    continues. With ``force`` an old output is replaced once the new one is complete. A folder with
    anything else than outputs of this program is never replaced.

    Parameters
    ----------
    target : pathlib.Path
        The folder to make.
    force : bool
        Replace an older output.
    """
    # Without following links: the link itself would be replaced, not what it points to.
    target = Path(os.path.abspath(target))
    _check_name(target)
    # Before the check: a run that was killed may have left the old output hidden.
    finish_killed(target)
    # Checked before the work and again at the end: a long run must not fail for a reason that was
    # known when it began.
    check_free(target, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SceneError(target, f"cannot be written: {error.strerror}") from error
    with staged(target, overwrite=True) as folder:
        folder.mkdir()
        yield folder
        check_free(target, force=force)
        # From here on the output is complete: Ctrl-C comes too late.
        ignore_interruptions()


def _check_name(target: Path) -> None:
    """Refuse a name that the libraries which write maps cannot take."""
    try:
        str(target).encode("utf-8")
    except UnicodeEncodeError:
        # Python keeps the bytes of such a name as surrogates, which no encoding has.
        raise SceneError(
            target, "the name is not UTF-8: choose another output by --output"
        ) from None


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
