"""Endmembers of Dirichlet mixtures, from a few pure pixels to hardly any.

Library spectra of their own brightness, parts of the area a ~ Dirichlet(concentration), white noise
at 35 dB, 50×50 pixels. The smaller the concentration, the more pixels are nearly pure. Mean
spectral angle to the true spectra in degrees, mean over the seeds.
"""

import numpy as np

from benchmarks.library import read
from benchmarks.measuring import Table, with_noise
from benchmarks.methods import fitted, unmixed
from benchmarks.shares import distinct_spectra
from selfdict import FGNSR
from selfdict.metrics import spectral_angle

SHAPE = (50, 50)
SNR = 35.0  # dB


def run(data: str | None = None, quick: bool = False) -> None:
    """Print the table."""
    D, _ = read(data)
    seeds = 1 if quick else 10
    print(f"Dirichlet mixtures: mean spectral angle (°), {SNR:g} dB, mean of {seeds} seeds")
    table = Table("r:2|concentration:14g|pixels:8.2f|averages:9.2f|unmix:8.2f")
    for r in (4, 6):
        for concentration in (0.1, 0.2, 0.5):
            rows = [angles(D, r, concentration, seed) for seed in range(seeds)]
            table.row(r, concentration, *np.mean(rows, axis=0))


def angles(D: np.ndarray, r: int, concentration: float, seed: int) -> list[float]:
    """Return the angles of FGNSR's pixels, its averages, and ``unmix`` with all defaults."""
    M, T = mixtures(D, r, concentration, seed)
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
