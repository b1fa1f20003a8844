"""The request to an experiment, its outcome, and how the outcome is written."""

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
        Run a small version of the same experiment, on generated data.
    seed : int
        Seed of everything random.
    progress : callable
        Called with one line of text at each step.
    """

    data: Path | None = None
    ranks: Sequence[int] = ()
    quick: bool = False
    seed: int = 0
    progress: Callable[[str], None] = lambda line: None


@dataclass(frozen=True)
class Outcome:
    """What an experiment found.

    Attributes
    ----------
    tables : dict
        Rows by the name of the table; the first table is the whole record, the last a summary.
    figures : dict
        matplotlib figures by name.
    notes : list of str
        Remarks that belong to the tables.
    """

    tables: dict[str, list[Row]]
    figures: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def write_outcome(outcome: Outcome, folder: Path, name: str, facts: Row) -> list[Path]:
    """Write the tables as CSV, the figures as PNG and ``facts`` as JSON, and return the paths.

    The files appear together when all are written. Older ones of the same name are replaced.
    """
    # It imports xarray, which the list of experiments in --help does not need.
    from selfdict.scene.staging import staged

    folder.mkdir(parents=True, exist_ok=True)
    # Whatever is written beside the record is moved into the folder together with it.
    with staged(folder / f"{name}.json", overwrite=True) as record:
        for table, rows in outcome.tables.items():
            _write_csv(record.with_name(f"{table}.csv"), rows)
        for title, figure in outcome.figures.items():
            figure.savefig(record.with_name(f"{title}.png"), dpi=100)
            # pyplot keeps every figure in memory until it is closed.
            optional("matplotlib.pyplot").close(figure)
        contents = {**facts, **environment(), "notes": outcome.notes}
        record.write_text(json.dumps(contents, indent=2) + "\n", "utf-8")
        names = sorted(path.name for path in record.parent.iterdir())
    return [folder / name for name in names]


def environment() -> Row:
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
    """Return a figure and a 2-D array of axes without upper and right spines."""
    # Not squeezed: with one row or column the axes would not be a 2-D array.
    figure, axes = optional("matplotlib.pyplot").subplots(
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
            writer.writerow({key: _cell(value) for key, value in row.items()})


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value
