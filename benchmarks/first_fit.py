"""The first fit on a machine, in which numba compiles the kernels, and the one after it.

``python -m benchmarks first_fit`` prints the seconds of both, and the processor time of every
kernel. Each fit runs in a process of its own; the first one starts with an empty cache.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

N_PIXELS = 4000
N_BANDS = 100
RANK = 5
LISTED = 15  # kernels in the table; the others are added up


def run(quick: bool = False) -> None:
    """Print the table; ``quick`` lists no kernels."""
    with tempfile.TemporaryDirectory() as folder:
        first = fit_in_new_process(folder)
        second = fit_in_new_process(folder)
    print(
        f"first_fit: FGNSR({RANK}) on {N_PIXELS} pixels and {N_BANDS} bands takes "
        f"{first['fit']:.1f} s with an empty cache and {second['fit']:.1f} s in the next process "
        f"(imports {first['imports']:.1f} s and {second['imports']:.1f} s); in processor time "
        f"{first['processor']:.1f} s, of which {first['compiling']:.1f} s compile "
        f"{len(first['kernels'])} functions, and {second['processor']:.1f} s"
    )
    if quick:
        return
    kernels = first["kernels"]
    for name, dtypes, seconds in kernels[:LISTED]:
        print(f"  {seconds:6.2f} s  {name}({dtypes})")
    rest = kernels[LISTED:]
    print(f"  {sum(row[2] for row in rest):6.2f} s  {len(rest)} others")


def fit_in_new_process(cache: str) -> dict:
    """Fit in a process whose kernels are cached in the folder ``cache``."""
    environment = dict(os.environ, NUMBA_CACHE_DIR=cache)
    output = subprocess.check_output(
        [sys.executable, "-m", "benchmarks.first_fit"], env=environment
    )
    return json.loads(output)


def fit() -> dict:
    """Fit in this process and measure it."""
    start = time.perf_counter()
    from numba.core import event

    from selfdict import FGNSR
    from selfdict.datasets import make_mixtures

    M, _, _ = make_mixtures(m=N_BANDS, n=N_PIXELS, r=RANK, noise=0.01, random_state=0)
    imported = time.perf_counter()
    processor = time.process_time()
    buffer = []

    class Recorder(event.Listener):
        def on_start(self, event: event.Event) -> None:
            buffer.append((time.process_time(), event))

        on_end = on_start

    with event.install_listener("numba:compile", Recorder()):
        FGNSR(RANK, random_state=0).fit(M.T).transform(M.T)
    end = time.perf_counter()
    kernels = own_seconds(buffer)
    return {
        "imports": imported - start,
        "fit": end - imported,
        "processor": time.process_time() - processor,
        "compiling": sum(row[2] for row in kernels),
        "kernels": kernels,
    }


def own_seconds(buffer: list) -> list:
    """Return name, argument types and seconds per kernel, without those of the kernels it calls."""
    rows = []
    running = []  # per kernel that is being compiled: its start, and the seconds of its callees
    for when, compilation in buffer:
        if compilation.is_start:
            running.append([when, 0.0])
            continue
        start, callees = running.pop()
        elapsed = when - start
        if running:
            running[-1][1] += elapsed
        name = compilation.data["dispatcher"].py_func.__name__
        dtypes = ", ".join(str(kind) for kind in compilation.data["args"])
        rows.append((name, dtypes, elapsed - callees))
    return sorted(rows, key=lambda row: -row[2])


if __name__ == "__main__":
    json.dump(fit(), sys.stdout)
