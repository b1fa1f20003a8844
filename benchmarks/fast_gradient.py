"""One iteration of Algorithm 1 over the bare matrix products it cannot do without."""

import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from selfdict import fast_gradient
from selfdict.datasets.mixtures import make_mixtures

SHAPES = ((162, 500), (162, 1000), (162, 2000))
ITERATIONS = 20


def best(task: Callable[[], object], repeats: int = 5) -> float:
    """Return the seconds of the quickest of several runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def run(quick: bool = False) -> None:
    """Print the table."""
    print("fast_gradient: one iteration over its two bare products M(·) and Mᵀ(·), both n×n dense")
    print(f"{'m':>5} {'n':>6} {'dtype':>8} {'iteration ms':>13} {'GEMMs ms':>9} {'ratio':>6} {'peak/n²':>8}")
    for m, n in SHAPES[:1] if quick else SHAPES:
        for dtype in (np.float32, np.float64):
            M = make_mixtures(m, n, 6, noise=0.02, random_state=0)[0].astype(dtype)
            mu = 1e-3 * float(np.vdot(M, M)) / n
            X, R = np.random.default_rng(0).random((n, n)).astype(dtype), M.copy()
            MX, V = np.empty_like(M), np.empty_like(X)

            def products(M=M, X=X, R=R, MX=MX, V=V) -> None:
                np.matmul(M, X, out=MX)
                np.matmul(M.T, R, out=V)

            lipschitz = float(np.linalg.norm(M, 2)) ** 2

            def iterate(k: int, M=M, mu=mu, lipschitz=lipschitz) -> None:
                fast_gradient(M, mu, max_iter=k, tol=0, lipschitz=lipschitz)

            iterate(1)
            bare = best(products, 10)
            # the difference leaves out what is done once: checks, start, certificate
            one = (best(lambda: iterate(ITERATIONS + 1)) - best(lambda: iterate(1))) / ITERATIONS
            print(
                f"{m:5} {n:6} {np.dtype(dtype).name:>8} {1e3 * one:13.2f} {1e3 * bare:9.2f} {one / bare:6.2f}",
                end="",
            )
            print(f" {peak_arrays(M, mu, lipschitz):8.1f}")


def peak_arrays(M: np.ndarray, mu: float, lipschitz: float) -> float:
    """Return the peak memory of a run beyond what was held before, in units of one n×n array."""
    tracemalloc.start()
    fast_gradient(M, mu, max_iter=3, tol=0, lipschitz=lipschitz)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (M.shape[1] ** 2 * M.itemsize)
