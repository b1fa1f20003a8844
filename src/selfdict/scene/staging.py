"""Writing so that a file or folder is complete or absent, even if the process is killed.

What is written goes to a hidden folder beside its target, ``.NAME.RANDOM.selfdict-part``, with the
subfolders ``new`` (what is being written) and ``old`` (what it replaces, while it is moved). The
next call for the same target finishes what a killed process left.
"""

import glob
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selfdict.files.errors import SceneError
from selfdict.scene.exchange import exchange

_HIDDEN_SUFFIX = ".selfdict-part"


class InterruptedAfterWriting(KeyboardInterrupt):
    """Ctrl-C was pressed while a complete file was moved into place, and the move was finished."""


@contextmanager
def staged(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path of the same name in a hidden folder; on success, move it to ``target``.

    Several files may be written (an ENVI header and its data). A header is moved last, so that it
    never describes other data. On an error nothing is moved and the hidden folder is removed.

    A process that is killed leaves the old output, or the new one, or, in the moment in which
    several files are replaced, neither: the next call for the same target then moves the new one
    into place, before anything else.
    """
    finish_killed(target)
    if not overwrite and target.exists():
        raise SceneError(target, "exists already; pass overwrite=True (--force) to replace it")
    hidden = None
    lock = None
    try:
        try:
            with _uninterrupted():
                hidden, lock = _make_hidden_folder(target)
        except OSError as error:
            raise SceneError(target, f"cannot be written: {error.strerror}") from error
        yield hidden / "new" / target.name
        _publish(hidden, overwrite)
    finally:
        with _uninterrupted():
            if hidden is not None:
                _remove(hidden)
            if lock is not None:
                os.close(lock)


def finish_killed(target: Path) -> None:
    """Finish what killed processes left beside ``target``.

    It concerns all targets of the same stem, since an ENVI file may be named by its header or by
    its data.
    """
    # Escaped, since brackets in a name are a pattern for glob.
    pattern = f".{glob.escape(target.stem)}.*{_HIDDEN_SUFFIX}"
    for hidden in target.parent.glob(pattern):
        # The lock of a process that was killed is gone.
        lock = _lock(hidden)
        if lock is not None:
            with _uninterrupted():
                _finish(hidden)
                os.close(lock)


def _finish(hidden: Path) -> None:
    """Move the rest of a complete output into place, if the move had begun; remove the folder."""
    written = _header_last(hidden / "new")
    # While the last file is in its place, the output there is a complete one: the old one, or one
    # that was written since.
    if (hidden / "old").is_dir() and written and not (hidden.parent / written[-1].name).exists():
        _move(hidden)
    _remove(hidden)


def _remove(hidden: Path) -> None:
    """Remove a hidden folder, unless it has an old output that could not be restored."""
    if _header_last(hidden / "new") and _header_last(hidden / "old"):
        return
    shutil.rmtree(hidden, ignore_errors=True)


def _publish(hidden: Path, overwrite: bool) -> None:
    """Move a complete output into place; on an error restore what it was to replace."""
    written = _header_last(hidden / "new")
    replaced = _replaced(hidden)
    # The target was checked before writing, but a header has a second file.
    if replaced and not overwrite:
        raise SceneError(replaced[0], "exists already; pass overwrite=True (--force) to replace it")
    is_published = False
    try:
        with _uninterrupted():
            is_published = len(written) == 1 and _replace_in_one_step(written[0])
            if not is_published:
                _replace_in_steps(hidden)
                is_published = True
    except KeyboardInterrupt:
        if is_published:
            raise InterruptedAfterWriting from None
        raise


def _replace_in_steps(hidden: Path) -> None:
    # Its existence tells that the output in ``new`` is complete.
    (hidden / "old").mkdir()
    try:
        _move(hidden)
    except BaseException:
        _restore(hidden)
        raise


def _is_header(path: Path) -> bool:
    return path.suffix.lower() == ".hdr"


def _header_last(folder: Path) -> list[Path]:
    """Return what is in a folder, a header last."""
    if not folder.is_dir():
        return []
    # False sorts before True.
    return sorted(folder.iterdir(), key=_is_header)


def _replaced(hidden: Path) -> list[Path]:
    """Return what stands where the new files belong, a header first."""
    targets = [hidden.parent / path.name for path in _header_last(hidden / "new")]
    return [path for path in reversed(targets) if path.exists()]


def _move(hidden: Path) -> None:
    """Move everything in ``new`` into place, and what it replaces to ``old``."""
    # A header leaves first and comes last: without it nobody reads the data.
    for path in _replaced(hidden):
        os.replace(path, hidden / "old" / path.name)
    for path in _header_last(hidden / "new"):
        os.replace(path, hidden.parent / path.name)


def _restore(hidden: Path) -> None:
    """Move everything in ``old`` back."""
    for path in _header_last(hidden / "old"):
        os.replace(path, hidden.parent / path.name)


def _replace_in_one_step(new: Path) -> bool:
    """Move a file or folder into place, if one step of the file system can do it."""
    target = new.parent.parent.parent / new.name
    if not target.is_dir():
        os.replace(new, target)
        return True
    # No folder replaces another that is not empty. The old one takes the place of the new one, and
    # is removed with the hidden folder.
    return exchange(new, target)


def _make_hidden_folder(target: Path) -> tuple[Path, int | None]:
    """Return a new folder beside ``target`` and its lock, None where folders cannot be locked."""
    while True:
        # In the same folder, hence on the same file system: only there is a move one step. A random
        # part, since two processes may have the same target at the same time.
        name = f".{target.name}.{secrets.token_hex(6)}{_HIDDEN_SUFFIX}"
        hidden = target.with_name(name)
        hidden.mkdir()
        lock = _lock(hidden)
        try:
            (hidden / "new").mkdir()
        except FileNotFoundError:
            # Another process took it for that of a killed one, before it was locked.
            if lock is not None:
                os.close(lock)
            continue
        return hidden, lock


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


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the block ends."""
    # Only the main thread may set a signal handler, and only it is interrupted.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interruptions = []

    def remember(number: int, frame: Any) -> None:
        interruptions.append(number)

    previous_handler = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        # None: a handler that was not set from Python, and cannot be set from it.
        if previous_handler is not None:
            signal.signal(signal.SIGINT, previous_handler)
    # Not if Ctrl-C is ignored, as background jobs do.
    if interruptions and callable(previous_handler):
        previous_handler(signal.SIGINT, None)
