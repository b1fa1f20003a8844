"""Memory of unmixing a mapped ENVI cube of 3 GB with 500 candidates.

It is more than an eighth of 24 GiB of memory: a smaller one would be read once and kept.

``python -m benchmarks.scene_memory`` prints it. The peak counts anonymous memory (``RssAnon`` of
Linux): what the process holds beyond the pages of the mapped file.
"""

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measuring import watched_memory
from selfdict.datasets import make_scene
from selfdict.files.envi import format_header
from selfdict.scene import read_scene, unmix

TILE, N_BANDS, RANK = 400, 200, 6


def run(quick: bool = False) -> None:
    """Print size, peak memory, error, gap and seconds; ``quick`` takes one tile of the cube."""
    n_tiles = 1 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        header = write_cube(Path(folder), n_tiles)
        scene = read_scene(header)
        with watched_memory() as peak:
            result = unmix(scene, RANK, candidates=500, random_state=0)
    steps = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in result.seconds.items())
    print(
        f"scene_memory: cube of {scene.nbytes / 1e9:.2f} GB, {result.n_valid} pixels, "
        f"{result.parameters['n_fitted']} fitted: peak {peak[0] / 1e6:.0f} MB beyond the mapped "
        f"file, relative error {result.relative_error:.2%}, gap {result.gap:.1e} ({steps})"
    )


def write_cube(folder: Path, n_tiles: int) -> Path:
    """Write n_tiles × n_tiles copies of a generated scene, each with brightness and noise."""
    truth = make_scene(
        (TILE, TILE), n_bands=N_BANDS, n_endmembers=RANK, noise=0.0, n_outliers=5, random_state=0
    )
    values, missing = truth.scene.values, truth.scene.values[0] == truth.scene.attrs["_FillValue"]
    size = n_tiles * TILE
    cube = np.memmap(folder / "cube.img", dtype="<f4", mode="w+", shape=(N_BANDS, size, size))
    rng = np.random.default_rng(0)
    for row in range(0, size, TILE):
        for column in range(0, size, TILE):
            noise = np.float32(0.002) * rng.standard_normal(values.shape, dtype=np.float32)
            tile = np.where(missing, values, values * np.float32(rng.uniform(0.9, 1.1)) + noise)
            cube[:, row : row + TILE, column : column + TILE] = tile
    cube.flush()
    fields = {
        "samples": size,
        "lines": size,
        "bands": N_BANDS,
        "data type": 4,
        "data ignore value": -9999.0,
    }
    (folder / "cube.hdr").write_text(format_header(fields))
    return folder / "cube.hdr"


if __name__ == "__main__":
    run()
