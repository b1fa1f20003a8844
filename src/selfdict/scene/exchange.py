"""Two names that change places in one step of the file system."""

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100  # paths are relative to the working directory
_RENAME_EXCHANGE = 2
# Of kernels and file systems that cannot do it.
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange(first: Path, second: Path) -> bool:
    """Let two files or folders change places, and return whether the system can do that.

    No moment lies between: a process that is killed leaves them as they were, or exchanged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from selfdict.scene.exchange import exchange
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a").write_text("1"), (folder / "b").write_text("2")
    >>> exchanged = exchange(folder / "a", folder / "b")
    >>> exchanged == ((folder / "a").read_text() == "2")
    True
    """
    # Other systems have no such call, or one of another name and other arguments.
    if not sys.platform.startswith("linux"):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    status = library.renameat2(
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(os.fsencode(first)),
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(os.fsencode(second)),
        ctypes.c_uint(_RENAME_EXCHANGE),
    )
    if status == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(second))
