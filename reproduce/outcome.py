"""The request to an experiment, its outcome, and how the outcome is written."""

import csv
import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import selfdict

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    ``data`` is a scene or a folder with scenes. Without ``ranks`` those of the paper are tried, or
    that of the scene's reference. ``quick`` stands for a small version on generated data.
    """

    data: Path | None = None
    ranks: Sequence[int] = ()
    quick: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What an experiment found.

    The first table is the whole record, the last a summary. The figures are those of matplotlib.
    """

    tables: dict[str, list[Row]]
    figures: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def progress(line: str) -> None:
    """Print a line about the current step."""
    print(line, file=sys.stderr, flush=True)


def write_outcome(outcome: Outcome, folder: Path, name: str, facts: Row) -> list[Path]:
    """Write the tables as CSV, the figures as PNG and ``facts`` as JSON, and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table, rows in outcome.tables.items():
        path = folder / f"{table}.csv"
        _write_csv(path, rows)
        paths.append(path)
    for title, figure in outcome.figures.items():
        path = folder / f"{title}.png"
        figure.savefig(path, dpi=100)
        paths.append(path)
        # pyplot keeps every figure in memory until it is closed.
        plt.close(figure)
    record = folder / f"{name}.json"
    contents = {**facts, **environment(), "notes": outcome.notes}
    record.write_text(json.dumps(contents, indent=2) + "\n", "utf-8")
    return [*paths, record]


def environment() -> Row:
    """Return the time, the machine and the versions, for the record."""
    packages = ("numpy", "scipy", "numba", "scikit-learn")
    return {
        "selfdict": selfdict.__version__,
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }


def subplots(
    rows: int, columns: int, width: float, height: float, **options: Any
) -> tuple[Any, Any]:
    """Return a figure and a 2-D array of axes without upper and right spines."""
    # Not squeezed: with one row or column the axes would not be a 2-D array.
    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options
    )
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _write_csv(path: Path, rows: list[Row]) -> None:
    # The csv module writes line ends itself.
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({key: cell(value, ".6g", "") for key, value in row.items()})


def cell(value: Any, digits: str, nothing: str) -> Any:
    """Return what stands in a table: floats with so many digits, and something for None."""
    if value is None:
        return nothing
    if isinstance(value, float):
        return format(value, digits)
    return value
