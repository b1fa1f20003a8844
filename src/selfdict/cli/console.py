"""What the command says and how it ends: one-line errors, tables, progress bars."""

import functools
import json
import math
import re
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec

import typer

if TYPE_CHECKING:
    from selfdict.model.solution import Progress as Snapshot

Params = ParamSpec("Params")
_STEPS = {"read": "Reading", "select": "Choosing pure pixels", "abundances": "Mapping abundances"}


def printable(text: object) -> str:
    """Return text for a terminal: names of files and bands are data, and may hold control characters."""
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "\ufffd", str(text)
    )


def say(text: str) -> None:
    """Write one line to standard output."""
    typer.echo(printable(text))


def say_json(value: Any) -> None:
    """Write a value as JSON to standard output."""
    typer.echo(json.dumps(finite(value), indent=2))


def finite(value: Any) -> Any:
    """Return a value that JSON can hold: numpy numbers as numbers, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if hasattr(value, "tolist"):
        return finite(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


class Interruption:
    """Whether Ctrl-C was pressed.

    Libraries may swallow the exception (a solver returns the best point it has), so what decides
    whether results are still written is this flag.
    """

    seen = False


def ends_well(command: Callable[Params, None]) -> Callable[Params, None]:
    """Turn the errors a user can cause into one line and exit code 2, and Ctrl-C into exit code 130.

    Any other error is a defect of this program and is shown as Python shows it.
    """

    @functools.wraps(command)
    def guarded(*args: Params.args, **kwargs: Params.kwargs) -> None:
        try:
            with _watch_for_interruption():
                command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("interrupted", err=True)
            exec(
                ""
            )  # CPython remembers an interruption inside exec, as in some imports, and would die of it at exit
            raise typer.Exit(130) from None
        except (ValueError, OSError, ModuleNotFoundError, MemoryError) as error:
            if not on_purpose(error):
                raise
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = " ".join(lines) or type(error).__name__
            typer.echo(f"error: {printable(reason)[:1000]}", err=True)
            raise typer.Exit(2) from error

    return guarded


def on_purpose(error: Exception) -> bool:
    """Whether somebody had a sentence for this case: a ValueError that no ``raise`` made comes from a defect."""
    frames = traceback.extract_tb(error.__traceback__)
    return not isinstance(error, ValueError) or (frames[-1].line or "").startswith("raise")


@contextmanager
def _watch_for_interruption() -> Iterator[None]:
    Interruption.seen = False
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return

    def on_interrupt(number: int, frame: Any) -> None:
        Interruption.seen = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def check_interrupted() -> None:
    """Raise ``KeyboardInterrupt`` if Ctrl-C was pressed and somebody swallowed it."""
    if Interruption.seen:
        raise KeyboardInterrupt


class Bars:
    """Progress bars on standard error, one for each step; silent when it is no terminal, or when asked."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description:<28}", markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            disable=quiet or not console.is_terminal,
        )
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> "Bars":
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def steps(self, prefix: str = "") -> Callable[[str, float], None]:
        """Return the ``progress`` of :func:`selfdict.scene.unmix`: the name of a step and the share done."""

        def report(step: str, share: float) -> None:
            check_interrupted()
            name = prefix + _STEPS.get(step, step)
            # How long the choice takes is not known before: its bar moves to and fro until it is
            # done.
            total = None if step == "select" and share < 1 else 1.0
            self._progress.update(self._task(name), completed=share, total=total)

        return report

    def solver(self, prefix: str = "") -> "Callable[[Snapshot], bool]":
        """Return the callback of a solver, which shows the certified gap and stops it after Ctrl-C."""

        def report(snapshot: "Snapshot") -> bool:
            gap = f"certified gap {100 * snapshot.gap:.3g} %" if math.isfinite(snapshot.gap) else ""
            note = f"{gap}, {snapshot.n_active} pixels" if gap else f"{snapshot.n_active} pixels"
            self._progress.update(self._task(prefix + _STEPS["select"]), note=note)
            return Interruption.seen

        return report

    def _task(self, name: str) -> Any:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=1.0, note="")
        return self._tasks[name]


def say_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> None:
    """Write a table to standard output; the columns numbered in ``right`` are aligned right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(columns))
    for k, column in enumerate(columns):
        table.add_column(column, justify="right" if k in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    # A table piped to a file keeps its lines whole; a terminal folds them to its width.
    console = Console() if Console().is_terminal else Console(width=1000)
    console.print(table)
