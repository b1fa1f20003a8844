"""Endmembers of Dirichlet mixtures, from a few pure pixels to hardly any.

Library spectra of their own brightness, parts of the area a ~ Dirichlet(concentration), white noise
at 35 dB, 50×50 pixels. The smaller the concentration, the more pixels are nearly pure. Mean
spectral angle to the true spectra in degrees, mean over the seeds.

In a second table, materials vary as measured: each pixel takes one spectrum at random from each
bundle of a scene (``bundles_mua.npz``). The true spectrum is the mean of the bundle at unit length.
"""

from pathlib import Path

import numpy as np

from benchmarks.library import read
from benchmarks.measuring import Table, with_noise
from benchmarks.methods import fitted, unmixed
from benchmarks.shares import distinct_spectra
from selfdict import FGNSR
from selfdict.abundances.shares import unit_columns
from selfdict.metrics import spectral_angle

SHAPE = (50, 50)
SNR = 35.0  # dB
BUNDLES = "bundles_mua.npz"


def run(data: str | None = None, quick: bool = False) -> None:
    """Print the table."""
    D, _ = read(data)
    seeds = 1 if quick else 10
    print(f"Dirichlet mixtures: mean spectral angle (°), {SNR:g} dB, mean of {seeds} seeds")
    table = Table("r:2|concentration:14g|pixels:8.2f|averages:9.2f|unmix:8.2f")
    for r in (4, 6):
        for concentration in (0.1, 0.2, 0.5):
            mixed = [mixtures(D, r, concentration, seed) for seed in range(seeds)]
            table.row(r, concentration, *np.mean([angles(*each) for each in mixed], axis=0))
    if data is None or not (Path(data) / BUNDLES).exists():
        return
    print(f"mixtures of measured bundles: mean spectral angle (°), {SNR:g} dB, {seeds} seeds")
    table = Table("bundles:<11|concentration:14g|pixels:8.2f|averages:9.2f|unmix:8.2f")
    for scene in ("samson", "jasperRidge", "urban"):
        bundles = read_bundles(Path(data) / BUNDLES, scene)
        for concentration in (0.1, 0.2, 0.5):
            mixed = [mixed_bundles(bundles, concentration, seed) for seed in range(seeds)]
            table.row(scene, concentration, *np.mean([angles(*each) for each in mixed], axis=0))


def angles(M: np.ndarray, T: np.ndarray) -> list[float]:
    """Return the angles of FGNSR's pixels, its averages, and ``unmix`` with all defaults."""
    r = T.shape[1]
    results = (
        fitted(FGNSR(r, random_state=0), M),
        fitted(FGNSR(r, endmembers="average", random_state=0), M),
        unmixed(M, SHAPE, r)[0],
    )
    return [spectral_angle(found.endmembers, T, degrees=True) for found in results]


def mixtures(
    D: np.ndarray, r: int, concentration: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels (bands, n) and their spectra (bands, r)."""
    rng = np.random.default_rng(seed)
    T = distinct_spectra(D, r, rng)
    M = T @ rng.dirichlet(np.full(r, concentration), SHAPE[0] * SHAPE[1]).T
    return with_noise(M, rng, decibels=SNR), T


def read_bundles(path: Path, scene: str) -> list[np.ndarray]:
    """Return the measured spectra (bands, k) of each material of a scene."""
    with np.load(path, allow_pickle=False) as file:
        names = [name for name in file if name.startswith(f"{scene}_lib")]
        return [file[name].astype(np.float64) for name in names]


def mixed_bundles(
    bundles: list[np.ndarray], concentration: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels (bands, n) and the mean direction of each bundle (bands, r)."""
    rng = np.random.default_rng(seed)
    n = SHAPE[0] * SHAPE[1]
    parts = rng.dirichlet(np.full(len(bundles), concentration), n).T
    M = np.zeros((len(bundles[0]), n))
    for part, spectra in zip(parts, bundles):
        M += part * spectra[:, rng.integers(spectra.shape[1], size=n)]
    T = np.stack([unit_columns(spectra).mean(axis=1) for spectra in bundles], axis=1)
    return with_noise(M, rng, decibels=SNR), T
