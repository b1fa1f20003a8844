"""The peers over bare passes: a pass reads M once, as one matrix-vector product uᵀM by BLAS.

The pass is timed on the same array, in the same order in memory, between the runs of the method.
SPA with r columns is held against r passes, H2NMF with 100 clusters against 2 log₂ 100 of them, the
others against SPA.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring import Table, clock
from selfdict import h2nmf, snpa, spa, vca, xray
from selfdict.datasets import make_mixtures
from selfdict.peers.h2nmf import clusters_of

BANDS, PIXELS, RANK, CLUSTERS, REPEATS = 162, 94_249, 6, 100, 15


def run(quick: bool = False) -> None:
    """Print the table."""
    n = 5_000 if quick else PIXELS
    M = make_mixtures(BANDS, n, RANK, noise=0.01, random_state=0)[0]
    print(f"peers: {BANDS}×{n}, mixtures with 1% noise, r = {RANK}, milliseconds")
    table = Table(":<12|dtype:>8|order:>8|time:8.1f|a pass:7.2f|over:6.1f|what:<")
    for dtype in (np.float64, np.float32):
        for order in ("C", "F"):
            A = np.asarray(M, dtype=dtype, order=order)  # type: ignore[call-overload]
            stored = {"C": "by rows", "F": "by cols"}[order]
            for name, seconds, a_pass, unit, what in measured(A):
                times = 1e3 * seconds, 1e3 * a_pass, seconds / unit
                table.row(name, A.dtype.name, stored, *times, what)
    rough = h2nmf(M, CLUSTERS).labels
    exact = clusters_of(M, CLUSTERS, single_precision=False).labels
    print(f"h2nmf: {np.sum(rough != exact)} of {n} labels differ from those in double precision")


def measured(A: np.ndarray) -> Iterator[tuple[str, float, float, float, str]]:
    """Yield name, seconds, those of a pass and of what a method is held against, and its name."""
    seconds, a_pass = both(partial(spa, A, RANK), A)
    yield "spa", seconds, a_pass, RANK * a_pass, f"{RANK} passes"
    base = seconds
    seconds, a_pass = both(partial(h2nmf, A, CLUSTERS), A)
    passes = 2 * np.log2(CLUSTERS)
    yield f"h2nmf {CLUSTERS}", seconds, a_pass, passes * a_pass, f"{passes:.1f} passes"
    for name, method in (("snpa", snpa), ("xray", xray), ("vca", partial(vca, random_state=0))):
        seconds, a_pass = both(partial(method, A, RANK), A)
        yield name, seconds, a_pass, base, "spa"


def both(task: Callable[[], Any], A: np.ndarray) -> tuple[float, float]:
    """Return the median seconds of a run of the task, and of a pass over A, taken in turn.

    Not the least: among many short passes one falls into a better moment than any of the long runs
    does.
    """
    u = np.ones(A.shape[0], dtype=A.dtype)
    task()  # compiles
    runs, passes = [], []
    for _ in range(REPEATS):
        runs.append(clock(task)[0])
        passes.extend(clock(lambda: u @ A)[0] for _ in range(5))
        # The threads of BLAS wait actively for a while, and would take a core from the next run.
        time.sleep(0.2)
    return float(np.median(runs)), float(np.median(passes))
