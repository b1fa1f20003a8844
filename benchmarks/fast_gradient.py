"""One iteration of Algorithm 1 over the bare matrix products it cannot do without.

Products and iterations take turns, twenty at a time, and the medians are compared. The products run
in a process of their own: for a while after each, the threads of BLAS keep a core busy waiting for
the next.
"""

import multiprocessing
import time
import tracemalloc
from functools import partial
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.measuring import Table, clock
from selfdict import fast_gradient
from selfdict.datasets import make_mixtures

SHAPES = ((162, 500), (162, 1000), (162, 2000))
AT_A_TIME = 20
TURNS = 25
PAUSE = 0.15  # seconds after the products, until the threads of BLAS sleep


def run(quick: bool = False) -> None:
    """Print the table."""
    print("fast_gradient: one iteration over its two bare products M(·) and Mᵀ(·), both n×n dense")
    table = Table("m:5|n:6|dtype:>8|iteration ms:13.2f|GEMMs ms:9.2f|ratio:6.2f|peak/n²:8.1f")
    for m, n in SHAPES[:1] if quick else SHAPES:
        for dtype in (np.float32, np.float64):
            M = mixtures(m, n, dtype)
            mu = 1e-3 * float(np.vdot(M, M)) / n
            one, bare = compare(M, mu)
            peak = peak_arrays(M, mu)
            table.row(m, n, M.dtype.name, 1e3 * one, 1e3 * bare, one / bare, peak)


def mixtures(m: int, n: int, dtype: type) -> np.ndarray:
    """Return the data."""
    return make_mixtures(m, n, 6, noise=0.02, random_state=0)[0].astype(dtype)


def compare(M: np.ndarray, mu: float) -> tuple[float, float]:
    """Return the median seconds of an iteration and of its products."""

    def seconds(iterations: int) -> float:
        return clock(lambda: fast_gradient(M, mu, max_iter=iterations, tol=0))[0]

    seconds(1)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    other = context.Process(target=products, args=(there, *M.shape, M.dtype.type), daemon=True)
    other.start()
    here.recv()
    iterations, bare = [], []
    for _ in range(TURNS):
        # the difference leaves out what is done once: checks, start, certificate
        iterations.append((-seconds(1) + seconds(1 + AT_A_TIME)) / AT_A_TIME)
        here.send(True)
        bare.append(here.recv())
        time.sleep(PAUSE)
    other.kill()
    return float(np.median(iterations)), float(np.median(bare))


def products(pipe: Connection, m: int, n: int, dtype: type) -> None:
    """Send, for each message received, the seconds that the two products take."""
    M = mixtures(m, n, dtype)
    X, R = np.random.default_rng(0).random((n, n)).astype(dtype), M.copy()
    MX, V = np.empty_like(M), np.empty_like(X)

    def both(times: int) -> None:
        for _ in range(times):
            np.matmul(M, X, out=MX)
            np.matmul(M.T, R, out=V)

    both(1)
    pipe.send(None)
    while pipe.recv():
        pipe.send(clock(partial(both, AT_A_TIME))[0] / AT_A_TIME)


def peak_arrays(M: np.ndarray, mu: float) -> float:
    """Return the peak memory of a run beyond what was held before, in units of one n×n array."""
    tracemalloc.start()
    fast_gradient(M, mu, max_iter=3, tol=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (M.shape[1] ** 2 * M.itemsize)
