"""``selfdict reproduce``: the paper's figures and tables."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from selfdict._text import plain
from selfdict.cli.console import (
    handle_errors,
    print_line,
    print_table,
)
from selfdict.experiments import EXPERIMENTS, Request, run, write_outcome


@handle_errors
def reproduce(
    name: Annotated[str, typer.Argument(help="One of the names above.", show_default=False)],
    data: Annotated[
        Path | None, typer.Option(help="A scene, or a folder with scenes.", show_default=False)
    ] = None,
    rank: Annotated[
        list[int] | None,
        typer.Option(
            "--rank",
            "-r",
            min=1,
            help="Other ranks than the paper's; may be repeated.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version on generated data.")
    ] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path(
        "selfdict-reproduce"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Run an experiment of the paper; write CSV and a figure."""

    def progress(line: str) -> None:
        if not quiet:
            typer.echo(plain(line), err=True)

    outcome = run(name, Request(data, rank or (), quick, seed, progress))
    facts = {
        "command": " ".join(["selfdict", *map(str, sys.argv[1:])]),
        "seed": seed,
        "quick": quick,
    }
    paths = write_outcome(outcome, output, name, facts)
    if quiet:
        return
    # The last table is the summary.
    rows = list(outcome.tables.values())[-1]
    # A longer table is a record of single values, such as the spectra of figure 3.
    if len(rows) <= 100:
        print_table(list(rows[0]), [[_cell(value) for value in row.values()] for row in rows])
    for note in outcome.notes:
        print_line(note)
    for path in paths:
        print_line(str(path))


# The help text shows the docstring: the names of the experiments belong there.
reproduce.__doc__ = "\n\n".join(
    [
        str(reproduce.__doc__),
        *(f"{name}: {experiment.description}." for name, experiment in EXPERIMENTS.items()),
    ]
)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
