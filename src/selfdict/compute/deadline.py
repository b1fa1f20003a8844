"""Computations that take long: a time limit that several steps share, and messages meanwhile."""

import sys
import time
from collections.abc import Callable
from threading import Timer
from typing import Any, Self

import numpy as np

from selfdict._validation import as_scalar


class Deadline:
    """A time limit that steps check between pieces of their work; nothing is interrupted."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self.skipped: list[str] = []
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
        """Whether a step that takes this long ends in time, or takes less than 5 % of the limit."""
        if self.left is None or self.seconds is None:
            return True
        return seconds < max(self.left, 0.05 * self.seconds)

    def part(self, share: float) -> Self:
        """Return a share of the time that is left, with the same record of what was skipped."""
        step = type(self)()
        if self.left is not None:
            step = type(self)(share * self.left)
        step.skipped = self.skipped
        return step

    def skip(self, what: str) -> None:
        """Record what was not done for lack of time; the same phrase once only."""
        if what not in self.skipped:
            self.skipped.append(what)


def predicted_seconds(work: Callable[[Any], Any], M: Any) -> float:
    """Return about how long some work takes for all columns of M (m, n), from trials with a few."""
    n = int(M.shape[1])
    few = 32
    if n <= few:
        return _seconds(work, M, n)
    of_few = _seconds(work, M, few)
    size = 1024
    if of_few > 0.05:
        size = 256
    size = min(size, n)
    of_more = _seconds(work, M, size)
    # What does not depend on the number of columns is in both, such as a factor of the endmembers.
    per_column = (of_more - of_few) / (size - few)
    if per_column <= 0:
        per_column = of_more / size  # the first one has compiled a kernel
    return of_more + per_column * (n - size)


def _seconds(work: Callable[[Any], Any], M: Any, size: int) -> float:
    """Return how long some work takes for evenly spread columns of M."""
    sample = M[:, np.linspace(0, M.shape[1] - 1, size).astype(np.intp)]
    started = time.perf_counter()
    work(sample)
    return time.perf_counter() - started


def in_words(seconds: float) -> str:
    """Return a predicted duration in words."""
    if seconds < 1:
        return "a second"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes == 1:
        return "a minute"
    if minutes <= 120:
        return f"{minutes} minutes"
    return f"{round(minutes / 60)} hours"


class Announcer:
    """What ``verbose`` means: print every step, one line if it takes long (None), or nothing."""

    def __init__(self, name: str, verbose: bool | None, patience: float = 10.0) -> None:
        self._name = name
        self._verbose = verbose
        self._patience = patience
        self._step = "starting"
        self._timer = Timer(patience, self._announce)
        self._timer.daemon = True

    def step(self, text: str) -> None:
        """Begin another step."""
        if self._verbose and text != self._step:
            print(f"[{self._name}] {text}")
        self._step = text

    def _announce(self) -> None:
        print(
            f"{self._name} has been running for {self._patience:.3g} s: {self._step}. "
            "verbose=True prints the progress, verbose=False nothing.",
            file=sys.stderr,
        )

    def __enter__(self) -> Self:
        if self._verbose is None:
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
