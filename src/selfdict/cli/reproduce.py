"""``selfdict reproduce``: the paper's figures and tables."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from selfdict.cli.console import check_interrupted, ends_well, printable, say, say_table
from selfdict.experiments import EXPERIMENTS, Request, run, write_outcome

_NAMES = "\n\n".join(
    f"{name}: {experiment.description}." for name, experiment in EXPERIMENTS.items()
)


@ends_well
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
        check_interrupted()
        if not quiet:
            typer.echo(printable(line), err=True)

    outcome = run(name, Request(data, rank or (), quick, seed, progress))
    facts = {
        "command": " ".join(["selfdict", *map(str, sys.argv[1:])]),
        "seed": seed,
        "quick": quick,
    }
    paths = write_outcome(outcome, output, name, facts)
    if quiet:
        return
    rows = list(outcome.tables.values())[-1]
    if len(rows) <= 100:
        say_table(list(rows[0]), [[_cell(value) for value in row.values()] for row in rows])
    for line in [*outcome.notes, *map(str, paths)]:
        say(line)


reproduce.__doc__ = f"{reproduce.__doc__}\n\n{_NAMES}"


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
