"""How the commands meet the terminal: help in panels, one-line errors, progress, tables, JSON."""

import json
import logging
import math
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from selfdict._display import plain
from selfdict._errors import InputError, InputWarning

if TYPE_CHECKING:
    from selfdict.model.solution import Progress

# Arguments of Python, and the options that are called otherwise.
RENAMED = {
    "r": "rank",
    "n_components": "rank",
    "max_seconds": "time_limit",
    "random_state": "seed",
    "nodata": "no_data",
    "overwrite": "force",
}
_ARGUMENTS = (
    *RENAMED,
    *("method", "candidates", "mu", "smooth", "library", "names", "endmembers", "abundances"),
    *("keep_bands", "uncertainty", "prove", "compare", "layout", "variable", "shape"),
    *("bands", "wavelengths", "quality", "mask", "overlap", "max_bytes"),
)
_ARGUMENT = re.compile(
    rf"(?<![\w-])(?P<name>{'|'.join(_ARGUMENTS)})"
    r"(?:=(?P<value>'[^']*'|…|[\w.]*\w)|(?= must\b))"
)
CLEAR_LINE = "\r\x1b[K"  # of what stands there, such as the progress
_PANELS = ("Input", "Model", "Output", "Limits", "Help")
_SHOWS_ALL = "selfdict.help_all"


class Argument(click.Argument):
    """A path that has to be given, which the help describes as it describes an option."""

    rare = False

    def __init__(self, name: str, help: str, panel: str = "Input") -> None:
        super().__init__([name], type=click.Path(path_type=Path))
        self._help = help
        self.panel = panel

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the row of the help."""
        return self.make_metavar(ctx), self._help


class Option(click.Option):
    """An option with its panel in the help; only ``--help-all`` shows the rare ones."""

    def __init__(
        self, *names: str, panel: str = "Output", rare: bool = False, **settings: Any
    ) -> None:
        super().__init__(names, **settings)
        self.panel = panel
        self.rare = rare


class Command(click.Command):
    """A command whose help has panels, and whose errors that a user can cause are one line."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        # The list of commands would cut a longer sentence.
        self.short_help = self.help
        if any(getattr(parameter, "rare", False) for parameter in self.params):
            show_all = click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_print_all_help,
                help="Show this message with the rare options.",
            )
            self.params = [*self.params, show_all]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by panel."""
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in _PANELS}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            is_hidden = getattr(parameter, "rare", False) and not ctx.meta.get(_SHOWS_ALL)
            if row is not None and not is_hidden:
                panels[getattr(parameter, "panel", "Help")].append(row)
        for name, rows in panels.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with warnings.catch_warnings():
            warnings.simplefilter("once", UserWarning)
            warnings.showwarning = _show_warning
            try:
                super().invoke(ctx)
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
                # CPython remembers an interruption inside exec, as in some imports, and would end
                # the process by that signal instead of with the exit code. Another exec clears it.
                exec("")
                ctx.exit(130)
            except BrokenPipeError:
                # Nobody is left to be told. This is the shell's code for a command that ends so.
                ctx.exit(141)
            except (InputError, OSError, ModuleNotFoundError, MemoryError) as error:
                # Any other exception is a defect: Python shows its traceback and exits with code 1.
                # Cut off, since a message may quote a damaged file.
                message = plain(in_command_words(_one_line(error)))[:1000]
                click.echo(f"error: {message}", err=True)
                ctx.exit(2)


def _print_all_help(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_SHOWS_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Write a warning about the input in one line, and others as Python does."""
    text = f"warning: {in_command_words(plain(message))}\n"
    if not issubclass(category, InputWarning):
        # Other packages speak to programmers, and the outputs say how the solver ended.
        if issubclass(category, UserWarning):
            return
        text = warnings.formatwarning(message, category, filename, lineno)
    if sys.stderr.isatty():
        text = f"{CLEAR_LINE}{text}"
    click.echo(text, err=True, nl=False)


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # A MemoryError of Python itself has no message.
    return " ".join(lines) or type(error).__name__


def in_command_words(message: str) -> str:
    """Return a message that names ``argument=value`` with the options of the command.

    Examples
    --------
    >>> in_command_words("library=… needs method='fgnsr'; got method='spa'")
    '--library needs --method fgnsr; got --method spa'
    >>> in_command_words("cube.hdr: r must be at least 1; raise max_seconds or tol.")
    'cube.hdr: --rank must be at least 1; raise --time-limit.'
    """
    # The command has no option for a tolerance.
    message = message.replace("max_seconds or tol", "max_seconds=…")
    return _ARGUMENT.sub(_as_option, message)


def _as_option(match: re.Match[str]) -> str:
    name = match["name"]
    option = f"--{RENAMED.get(name, name).replace('_', '-')}"
    value = (match["value"] or "").strip("'\"")
    if value in ("", "…", "True"):
        return option
    if value == "False":
        return f"--no-{option[2:]}"
    return f"{option} {value}"


def in_words(value: Any, digits: int = 6) -> str:
    """Return a value of a table; ``digits`` are those of numbers that are not whole."""
    if value is True:
        return "yes"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    if isinstance(value, list | tuple):
        return ", ".join(in_words(item, digits) for item in value)
    return str(value)


def print_line(text: str) -> None:
    """Write one line to standard output."""
    _write(plain(text))


def print_json(value: Any) -> None:
    """Write a value as JSON to standard output."""
    # ``plain`` is not needed: JSON escapes control characters.
    _write(json.dumps(json_value(value), indent=2))


def print_table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Write rows of cells in columns; those in ``right`` are aligned to the right."""
    cells = [[plain(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells)]
    for row in cells:
        padded = []
        for k, cell in enumerate(row):
            if k in right:
                padded.append(cell.rjust(widths[k]))
            else:
                padded.append(cell.ljust(widths[k]))
        _write("  ".join(padded).rstrip())


def _write(text: str) -> None:
    """Write to standard output, as long as somebody reads it."""
    try:
        click.echo(text)
    except BrokenPipeError:
        # As after ``| head``. The work goes on, since its results are in files; let nothing go to
        # standard output any more, also what Python writes at its end.
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


class ProgressLine(logging.Handler):
    """The step, its share done and its time, and the log, on a terminal or as lines of JSON."""

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

    def solver(self, snapshot: "Progress") -> bool:
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
        self._drawn = now
        # Whoever shows a step has imported it.
        from selfdict.scene.unmixing import STEPS

        name = STEPS[self._step].capitalize()
        # The duration of the selection is not known before it ends.
        share = f"{100 * self._share:3.0f} %"
        if self._step == "select" and self._share < 1:
            share = "     "
        line = f"{name:<31} {share} {now - self._began:6.1f} s  {self._note}"
        width = shutil.get_terminal_size().columns - 1
        print(f"{CLEAR_LINE}{line[:width]}", end="", file=sys.stderr, flush=True)

    def _end_line(self) -> None:
        if self._is_shown and self._step:
            self._draw(force=True)
            print(file=sys.stderr)
        self._step = ""
