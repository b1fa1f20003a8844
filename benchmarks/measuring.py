"""What several benchmarks share: seconds, memory, scenes, noise, tables."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

# Scenes with references, and their numbers of endmembers.
SCENES = {"samson": 3, "jasper_ridge": 4, "urban_sub4": 6}


class Table:
    """A table that is printed row by row.

    ``columns`` are their headings and formats, such as ``"r:2|dtype:>8|ratio:6.2f"``.
    """

    def __init__(self, columns: str) -> None:
        pairs = [column.rsplit(":", 1) for column in columns.split("|")]
        self.formats = [form for _, form in pairs]
        self._print(format(heading, heading_format(form)) for heading, form in pairs)

    def row(self, *values: Any) -> None:
        """Print a row."""
        self._print(format(value, form) for value, form in zip(values, self.formats, strict=True))

    def _print(self, cells: Iterable[str]) -> None:
        print(" ".join(cells).rstrip(), flush=True)


def heading_format(form: str) -> str:
    """Return the format of a heading: the side and the width of its column."""
    side, width = re.match(r"([<>]?)(\d*)", form).groups()
    return (side or ">") + width


def clock(task: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one run, and what it returned."""
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


def processor_clock(task: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of all threads in seconds, and what the task returned."""
    start = time.process_time()
    result = task()
    return time.process_time() - start, result


def quickest(task: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the seconds of the quickest of several runs, and what the last one returned."""
    best = np.inf
    for _ in range(repeats):
        seconds, result = clock(task)
        best = min(best, seconds)
    return best, result


@contextmanager
def watched_memory() -> Iterator[list[float]]:
    """Keep the largest anonymous memory of this process, in bytes (``RssAnon`` of Linux)."""
    peak = [0.0]
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            peak[0] = max(peak[0], 1024 * memory_status("RssAnon"))
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        stop.set()
        watcher.join()


def memory_status(key: str) -> float:
    """Return a line of the status of this process, in KiB."""
    text = Path("/proc/self/status").read_text()
    return float(text.split(f"{key}:")[1].split()[0])


def read_matrix(path: Path) -> np.ndarray:
    """Return the reflectances (bands, pixels) of a scene stored as ``Y`` and ``scale``."""
    with np.load(path, allow_pickle=False) as file:
        return file["Y"] / float(file["scale"])


def read_reference(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
    """Return data, reference endmembers and abundances, and the shape of a scene."""
    with np.load(path, allow_pickle=False) as file:
        M = file["Y"].astype(np.float64) / float(file["scale"])
        T = file["M"].astype(np.float64)
        A = file["A"].astype(np.float64)
        # pixels are stored column by column
        return M, T, A, (int(file["nCol"]), int(file["nRow"]))


def with_noise(
    M: np.ndarray, rng: np.random.Generator, *, share: float = 0.0, decibels: float | None = None
) -> np.ndarray:
    """Return data with white noise of a share of their norm, or at a signal-to-noise ratio."""
    if decibels is not None:
        share = 10 ** (-decibels / 20)
    noise = rng.standard_normal(M.shape)
    noise *= np.linalg.norm(M) / np.linalg.norm(noise) * share
    return M + noise


def relative_distance(E: np.ndarray, W: np.ndarray) -> float:
    """Return the distance of endmembers, scaled to the sum one and matched, from the true ones."""
    E = E / E.sum(axis=0)
    distance = np.linalg.norm(E[:, :, None] - W[:, None, :], axis=0)
    ours, theirs = linear_sum_assignment(distance)
    return float(np.linalg.norm(distance[ours, theirs]) / np.linalg.norm(W))
