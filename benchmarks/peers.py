"""The peers over bare passes: a pass reads M once, as one matrix-vector product uᵀM by BLAS.

The pass is timed on the same array, in the same order in memory, between the runs of the method.
SPA with r columns is held against r passes, H2NMF with 100 clusters against 2 log₂ 100 of them, the
others against SPA.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.measuring import clock
from selfdict import h2nmf, snpa, spa, vca, xray
from selfdict.datasets import make_mixtures

BANDS, PIXELS, RANK, CLUSTERS, REPEATS = 162, 94_249, 6, 100, 15


def run(quick: bool = False) -> None:
    """Print the table."""
    n = 5_000 if quick else PIXELS
    M = make_mixtures(BANDS, n, RANK, noise=0.01, random_state=0)[0]
    print(f"peers: {BANDS}×{n}, mixtures with 1% noise, r = {RANK}, milliseconds")
    print(f"{'':12} {'dtype':>8} {'order':>8} {'time':>8} {'a pass':>7} {'over':>6}  what")
    for dtype in (np.float64, np.float32):
        for order in ("C", "F"):
            A = np.asarray(M, dtype=dtype, order=order)  # type: ignore[call-overload]
            stored = f"{A.dtype.name:>8} {'by rows' if order == 'C' else 'by cols':>8}"
            seconds, a_pass = both(partial(spa, A, RANK), A)
            line("spa", stored, seconds, a_pass, seconds / (RANK * a_pass), f"{RANK} passes")
            base = seconds
            seconds, a_pass = both(partial(h2nmf, A, CLUSTERS), A)
            passes = 2 * np.log2(CLUSTERS)
            line(
                f"h2nmf {CLUSTERS}",
                stored,
                seconds,
                a_pass,
                seconds / (passes * a_pass),
                f"{passes:.1f} passes",
            )
            for method in (snpa, xray, partial(vca, random_state=0)):
                seconds, a_pass = both(partial(method, A, RANK), A)
                name = getattr(method, "__name__", "vca")
                line(name, stored, seconds, a_pass, seconds / base, "spa")
    rough = h2nmf(M, CLUSTERS).labels
    with patch("selfdict.peers.leaves._MAX_DOUBLE_ENTRIES", M.size):  # as if M were not large
        exact = h2nmf(M, CLUSTERS).labels
    print(f"h2nmf: {np.sum(rough != exact)} of {n} labels differ from those in double precision")


def line(name: str, stored: str, seconds: float, a_pass: float, ratio: float, what: str) -> None:
    """Print one row."""
    print(
        f"{name:12} {stored} {1e3 * seconds:8.1f} {1e3 * a_pass:7.2f} {ratio:6.1f}  {what}",
        flush=True,
    )


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
