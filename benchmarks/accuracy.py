"""Distance of endmembers and abundances from what is known about a scene.

With ``--data DIR``: known areas of targets (:mod:`benchmarks.targets`), and
references that were computed (:mod:`benchmarks.references`). Endmembers that another program has
found are measured as well, from files ``PROGRAM_SCENE.npz`` with an array ``E`` in the same folder.

On generated scenes with an offset subtracted from a third of their bands: root mean square error of
unit-length shares with the negative values as they are, and with zeros in their place.

On a synthetic family with known endmembers: 30 bands, 50 pure columns in 5 classes and 50 mixtures,
Gaussian noise of a given part of the norm, columns normalised; relative error of the endmembers.
"""

from pathlib import Path

import numpy as np

from benchmarks.measuring import relative_distance, with_noise
from benchmarks.methods import as_sum_one, rmse
from benchmarks.references import run_references
from benchmarks.targets import run_targets
from selfdict import FGNSR, unmix
from selfdict.datasets import SceneTruth, make_scene
from selfdict.metrics import match
from selfdict.scene import UnmixResult, build_scene

NOISE = (0.003, 0.02, 0.13)


def run(data: str | None = None, quick: bool = False) -> None:
    """Print the tables."""
    if data is None:
        print("give --data DIR for known areas and scenes with references")
    else:
        run_targets(Path(data), quick)
        run_references(Path(data), quick)
    synthetic(2 if quick else 10)
    negative_values(1 if quick else 6)


def synthetic(repeats: int) -> None:
    """Print the relative error of the endmembers of the synthetic family."""
    print("synthetic, relative error of the endmembers: pixels, averages")
    for noise in NOISE:
        errors = {"pixels": [], "average": []}
        for seed in range(repeats):
            M, W = family(noise, seed)
            for kind, found in errors.items():
                model = FGNSR(5, endmembers=kind, random_state=0).fit(M.T)
                found.append(relative_distance(model.components_.T, W))
        pixels, averages = (float(np.mean(found)) for found in errors.values())
        print(f"  noise {100 * noise:4.1f} %: {pixels:.4f}  {averages:.4f}", flush=True)


def negative_values(repeats: int) -> None:
    """Print the error of the shares of scenes with negative values, kept or raised to zero."""
    print("negative values, error of the shares (points): as they are, raised to zero")
    for noise in (0.005, 0.02, 0.05):
        errors = {"kept": [], "zeros": []}
        negative = []
        for seed in range(repeats):
            truth = make_scene(
                shape=(40, 40), n_endmembers=4, noise=noise, n_outliers=0, random_state=seed
            )
            values = truth.scene.values.copy()
            empty = values == truth.scene.attrs["_FillValue"]
            values[: len(values) // 3] -= np.float32(0.15)
            for kind, lowest in (("kept", -np.inf), ("zeros", 0.0)):
                changed = np.where(empty, -9999, np.maximum(values, lowest)).astype(np.float32)
                result = unmix(
                    build_scene(changed, nodata=-9999),
                    4,
                    candidates=200,
                    abundances="nnls",
                    random_state=0,
                )
                errors[kind].append(share_error(result, truth))
                if kind == "kept":
                    negative.append(np.mean(values[:, result.valid.values] < 0))
        kept, zeros = (float(np.mean(found)) for found in errors.values())
        print(
            f"  noise {100 * noise:4.1f} %, {100 * np.mean(negative):.1f} % negative: "
            f"{kept:.2f}  {zeros:.2f}",
            flush=True,
        )


def share_error(result: UnmixResult, truth: SceneTruth) -> float:
    """Return the root mean square error of unit-length shares, in percentage points."""
    E = result.endmembers.values.T.astype(np.float64)
    W = truth.endmembers.T.astype(np.float64)
    ours, theirs = match(E, W)
    inside = result.valid.values
    # Coefficients times the lengths of their spectra are those of unit-length spectra.
    found = as_sum_one(result.abundances.values[:, inside] * np.linalg.norm(E, axis=0)[:, None])
    true = as_sum_one(truth.abundances[:, inside] * np.linalg.norm(W, axis=0)[:, None])
    return rmse(found[ours], true[theirs])


def family(noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return data and true endmembers of the synthetic family, columns summing to one."""
    rng = np.random.default_rng(seed)
    W = rng.random((30, 5))
    H = np.hstack([np.repeat(np.eye(5), 10, axis=1), rng.dirichlet(np.full(5, 0.1), 50).T])
    M = np.maximum(with_noise(W @ H, rng, share=noise), 0.0)
    return M / M.sum(axis=0), W / W.sum(axis=0)
