"""Scenes larger than memory: ``python -m benchmarks dask [--pixels N,…] [--every-pixel]``.

Scenes of 100 bands (zarr, uint16) are generated on disk and unmixed on two worker processes of 1
GiB each, the maps streamed to zarr. A small one is also unmixed in one process, and on a cluster
that loses a worker in the middle: the pure pixels must be the same. With ``--every-pixel`` the
model is solved with every pixel as a candidate instead.
"""

import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import dask.array
import numpy as np
from distributed import Client, LocalCluster
from distributed.diagnostics import MemorySampler

from benchmarks.measuring import watched_memory
from selfdict.datasets import make_scene
from selfdict.scene import build_scene, read_scene, unmix
from selfdict.scene.write_formats import write_zarr, write_zarr_block

N_BANDS, RANK, COLUMNS = 100, 6, 2000
TILE = (250, 400)  # the chunks of the store: 20 MB
OPTIONS = {"candidates": 500, "random_state": 0}
EVERY_PIXEL = {"candidates": None, "random_state": 0}


def run(quick: bool = False, pixels: str | None = None, every_pixel: bool = False) -> None:
    """Print memory, seconds and seconds per pixel for each size of ``pixels``, such as "1,2".

    ``every_pixel`` makes all pixels candidates, without the comparison.
    """
    sizes = [
        int(n) for n in (pixels or ("500000,1000000" if quick else "1000000,4000000")).split(",")
    ]
    options = OPTIONS
    if every_pixel:
        options = EVERY_PIXEL
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            measure(write_scene(Path(folder) / "scene.zarr", n), Path(folder) / "maps", options)
    if every_pixel:
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(write_scene(Path(folder) / "scene.zarr", min(*sizes, 1_000_000)), Path(folder))


def write_scene(path: Path, n_pixels: int) -> Path:
    """Write tiles of a generated scene, each mirrored, scaled and with noise of its own."""
    truth = make_scene(
        TILE, n_bands=N_BANDS, n_endmembers=RANK, noise=0.0, n_outliers=3, random_state=0
    )
    tile = np.where(
        truth.scene.values == truth.scene.attrs["_FillValue"], 0, truth.scene.values
    ).astype(np.float32)
    rows = -(-n_pixels // COLUMNS // TILE[0]) * TILE[0]
    template = dask.array.zeros((N_BANDS, rows, COLUMNS), dtype=np.uint16, chunks=(N_BANDS, *TILE))
    scene = build_scene(template, wavelength=truth.scene.wavelength.values, scale_factor=1e-4)
    write_zarr(scene, path, compute=False)
    for number, (top, left) in enumerate(np.ndindex(rows // TILE[0], COLUMNS // TILE[1])):
        rng = np.random.default_rng(number)
        values = tile[:, :: rng.choice([-1, 1]), :: rng.choice([-1, 1])] * np.float32(
            rng.uniform(0.9, 1.1)
        )
        noise = np.float32(0.005) * rng.standard_normal(values.shape, dtype=np.float32)
        stored = np.where(values > 0, np.clip(1e4 * (values + noise), 1, 65535), 0).astype(
            np.uint16
        )
        rows_here = slice(top * TILE[0], (top + 1) * TILE[0])
        write_zarr_block(
            path, "reflectance", rows_here, slice(left * TILE[1], (left + 1) * TILE[1]), stored
        )
    return path


def cluster() -> LocalCluster:
    """Start two worker processes that dask holds to 1 GiB each."""
    return LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=":0"
    )


def measure(path: Path, maps: Path, options: dict[str, Any]) -> None:
    """Unmix on the cluster and print what dask says about the memory of its workers."""
    scene = read_scene(path)
    sampler = MemorySampler()
    with cluster() as workers, Client(workers) as client:
        unmix(
            scene.isel(y=slice(0, 250), x=slice(0, 400)), RANK, client=client, **OPTIONS
        )  # load and compile
        with (
            watched_memory() as peak,
            sampler.sample("process", measure="process", client=client, interval=0.2),
            sampler.sample("spilled", measure="spilled", client=client, interval=0.2),
        ):
            result = unmix(scene, RANK, client=client, maps=maps, **options)
    n = scene.sizes["y"] * scene.sizes["x"]
    held = {
        name: max(value for _, value in samples) / 2**20
        for name, samples in sampler.samples.items()
    }
    steps = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in result.seconds.items())
    print(
        f"dask: {n} pixels, {scene.nbytes / 1e9:.1f} GB: "
        f"{1e6 * result.seconds['total'] / n:.2f} µs a pixel ({steps}); "
        f"workers at most {held['process']:.0f} MiB of 2048 together, "
        f"{held['spilled']:.0f} MiB spilled, this process {peak[0] / 2**20:.0f} MiB; "
        f"{result.parameters['n_fitted']} points, "
        f"relative error {result.relative_error:.3%}, "
        f"gap on the points {result.gap:.1e}",
        flush=True,
    )


def compare(path: Path, folder: Path) -> None:
    """Unmix in one process, on a cluster, and on a cluster that loses a worker in each pass."""
    scene = read_scene(path)
    expected = unmix(scene, RANK, **OPTIONS)
    killed: dict[str, int] = {}
    with cluster() as workers, Client(workers) as client:

        def kill_one(step: str, share: float) -> None:
            if step in ("read", "abundances") and share > 0.4 and step not in killed:
                killed[step] = next(iter(client.run(os.getpid).values()))
                os.kill(killed[step], signal.SIGKILL)

        results = {
            "cluster": unmix(scene, RANK, client=client, maps=folder / "a", **OPTIONS),
            "two workers killed": unmix(
                scene, RANK, client=client, maps=folder / "b", progress=kill_one, **OPTIONS
            ),
        }
        print(
            f"dask: one process, two threads: {expected.seconds['total']:.0f} s "
            f"for {expected.n_valid} pixels"
        )
        for name, result in results.items():
            same = np.array_equal(result.pixels, expected.pixels)
            apart = np.nanmax(np.abs(result.abundances.values - expected.abundances.values))
            print(
                f"dask: {name}: {result.seconds['total']:.0f} s, "
                f"pure pixels {'equal' if same else 'DIFFER'}, abundances {apart:.0e} apart"
            )
        maps = [results[name].abundances.values for name in results]
        equal = np.array_equal(*maps, True)
        print(f"dask: maps with and without the kill: {'equal bits' if equal else 'DIFFER'}")
