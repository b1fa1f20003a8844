"""The paper's figures and tables: ``python -m reproduce NAME [--data FILE] [--quick]``.

Without a name, the experiments are listed.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

from reproduce.ablation import ablation
from reproduce.maps import abundance_maps, endmembers
from reproduce.midpoints import figure1, figure2
from reproduce.outcome import Outcome, Request, Row, cell, write_outcome
from reproduce.tables import cuprite, scenes, table1, table2, table3, table4
from selfdict import InputError

Experiment = Callable[[Request], Outcome]
EXPERIMENTS: dict[str, Experiment] = {
    "figure1": figure1,
    "figure2": figure2,
    "table1": table1,
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "cuprite": cuprite,
    "scenes": scenes,
    "endmembers": endmembers,
    "abundance-maps": abundance_maps,
    "ablation": ablation,
}
LONGEST_TABLE = 100  # a longer one is a record of single values, such as the spectra of figure 3


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment that the command line names, or list all."""
    if arguments is None:
        arguments = sys.argv[1:]
    options = parser().parse_args(arguments)
    if options.name is None:
        for name, experiment in EXPERIMENTS.items():
            print(f"{name:15} {experiment.__doc__}")
        return
    # Figures go to files only.
    matplotlib.use("agg")
    request = Request(options.data, options.rank, options.quick, options.seed)
    try:
        outcome = EXPERIMENTS[options.name](request)
    except InputError as error:
        raise SystemExit(f"error: {error}") from error
    facts = {
        "command": " ".join(["python -m reproduce", *arguments]),
        "seed": options.seed,
        "quick": options.quick,
    }
    paths = write_outcome(outcome, options.output, options.name, facts)
    # The last table is the summary.
    rows = list(outcome.tables.values())[-1]
    if len(rows) <= LONGEST_TABLE:
        print_table(rows)
    print(*outcome.notes, *paths, sep="\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    found = argparse.ArgumentParser(
        prog="python -m reproduce", description="The paper's figures and tables."
    )
    found.add_argument(
        "name",
        nargs="?",
        choices=EXPERIMENTS,
        help="the experiment to run; without a name, all are listed",
    )
    found.add_argument("--data", type=Path, help="a scene, or a folder with scenes")
    found.add_argument(
        "-r",
        "--rank",
        type=int,
        action="append",
        default=[],
        help="a rank other than the paper's; can be repeated",
    )
    found.add_argument("--quick", action="store_true", help="a small version on generated data")
    found.add_argument("--seed", type=int, default=0, help="random seed")
    found.add_argument(
        "-o", "--output", type=Path, default=Path("reproduced"), help="output folder"
    )
    return found


def print_table(rows: list[Row]) -> None:
    """Print rows in columns as wide as their longest entry."""
    lines = [list(rows[0])]
    for row in rows:
        lines.append([str(cell(value, ".4g", "–")) for value in row.values()])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join(cells).rstrip())


if __name__ == "__main__":
    main()
