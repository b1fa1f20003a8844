"""The first fit on a machine: a second process compiles the kernels that the fit needs last.

numba compiles one kernel at a time, whatever the number of threads. The second process runs the
late steps of a fit on tiny data, which leaves their kernels in numba's cache on disk. The fit finds
them there, or compiles them itself: it never waits for the other process.
"""

import atexit
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np

from selfdict._validation import Array
from selfdict.compute.threads import n_threads
from selfdict.kernels.curvature import curvature
from selfdict.kernels.gates import fit_columns
from selfdict.kernels.rank_two import correlate
from selfdict.model.screening import FUSED_FEATURES, positive_sums
from selfdict.peers.h2nmf import h2nmf


def start(M: Array, clusters_first: bool) -> None:
    """Start the second process for data like M (m, n), if the cache on disk is empty.

    ``clusters_first`` says whether the fit begins with clusters of the columns.
    """
    # A limit of one thread is one on the second process too. A program that has Python built in
    # may be named as the executable, and would start once more.
    has_python = Path(sys.executable or "").stem.lower().startswith("python")
    if n_threads() > 1 and has_python and _cache_is_empty():
        order = "C"
        if abs(M.strides[0]) < abs(M.strides[1]):
            order = "F"
        late = "clusters"
        if clusters_first:
            late = "gates"
        _start_once(M.dtype.name, order, late)


def _cache_is_empty() -> bool:
    """Whether numba has a folder for its cache, and nothing of the last kernel there."""
    if numba.config.DISABLE_JIT:
        return False
    folder = cast(Any, correlate).stats.cache_path
    if folder is None:
        return False
    return not any(Path(folder).glob("rank_two.correlate-*.nbi"))


@cache
def _start_once(dtype: str, order: str, late: str) -> None:
    # -P: modules in the current folder must not replace those of the environment.
    command = [sys.executable, "-P", "-m", "selfdict.peers.compile_ahead", dtype, order, late]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # no further process is allowed: the fit compiles everything itself
        return
    atexit.register(_stop, process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End the second process, so that it does not outlive this one."""
    process.kill()
    process.wait()


def compile_late_kernels(dtype: str, order: str, late: str) -> None:
    """Run late steps of a fit on tiny data of a dtype, stored by rows ("C") or columns ("F").

    Second derivatives and scores come late in every fit. Beside them, ``late`` names what comes
    late in this one: "clusters", or "gates", the fit of columns within gates.
    """
    rng = np.random.default_rng(0)
    n = 3
    k = 2
    state = np.zeros((n, k), np.int8)
    if late == "gates":
        own = np.full(n, -1)
        Z = np.zeros((n, k))
        fit_columns(np.eye(k), Z + 1.0, np.ones(n), np.ones(k), own, Z, state, 0, n)
    curvature(np.eye(k), np.ones(n), state, 0, n)
    D = rng.random((FUSED_FEATURES + 1, 4))
    few = D[:FUSED_FEATURES]
    v = np.ones(4)
    positive_sums(D, v, D, None, np.float32)
    positive_sums(D, v, D, None, np.float64)
    positive_sums(few, v, few, None, np.float32)
    if late == "clusters":
        M = rng.random((6, 60)).astype(dtype)
        if order == "F":
            M = np.asfortranarray(M)
        h2nmf(M, 4)


if __name__ == "__main__":
    compile_late_kernels(*sys.argv[1:])
