"""The number of materials that is recommended, for scenes and for mixtures of known numbers.

Generated scenes have three damaged pixels each. Real scenes (``samson.npz``, ``jasper_ridge.npz``,
``urban_sub4.npz``, ``hysu_targets.npz``) are read from the folder given as ``data``.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measuring import SCENES, Table, clock, read_matrix
from selfdict import advise_rank
from selfdict.datasets import make_mixtures, make_scene

REAL = (*SCENES, "hysu_targets")
BANDS = (4, 10, 50, 200)


def run(*, quick: bool, data: str | None) -> None:
    """Print what is recommended; ``quick`` takes few scenes."""
    print("rank: the number of materials that is recommended")
    if data is not None:
        for name in REAL:
            M = _real(Path(data) / f"{name}.npz")
            seconds, advice = clock(partial(advise_rank, M))
            print(f"{name} ({seconds:.1f} s)")
            for sentence in advice.sentences:
                print(f"    {sentence}")
    seeds = range(1 if quick else 5)
    table = Table(":<38|r:2|recommended (times):<")
    for bands in BANDS:
        for name, r, matrices in _families(bands, seeds):
            found = Counter(advise_rank(M).r for M in matrices)
            counts = ", ".join(f"{rank} ({count})" for rank, count in found.most_common())
            table.row(name, r, counts)


def _families(bands: int, seeds: range) -> Iterator[tuple[str, int, list[np.ndarray]]]:
    for r in (3, 5, 8):
        if r >= bands:
            continue
        for noise, variability in ((0.002, 0.0), (0.01, 0.0), (0.04, 0.0), (0.01, 0.05)):
            name = f"scene, {bands} bands, noise {100 * noise:g} %"
            if variability:
                name += ", spectra vary"
            matrices = [_scene(bands, r, noise, variability, seed) for seed in seeds]
            yield name, r, matrices
        mixtures = [
            make_mixtures(bands, 1000, r, noise=0.01, concentration=0.3, random_state=seed)[0]
            for seed in seeds
        ]
        yield f"Dirichlet mixtures, {bands} bands", r, mixtures


def _scene(bands: int, r: int, noise: float, variability: float, seed: int) -> np.ndarray:
    truth = make_scene(
        (32, 32), bands, r, noise=noise, variability=variability, border=0, random_state=seed
    )
    values = truth.scene.values.reshape(bands, -1)
    good = truth.scene.good_band.values
    if bands <= 10:  # too few to leave any out
        good = np.ones(bands, dtype=bool)
    return values[good]


def _real(path: Path) -> np.ndarray:
    if path.stem != "hysu_targets":
        return read_matrix(path)
    with np.load(path, allow_pickle=False) as file:
        cube = file["cube"].reshape(len(file["cube"]), -1)
        return cube[:, (cube != 15000).all(axis=0)] / float(file["scale"])
