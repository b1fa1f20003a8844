"""Few points of many features: a whole fit in products XXᵀ of all points, n² m operations each.

The product is timed in float64 on the same data. A cost in the square or the cube of the features
would show as a ratio that grows with them.
"""

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.measuring import Table, clock
from selfdict import FGNSR, H2NMF, SNPA, SPA, VCA, XRAY
from selfdict.datasets import make_mixtures

POINTS, RANK, REPEATS = 200, 4, 5
FEATURES = (2_000, 6_000, 20_000)


def run(quick: bool = False) -> None:
    """Print a line for each number of features and each method."""
    print(f"wide: {POINTS} points in float32, mixtures with 2% noise, r = {RANK}, milliseconds")
    table = Table("features:8|:<9|time:8.1f|product:8.1f|over:6.1f")
    for m in FEATURES[:1] if quick else FEATURES:
        M = make_mixtures(m, POINTS, RANK, noise=0.02, random_state=0)[0]
        X = np.ascontiguousarray(M.T, dtype=np.float32)
        product = seconds(lambda X=X: X.astype(np.float64) @ X.T.astype(np.float64))
        for method in (FGNSR, SPA, SNPA, XRAY, VCA, H2NMF):
            taken = seconds(lambda X=X, method=method: method(RANK).fit(X))
            table.row(m, method.__name__, 1e3 * taken, 1e3 * product, taken / product)


def seconds(task: Callable[[], Any]) -> float:
    """Return the median time of a task after a first run, which compiles."""
    task()
    return median(clock(task)[0] for _ in range(REPEATS))
