"""Output and exit codes of the command: one-line errors, tables, progress bars."""

import functools
import json
import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

import typer

from selfdict._display import plain
from selfdict._errors import InputError, InputWarning

if TYPE_CHECKING:
    from selfdict.model.solution import Progress as Snapshot

Params = ParamSpec("Params")

# Arguments of Python whose options have other names.
_RENAMED = {
    "r": "--rank",
    "n_components": "--rank",
    "max_seconds": "--time-limit",
    "random_state": "--seed",
    "nodata": "--no-data",
}
_ARGUMENTS = (
    *_RENAMED,
    *("method", "candidates", "mu", "library", "names", "endmembers", "abundances"),
    *("keep_bands", "check", "uncertainty", "prove", "compare"),
)
_ARGUMENT = re.compile(
    rf"(?<![\w-])(?P<name>{'|'.join(_ARGUMENTS)})"
    r"(?:=(?P<value>'[^']*'|…|[\w.]*\w)|(?= must\b)|(?= is about\b))"
)

# Names of the steps of ``unmix`` on the progress bars.
_STEP_NAMES = {
    "preflight": "Looking at the bands",
    "read": "Reading",
    "rank": "Counting materials",
    "select": "Choosing pure pixels",
    "abundances": "Mapping abundances",
}


def print_line(text: str) -> None:
    """Write one line to standard output."""
    _write(plain(text))


def print_json(value: Any) -> None:
    """Write a value as JSON to standard output."""
    # ``plain`` is not needed: JSON escapes control characters.
    _write(json.dumps(json_value(value), indent=2))


def _write(text: str) -> None:
    """Write to standard output, as long as somebody reads it."""
    try:
        typer.echo(text)
    except BrokenPipeError:
        # As after ``| head``. The work goes on, since its results are in files.
        _discard_output()


def _discard_output() -> None:
    """Let nothing go to standard output any more, also what Python writes at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def json_value(value: Any) -> Any:
    """Return a value that JSON has: numpy numbers as numbers, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if hasattr(value, "tolist"):
        return json_value(value.tolist())
    if isinstance(value, float):
        # Python would write NaN and Infinity, which other JSON readers refuse.
        if math.isfinite(value):
            return value
        return None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


