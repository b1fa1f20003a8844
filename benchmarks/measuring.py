"""What several benchmarks measure with: seconds, memory, scenes, noise."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment


def clock(task: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one run, and what it returned."""
    start = time.perf_counter()
    result = task()
    return time.perf_counter() - start, result


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


def with_noise(M: np.ndarray, decibels: float, rng: np.random.Generator) -> np.ndarray:
    """Return data with white noise at a signal-to-noise ratio."""
    noise = rng.standard_normal(M.shape)
    noise *= np.linalg.norm(M) / np.linalg.norm(noise) * 10 ** (-decibels / 20)
    return M + noise


def relative_distance(E: np.ndarray, W: np.ndarray) -> float:
    """Return the distance of endmembers, scaled to the sum one and matched, from the true ones."""
    E = E / E.sum(axis=0)
    distance = np.linalg.norm(E[:, :, None] - W[:, None, :], axis=0)
    ours, theirs = linear_sum_assignment(distance)
    return float(np.linalg.norm(distance[ours, theirs]) / np.linalg.norm(W))
