"""One line on standard error that says what is being done."""

import json
import logging
import math
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from selfdict._display import plain
from selfdict.cli import BEGAN
from selfdict.cli.console import in_command_words, json_value, print_line

if TYPE_CHECKING:
    from selfdict.model.solution import Progress as Snapshot


class ProgressLine(logging.Handler):
    """The step, the share that is done, and the time so far; the steps stay above one another.

    Nothing is shown if ``quiet``, or if standard error is not a terminal. What the library logs is
    shown in lines of its own. With ``as_json``, other programs get lines of JSON instead.
    """

    def __init__(self, quiet: bool, *, as_json: bool = False) -> None:
        super().__init__(logging.INFO)
        self._quiet = quiet
        self._as_json = as_json
        self._last_json = ""
        self._is_shown = not quiet and not as_json and sys.stderr.isatty()
        self._step = ""
        self._note = ""
        self._share = 0.0
        self._began = 0.0
        self._drawn = 0.0

    def __enter__(self) -> "ProgressLine":
        self._logger = logging.getLogger("selfdict")
        self._level = self._logger.level
        if self._is_shown:
            self._logger.addHandler(self)
            self._logger.setLevel(logging.INFO)
        return self

    def __exit__(self, *exception: object) -> None:
        self._end_line()
        self._logger.removeHandler(self)
        self._logger.setLevel(self._level)

    def print_notes(self, notes: Sequence[str]) -> None:
        """Write sentences about the input to standard output, one line each."""
        if self._quiet:
            return
        self._end_line()
        for note in notes:
            print_line(f"note: {in_command_words(note)}")

    def step(self, step: str, share: float) -> None:
        """Show a step of :func:`selfdict.scene.unmix` and the share of it that is done."""
        if step != self._step:
            self._end_line()
            self._step = step
            self._note = ""
            self._began = time.monotonic()
        self._share = share
        self._draw(force=share in (0.0, 1.0))
        self._print_json(step=step, share=round(share, 2))

    def solver(self, snapshot: "Snapshot") -> bool:
        """Show the certified gap; the callback of a solver."""
        self._note = f"{snapshot.n_active} pixels"
        # The first bound on the optimum takes a while.
        if math.isfinite(snapshot.gap):
            self._note = f"certified gap {100 * snapshot.gap:.3g} %, {self._note}"
        self._draw()
        self._print_json(step="select", gap=snapshot.gap, pixels=snapshot.n_active)
        return False  # the solver goes on

    def emit(self, record: logging.LogRecord) -> None:
        """Show a line of the log."""
        self._end_line()
        print(plain(record.getMessage()), file=sys.stderr)

    def _print_json(self, **values: Any) -> None:
        """Write one line of JSON, unless it repeats the last one."""
        line = json.dumps(json_value(values))
        if self._as_json and line != self._last_json:
            print(line, file=sys.stderr, flush=True)
        self._last_json = line

    def _draw(self, force: bool = False) -> None:
        now = time.monotonic()
        # At most ten times a second.
        if not self._is_shown or not self._step or (now - self._drawn < 0.1 and not force):
            return
        from selfdict.scene.unmixing import STEPS

        self._drawn = now
        name = STEPS[self._step].capitalize()
        # The duration of the selection is not known before it ends.
        share = f"{100 * self._share:3.0f} %"
        if self._step == "select" and self._share < 1:
            share = "     "
        line = f"{name:<31} {share} {now - self._began:6.1f} s  {self._note}"
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)

    def _end_line(self) -> None:
        if self._is_shown and self._step:
            self._draw(force=True)
            print(file=sys.stderr)
        self._step = ""


class Stages:
    """How long the stages of a command take, on the clock, since Python loaded the command."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = BEGAN

    def end(self, stage: str) -> None:
        """Record the time since the stage before."""
        now = time.perf_counter()
        self.seconds[stage] = now - self._last
        self._last = now

    def split(self, stage: str, parts: Mapping[str, float]) -> None:
        """Replace a stage by its parts, and by what is left of it."""
        rest = self.seconds.pop(stage) - sum(parts.values())
        self.seconds |= parts
        self.seconds[f"{stage}, the rest"] = rest

    def print(self) -> None:
        """Write the stages to standard error."""
        rows = list(self.seconds.items())
        rows.append(("total", sum(self.seconds.values())))
        for name, seconds in rows:
            print(f"{seconds:8.2f} s  {name}", file=sys.stderr)
