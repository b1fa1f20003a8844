"""What an experiment is asked, what it gives back, and how that is written."""

import csv
import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from selfdict import __version__
from selfdict._optional import optional

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    Attributes
    ----------
    data : Path or None
        The scene, or a folder with scenes.
    ranks : sequence of int
        The ranks to try; empty: those of the paper, or of the scene's reference.
    quick : bool
        A small version of the same experiment, on generated data.
    seed : int
        Seed of everything random.
    progress : callable
        Called with a line for a person from time to time.
    """

    data: Path | None = None
    ranks: Sequence[int] = ()
    quick: bool = False
    seed: int = 0
    progress: Callable[[str], None] = lambda line: None


@dataclass(frozen=True)
class Outcome:
    """Tables by name (the first is the whole record, the last a summary), matplotlib figures by name, and remarks."""

    tables: dict[str, list[Row]]
    figures: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_outcome(outcome: Outcome, folder: Path, name: str, facts: Row) -> list[Path]:
    """Write each table as CSV, each figure as PNG, and what was run where as JSON; return the paths.

    The files appear together, when all are written; older ones of the same name are replaced.
    """
    from selfdict.scene.staging import (
        staged,  # brings xarray, which the list of experiments does not need
    )

    folder.mkdir(parents=True, exist_ok=True)
    with staged(folder / f"{name}.json", overwrite=True) as record:
        for table, rows in outcome.tables.items():
            _write_csv(record.with_name(f"{table}.csv"), rows)
        for title, figure in outcome.figures.items():
            figure.savefig(record.with_name(f"{title}.png"), dpi=100)
            optional("matplotlib.pyplot").close(figure)
        record.write_text(
            json.dumps({**facts, **surroundings(), "notes": outcome.notes}, indent=2) + "\n",
            "utf-8",
        )
        names = sorted(path.name for path in record.parent.iterdir())
    return [folder / each for each in names]


def surroundings() -> Row:
    """Return the time, the machine and the versions, for the record."""
    packages = ("numpy", "scipy", "numba", "scikit-learn")
    return {
        "selfdict": __version__,
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }


def subplots(
    rows: int, columns: int, width: float, height: float, **options: Any
) -> tuple[Any, Any]:
    """Return a figure and a 2-D array of axes without the frame's upper and right line."""
    figure, axes = optional("matplotlib.pyplot").subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options
    )
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _write_csv(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value