def handle_errors(command: Callable[Params, None]) -> Callable[Params, None]:
    """Turn errors that a user can cause into one line and an exit code.

    They are an :class:`InputError`, an error of the operating system, a missing package, and too
    little memory, with exit code 2, and Ctrl-C, with exit code 130. Any other exception is a defect
    of this program. Python shows its traceback and exits with code 1.
    """

    @functools.wraps(command)
    def guarded(*args: Params.args, **kwargs: Params.kwargs) -> None:
        try:
            with _warnings_in_one_line():
                command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            # CPython remembers an interruption inside exec, as in some imports, and would end the
            # process by that signal instead of with the exit code. Another exec clears it.
            exec("")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # Nobody is left to be told; the shell's code of a command that ends for that.
            raise typer.Exit(141) from None
        except (InputError, OSError, ModuleNotFoundError, MemoryError) as error:
            # Cut off, since a message may quote a damaged file.
            typer.echo(f"error: {plain(in_command_words(_one_line(error)))[:1000]}", err=True)
            raise typer.Exit(2) from error

    return guarded


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show warnings about the input as errors are shown, without the line of code they come from.

    Each is shown once.
    """

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if issubclass(category, InputWarning):
            typer.echo(f"warning: {in_command_words(plain(message))}", err=True)
        else:
            show_as_before(message, category, *where)

    with warnings.catch_warnings():
        show_as_before = warnings.showwarning
        warnings.simplefilter("once", InputWarning)
        warnings.showwarning = show  # type: ignore[assignment]  # the rest is passed on
        yield


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # A MemoryError of Python itself has no message.
    return " ".join(lines) or type(error).__name__


def in_command_words(message: str) -> str:
    """Return a message about arguments of Python with the options of the command.

    Arguments are named as ``name=value``, or at the beginning of a sentence as ``name must``.

    Examples
    --------
    >>> in_command_words("library=… needs method='fgnsr'; got method='spa'")
    '--library needs --method fgnsr; got --method spa'
    >>> in_command_words("cube.hdr: r must be at least 1; raise max_seconds or tol.")
    'cube.hdr: --rank must be at least 1; raise --time-limit.'
    """
    message = message.replace("max_seconds or tol", "max_seconds=…")
    return _ARGUMENT.sub(_as_option, message)


def _as_option(match: re.Match[str]) -> str:
    name = match["name"]
    option = _RENAMED.get(name, f"--{name.replace('_', '-')}")
    value = (match["value"] or "").strip("'\"")
    if value in ("", "…", "True"):
        return option
    if value == "False":
        return f"--no-{option[2:]}"
    return f"{option} {value}"


class _LogLines(logging.Handler):
    """Writes what the library logs to a console of rich, above the bars."""

    def __init__(self, console: Any) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        text = plain(record.getMessage())
        self._console.print(text, markup=False, highlight=False)


@contextmanager
def _show_log(console: Any) -> Iterator[None]:
    """Show what the library logs, from the level INFO on, inside the ``with`` block."""
    logger = logging.getLogger("selfdict")
    level = logger.level
    lines = _LogLines(console)
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(lines)


class ProgressBars:
    """Progress bars on standard error, one per step.

    Nothing is shown if ``quiet``. If standard error is not a terminal, there are no bars. With
    ``lines``, other programs get lines of JSON there instead.
    """

    def __init__(self, quiet: bool, *, lines: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        self._quiet = quiet
        # Without markup: brackets in a name are not meant as rich's formatting.
        self._progress = Progress(
            TextColumn("{task.description:<28}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            disable=quiet or lines or not console.is_terminal,
        )
        self._lines = lines
        self._last_line = ""
        self._tasks: dict[str, Any] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "ProgressBars":
        self._progress.start()
        if not self._progress.disable:
            self._stack.enter_context(_show_log(self._progress.console))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        self._progress.stop()

    def print_notes(self, notes: Sequence[str]) -> None:
        """Write sentences about the input to standard output, above the bars, one line each."""
        if self._quiet:
            return
        for note in notes:
            print_line(f"note: {note}")

    def steps(self, prefix: str = "") -> Callable[[str, float], None]:
        """Return the ``progress`` callback of :func:`selfdict.scene.unmix`.

        It gets the name of a step and the share that is done.
        """

        def report(step: str, share: float) -> None:
            name = prefix + _STEP_NAMES.get(step, step)
            # The duration of the selection is not known before it ends: without a total, the bar
            # moves to and fro.
            total: float | None = 1.0
            if step == "select" and share < 1:
                total = None
            self._progress.update(self._task(name), completed=share, total=total)
            self._print_progress(step=step, share=round(share, 2))

        return report

    def solver(self, prefix: str = "") -> "Callable[[Snapshot], bool]":
        """Return the callback of a solver, which shows the certified gap."""

        def report(snapshot: "Snapshot") -> bool:
            note = f"{snapshot.n_active} pixels"
            # The first bound on the optimum takes a while.
            if math.isfinite(snapshot.gap):
                note = f"certified gap {100 * snapshot.gap:.3g} %, {note}"
            self._progress.update(self._task(prefix + _STEP_NAMES["select"]), note=note)
            self._print_progress(step="select", gap=snapshot.gap, pixels=snapshot.n_active)
            return False  # the solver goes on

        return report

    def _print_progress(self, **values: Any) -> None:
        """Write one line of JSON, unless it repeats the last one."""
        line = json.dumps(json_value(values))
        if self._lines and line != self._last_line:
            typer.echo(line, err=True)
        self._last_line = line

    def _task(self, name: str) -> Any:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=1.0, note="")
        return self._tasks[name]


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> None:
    """Write a table to standard output.

    Parameters
    ----------
    columns : sequence of str
        The headings; if all are empty, no heading is shown.
    rows : sequence of sequence of str
        The cells.
    right : sequence of int
        Indices of the columns to align to the right.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(columns))
    for k, column in enumerate(columns):
        justify: Literal["left", "right"] = "left"
        if k in right:
            justify = "right"
        table.add_column(column, justify=justify, overflow="fold")
    for row in rows:
        # As Text, since rich would take brackets in a string for formatting.
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = Console()
    # A terminal folds the lines to its width. In a file or a pipe every row stays on one line.
    if not console.is_terminal:
        console = Console(width=1000)
    # Not printed by rich, which ends the command with the code of a defect if nobody reads on.
    with console.capture() as captured:
        console.print(table)
    try:
        sys.stdout.write(captured.get())
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
