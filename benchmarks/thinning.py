"""Which pixels of a large scene FGNSR-500 chooses from.

``python -m benchmarks thinning [--data DIR]`` prints the error of the whole scene if the
500 candidates are H2NMF representatives of all pixels, of the representatives of 16 blocks, or of a
sample of each block together with its extreme pixels.
"""

from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr

from benchmarks.measuring import SCENES
from selfdict import FGNSR, nnls
from selfdict.datasets import make_scene
from selfdict.metrics import relative_error
from selfdict.scene import blocks, matrix, read_scene
from selfdict.scene.passes import over_blocks
from selfdict.scene.plan import Thinning, gather, thin_block

N_BLOCKS, SHARE = 16, 25  # one pixel in 25 is kept, 100 of a block at least


def run(quick: bool = False, data: str | None = None) -> None:
    """Print one line per scene; ``quick`` takes a small one, ``data`` is a folder of real ones."""
    shape = (60, 60) if quick else (300, 300)
    for seed in range(1 if quick else 3):
        truth = make_scene(
            shape, n_bands=100, n_endmembers=6, noise=0.01, n_outliers=5, random_state=seed
        )
        compare(f"generated, seed {seed}", truth.scene, 6)
    for name, r in SCENES.items() if data else ():
        # in memory: a file of this size is one block
        compare(name, read_scene(Path(str(data)) / f"{name}.npz").compute(), r)


def compare(name: str, scene: xr.DataArray, r: int) -> None:
    """Print the errors of a scene in percent."""
    M = np.maximum(matrix(scene), 0)
    bands, n = np.ones(len(M), dtype=bool), M.shape[1]
    few = max(100, n // SHARE // N_BLOCKS)
    rules = {
        "all pixels": Thinning(),
        "representatives of blocks": Thinning(n_clusters=few),
        "sample of blocks": Thinning(share=few * N_BLOCKS / n, n_extreme=3 * r),
    }
    task = partial(thin_block, bands, list(rules.values()))
    whole, blocks.BLOCK_BYTES = blocks.BLOCK_BYTES, scene.nbytes // N_BLOCKS
    words = []
    parts = [found for _, found in over_blocks(scene, task)]
    for name_of_rule, found in zip(rules, zip(*parts)):
        points = gather(found)
        model = FGNSR(r, candidates=500, random_state=0).fit(points.M.T, sample_weight=points.sizes)
        U = model.components_.T
        words.append(
            f"{name_of_rule} {100 * relative_error(M, U, nnls(U, M)):.3f} % ({len(points)})"
        )
    blocks.BLOCK_BYTES = whole
    print(f"thinning: {name}, {n} pixels: " + ", ".join(words), flush=True)
