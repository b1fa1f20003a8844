"""Maps of a large scene beside the speed of reading: ``python -m benchmarks maps``.

An ENVI file of 3 GB is generated, read block by block, and mapped: nonnegative coefficients,
residuals and standard errors, held in memory. The file is removed at the end.
"""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measuring import clock
from selfdict.scene import build_scene, read_scene, write_scene
from selfdict.scene.blocks import blocks, stored_matrix
from selfdict.scene.maps import FitBlock
from selfdict.scene.passes import over_blocks

N_BANDS = 162
N_COLUMNS = 1000
RANKS = (6, 12)


def run(quick: bool = False) -> None:
    """Print the rate of reading and of mapping, in MB of the file per second."""
    gigabytes = 3.0
    if quick:
        gigabytes = 0.05
    with tempfile.TemporaryDirectory() as folder:
        path = _write(Path(folder), gigabytes)
        seconds, _ = clock(lambda: _read(path))
        n_bytes = read_scene(path).nbytes
        reading = n_bytes / 1e6 / seconds
        print(f"maps: {n_bytes / 1e9:.2f} GB, {N_BANDS} bands; reading {reading:.0f} MB/s")
        for r in RANKS:
            for with_uncertainty in (False, True):
                bands = np.ones(N_BANDS, dtype=bool)
                task = FitBlock(bands, _spectra(r), "nnls", with_uncertainty=with_uncertainty)
                seconds, _ = clock(lambda task=task: _fit(path, task))
                rate = n_bytes / 1e6 / seconds
                print(
                    f"maps: r = {r}, nnls, standard errors {with_uncertainty}: "
                    f"{rate:.0f} MB/s, {100 * rate / reading:.0f} % of reading",
                    flush=True,
                )


def _fit(path, task):
    for _ in over_blocks(read_scene(path), task):
        pass


def _read(path: Path) -> None:
    scene = read_scene(path)
    for part in blocks(scene):
        stored_matrix(scene.isel(y=part[0], x=part[1]))


def _spectra(r: int):
    rng = np.random.default_rng(r)
    steps = rng.standard_normal((N_BANDS, r)).cumsum(axis=0)
    return (0.5 + 0.4 * steps / np.abs(steps).max(axis=0)).astype(np.float32)


def _write(folder: Path, gigabytes: float) -> Path:
    """Write mixtures of six spectra, some rows at a time, all the same."""
    n_rows = max(64, round(gigabytes * 1e9 / (4 * N_BANDS * N_COLUMNS)))
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(0.3 * np.ones(6), (64, N_COLUMNS)).astype(np.float32)
    values = np.tensordot(_spectra(6), shares, axes=([1], [2]))
    values += 0.005 * rng.standard_normal(values.shape, dtype=np.float32)
    path = write_scene(build_scene(values), folder / "scene.hdr", interleave="bil")
    strip = path.with_suffix(".img").read_bytes()
    with path.with_suffix(".img").open("ab") as file:
        for _ in range(n_rows // 64 - 1):
            file.write(strip)
    header = path.read_text()
    path.write_text(header.replace("lines = 64", f"lines = {64 * (n_rows // 64)}"))
    return path
