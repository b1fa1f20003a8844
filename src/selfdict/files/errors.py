"""The one error that reading or writing a scene raises."""

import re
from os import PathLike

from selfdict._errors import InputError

# Control characters and Unicode line separators. They may come from a damaged file, and the message
# must stay one line that is safe to print on a terminal.
_NOT_PRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class SceneError(InputError):
    """A file that cannot be read or written as a scene: one line with the file and the reason.

    Parameters
    ----------
    path : str or path-like
        The file.
    reason : str
        What is wrong with it. Line breaks and control characters become spaces, since a reason may
        quote a damaged file.

    Examples
    --------
    >>> from selfdict.scene import SceneError
    >>> print(SceneError("cube.hdr", "the header declares no bands"))
    cube.hdr: the header declares no bands
    """

    def __init__(self, path: str | PathLike[str], reason: str) -> None:
        self.path = str(path)
        self.reason = _NOT_PRINTABLE.sub(" ", reason)[:500]
        super().__init__(f"{_NOT_PRINTABLE.sub(' ', self.path)}: {self.reason}")

    def __reduce__(self) -> tuple[type["SceneError"], tuple[str, str]]:
        """Pickle both arguments: the error may be raised in a worker process."""
        # The default would call the class with the message alone, which lacks an argument.
        return SceneError, (self.path, self.reason)


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or the name of its class if it has none."""
    # Of rasterio; the one before it says what is wrong.
    if error.__cause__ is not None and "See previous exception" in str(error):
        return first_line(error.__cause__)
    lines = str(error).splitlines()
    if lines and lines[0]:
        return lines[0]
    return type(error).__name__
