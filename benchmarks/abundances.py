"""``nnls`` over the fastest way through scipy, and ``fcls`` over a quadratic program per pixel.

Both rivals get the data reduced by QR to r rows, so that they do not pay for the bands. The
programs are timed on a sample of the pixels and scaled up.
"""

from collections.abc import Callable
from functools import partial

import clarabel
import numpy as np
import scipy.optimize
import scipy.sparse as sp

from benchmarks.measuring import Table, quickest
from selfdict import fcls, nnls, shares
from selfdict.datasets import make_mixtures

BANDS, PIXELS, PROGRAMS = 162, 94_249, 1_000


def run(quick: bool = False) -> None:
    """Print the table."""
    n = 5_000 if quick else PIXELS
    print(f"abundances: {BANDS}×{n}, mixtures with 2% noise, milliseconds")
    table = Table(":<6|r:3|dtype:>8|ours:8.1f|rival:9.1f|ratio:6.2f|difference:>11|rival:<")
    for r in (6, 20):
        M, _, indices = make_mixtures(BANDS, n, r, noise=0.02, random_state=0)
        U = M[:, indices]
        Q, R = np.linalg.qr(U)
        slow, H = quickest(partial(scipy_loop, R, Q, M), 2)
        line(table, nnls, U, M, H, slow, "loop of scipy.optimize.nnls, QR-reduced")
        slow, H = quickest(partial(programs, R, Q.T @ M[:, :PROGRAMS]), 2)
        slow *= n / H.shape[1]
        line(table, fcls, U, M, H, slow, "a Clarabel program per pixel, QR-reduced")
        for dtype in (np.float64, np.float32):
            share_line(table, U.astype(dtype), M.astype(dtype))


def share_line(table: Table, U: np.ndarray, M: np.ndarray) -> None:
    """Print the time of shares, their estimate of brightness included, beside that of nnls."""
    ours, _ = quickest(lambda: shares(U, M), 7)
    plain, _ = quickest(lambda: nnls(U, M), 7)
    times = 1e3 * ours, 1e3 * plain, ours / plain
    table.row("shares", U.shape[1], U.dtype.name, *times, "", "times nnls")


def line(
    table: Table,
    function: Callable,
    U: np.ndarray,
    M: np.ndarray,
    H: np.ndarray,
    slow: float,
    rival: str,
) -> None:
    """Time ``function`` in both precisions and print it beside its rival."""
    for dtype in (np.float64, np.float32):
        V = U.astype(dtype)
        data = M.astype(dtype)
        function(V, data[:, :10])  # compiles
        fast, ours = quickest(partial(function, V, data), 7)
        difference = f"{np.abs(ours[:, : H.shape[1]] - H).max():.1e}"
        times = 1e3 * fast, 1e3 * slow, slow / fast
        table.row(function.__name__, V.shape[1], V.dtype.name, *times, difference, rival)


def scipy_loop(R: np.ndarray, Q: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Solve one reduced problem after the other."""
    Y = np.ascontiguousarray((Q.T @ M).T)
    return np.stack([scipy.optimize.nnls(R, y)[0] for y in Y], axis=1)


def programs(R: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Solve min ½‖y − R h‖² over h ≥ 0, Σh = 1 for each column y, by an interior-point method."""
    r = R.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    constraints = sp.csc_matrix(np.vstack([np.ones((1, r)), -np.eye(r)]))
    bounds = np.append(1.0, np.zeros(r))
    hessian = sp.triu(sp.csc_matrix(R.T @ R), format="csc")
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(r)]
    return np.stack(
        [
            clarabel.DefaultSolver(hessian, -R.T @ y, constraints, bounds, cones, settings)
            .solve()
            .x
            for y in np.ascontiguousarray(Y.T)
        ],
        axis=1,
    )
