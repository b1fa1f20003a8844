"""Compression to q = 2r features: the error of FGNSR, and the time of a screening pass.

The error is that on the whole data. The scenes are ``samson.npz``, ``jasper_ridge.npz`` and
``urban_sub4.npz`` (``Y`` bands × pixels, ``scale``) in the folder given as ``data``; without it,
generated mixtures are used. Both passes are taken in float64, in turn.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.working_set import SCENES
from selfdict import FGNSR, Compression
from selfdict.datasets import make_mixtures
from selfdict.model.omega import column_norms
from selfdict.model.screening import positive_sums
from selfdict.reductions.compression import compress

REPEATS = 7


def run(quick: bool = False, data: str | None = None) -> None:
    """Print the tables."""
    scenes = {}
    for name, r in SCENES:
        if data is None:
            scenes[f"mixtures r={r}"] = (
                r,
                make_mixtures(162, 1_000 if quick else 6_000, r, noise=0.02, random_state=0)[0],
            )
        else:
            with np.load(Path(data) / f"{name}.npz", allow_pickle=False) as file:
                scenes[name] = r, file["Y"] / float(file["scale"])
    print("compression: a screening pass over all rows and columns, milliseconds")
    print(f"{'':14} {'m':>4} {'q':>3} {'whole':>7} {'compressed':>10} {'ratio':>6} {'m/(2q)':>7}")
    for name, (r, M) in scenes.items():
        passes(name, M, 2 * r)
    print("relative error of FGNSR with its defaults, on the whole data, and certified gaps")
    for name, (r, M) in scenes.items():
        errors(name, M, r)


def passes(name: str, M: np.ndarray, q: int) -> None:
    """Time both passes with the residual of the mean: any will do."""
    w, small = column_norms(M), compress(M, q)
    theta = M - M.mean(axis=1, keepdims=True)
    projected = small.basis.T @ theta
    whole, compressed = np.inf, np.inf
    for _ in range(REPEATS):
        whole = min(whole, clock(M, w, theta))
        compressed = min(compressed, clock(small.data, w, projected))
    m = len(M)
    ratio = whole / compressed
    print(
        f"{name:14} {m:4} {q:3} {1e3 * whole:7.1f} {1e3 * compressed:10.1f} {ratio:6.1f} "
        f"{m / (2 * q):7.2f}",
        flush=True,
    )


def clock(M: np.ndarray, w: np.ndarray, theta: np.ndarray) -> float:
    """Return the seconds of one pass."""
    start = time.perf_counter()
    positive_sums(M, w, theta, None, np.float64)
    return time.perf_counter() - start


def errors(name: str, M: np.ndarray, r: int) -> None:
    """Fit with and without compression."""
    base = FGNSR(r, random_state=0).fit(M.T)
    print(
        f"{name:14} {'whole':9} {100 * base.reconstruction_err_:6.3f}%         gap {base.gap_:.1e}",
        flush=True,
    )
    for method in ("svd", "gaussian", "srht"):
        model = FGNSR(r, compress=Compression(2 * r, method), random_state=0).fit(M.T)
        change = model.reconstruction_err_ / base.reconstruction_err_ - 1
        print(
            f"{name:14} {method:9} {100 * model.reconstruction_err_:6.3f}% {change:+7.2%} "
            f"gap {model.gap_:.1e} (compressed problem {model.compressed_gap_:.1e})",
            flush=True,
        )
