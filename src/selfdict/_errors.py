"""Errors that say what a user can change; any other exception is a defect of this package."""

import re
import sys
import warnings
from os import PathLike

# scikit-learn wraps methods of estimators, and its pipelines call them
_NOT_THE_CALLER = ("selfdict", "sklearn")
# Control characters and Unicode line separators. They may come from a damaged file, and the message
# must stay one line that is safe to print on a terminal.
_NOT_PRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class InputError(ValueError):
    """Input that cannot be used: the message states what was found and what was expected.

    It is a ``ValueError``, so ``except ValueError`` catches it. The command shows it as one line;
    an exception of any other class is shown with its traceback, because it indicates a defect.

    Examples
    --------
    >>> import selfdict
    >>> try:
    ...     selfdict.spa([[1.0, 2.0]], 5)
    ... except selfdict.InputError as error:
    ...     print(error)
    r must be between 1 and 2 (the number of points); got 5
    """


class UnsupportedError(InputError):
    """Data, model and solver cannot be combined; raised before any work starts."""


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
        # Both are pickled: the error may be raised in a worker process.
        super().__init__(self.path, self.reason)

    def __str__(self) -> str:
        return f"{_NOT_PRINTABLE.sub(' ', self.path)}: {self.reason}"


class InputWarning(UserWarning):
    """Input that can be used but is probably a mistake, or that takes very long.

    The command shows it as one line. Filters of :mod:`warnings` silence it, or make it an error.

    Examples
    --------
    >>> import warnings
    >>> import selfdict
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = selfdict.SNPA(3).fit([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
    >>> print(caught[0].message)
    3 components are more than the 2 features (bands): their abundances are not unique
    """


def warn_caller(message: str, category: type[Warning] = InputWarning) -> None:
    """Warn, and name the line from which the package was called."""
    # A fixed stacklevel would be right for one way into the package only.
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _NOT_THE_CALLER:
            break
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message, or the name of its class if it has none."""
    # Of rasterio; the one before it says what is wrong.
    if error.__cause__ is not None and "See previous exception" in str(error):
        return first_line(error.__cause__)
    lines = str(error).splitlines()
    if lines and lines[0]:
        return lines[0]
    return type(error).__name__
