"""A time limit that several steps share, and what was given up because of it."""

import time
from typing import Self

from selfdict._validation import as_scalar

# part of a time limit by which one step may exceed it
NEGLIGIBLE_PART = 0.05


class Deadline:
    """A time limit that steps check between pieces of their work.

    Nothing is interrupted: a step that finds the deadline passed returns what it has, and says by
    :meth:`give_up` what it has not done.

    Parameters
    ----------
    seconds : float, optional
        From now on; by default there is no limit.

    Attributes
    ----------
    seconds : float or None
        As given.
    given_up : list of str
        What was not done for lack of time, one phrase each.

    Examples
    --------
    >>> from selfdict.compute.deadline import Deadline
    >>> Deadline().left is None, Deadline().passed
    (True, False)
    >>> Deadline(0).passed
    True
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.given_up: list[str] = []
        self._end: float | None = None
        if seconds is not None:
            self._end = time.perf_counter() + as_scalar(seconds, "max_seconds")

    @property
    def left(self) -> float | None:
        """Seconds that are left, at least 0; None if there is no limit."""
        if self._end is None:
            return None
        return max(0.0, self._end - time.perf_counter())

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self._end is not None and time.perf_counter() >= self._end

    def affords(self, seconds: float) -> bool:
        """Whether a step that takes this long ends in time, or is too short to matter."""
        left = self.left
        if left is None or self.seconds is None:
            return True
        return seconds < max(left, NEGLIGIBLE_PART * self.seconds)

    def part(self, share: float) -> Self:
        """Return the deadline of one step: a share of the time that is left.

        What the step gives up is recorded here as well.

        Parameters
        ----------
        share : float
            Between 0 and 1.

        Returns
        -------
        Deadline
        """
        step = type(self)()
        if self.left is not None:
            step = type(self)(share * self.left)
        step.given_up = self.given_up
        return step

    def end(self) -> None:
        """Let no time be left, as after an interruption."""
        self._end = time.perf_counter()

    def give_up(self, what: str) -> None:
        """Record what was not done for lack of time; the same phrase once only."""
        if what not in self.given_up:
            self.given_up.append(what)


def in_words(seconds: float) -> str:
    """Return a predicted duration in words.

    Examples
    --------
    >>> in_words(40.0), in_words(100.0), in_words(20_000.0)
    ('40 s', '2 minutes', '6 hours')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes == 1:
        return "a minute"
    if minutes <= 120:
        return f"{minutes} minutes"
    return f"{round(minutes / 60)} hours"
