"""Errors that say what a user can change; any other exception is a defect of this package."""

import sys
import warnings

# scikit-learn wraps methods of estimators, and its pipelines call them
_NOT_THE_CALLER = ("selfdict", "sklearn")


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
