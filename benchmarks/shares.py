"""Shares against a known truth: a dark material, brightness that varies, noise; 18 settings.

Four library spectra of equal length, one of them darkened, known to the method. Parts of the area
a ~ Dirichlet(0.3), illumination b = exp(spread × normal): a pixel is b × (spectra × a) plus white
noise, of a given part of the root mean square of the scene. Root mean square error of the shares in
percent, mean over the seeds, and the ratio of the package's shares to the better of fcls and
nnls / sum. fcls expects b = 1; nnls / sum leaves b free.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.library import read
from benchmarks.measuring import Table
from benchmarks.methods import KINDS, abundances, known, rmse

PIXELS = 3000
LENGTH = 5.0


@dataclass(frozen=True)
class Setting:
    """Brightness of the dark spectrum relative to the others, spread of b, noise."""

    dark: float
    spread: float
    noise: float


SETTINGS = tuple(
    Setting(dark, spread, noise)
    for dark, spread, noise in product((1.0, 0.2, 0.05), (0.0, 0.1, 0.3), (0.009, 0.03))
)


def run(data: str | None = None, quick: bool = False) -> None:
    """Print the table."""
    D, _ = read(data)
    seeds = 1 if quick else 4
    print(f"shares: RMSE (%), four spectra of {D.shape[1]}, {PIXELS} pixels, mean of {seeds} seeds")
    kinds = "|".join(f"{kind}:11.1f" for kind in KINDS)
    table = Table(f"dark:5g|spread:7g|noise %:7.1f|{kinds}|ratio:6.2f")
    ratios = []
    for setting in SETTINGS:
        errors = mean_errors(D, setting, seeds)
        ratios.append(ratio(errors))
        values = [errors[kind] for kind in KINDS]
        table.row(setting.dark, setting.spread, 100 * setting.noise, *values, ratios[-1])
    print(f"ratio of the package to the better of fcls and nnls / sum: at most {max(ratios):.2f}")


def mean_errors(D: np.ndarray, setting: Setting, seeds: int) -> dict[str, float]:
    """Return the error of each kind of abundances, averaged over the seeds."""
    errors = {kind: [] for kind in KINDS}
    for seed in range(seeds):
        M, T, A = mixtures(D, setting, seed)
        for kind, found in abundances(known(T, M), M).items():
            errors[kind].append(rmse(found, A))
    return {kind: float(np.mean(values)) for kind, values in errors.items()}


def ratio(errors: dict[str, float]) -> float:
    """Return the package's error over the better of fcls and nnls / sum."""
    return errors["package"] / min(errors["fcls"], errors["nnls / sum"])


def mixtures(
    D: np.ndarray, setting: Setting, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pixels (bands, n), spectra (bands, 4) and parts of the area (4, n)."""
    rng = np.random.default_rng(seed)
    T = distinct_spectra(D, 4, rng)
    T = LENGTH * T / np.linalg.norm(T, axis=0)
    T[:, 0] *= setting.dark
    A = rng.dirichlet(np.full(4, 0.3), PIXELS).T
    b = np.exp(setting.spread * rng.standard_normal(PIXELS))
    M = T @ A * b
    noise = setting.noise * np.sqrt((M**2).mean()) * rng.standard_normal(M.shape)
    return M + noise, T, A


def distinct_spectra(D: np.ndarray, r: int, rng: np.random.Generator) -> np.ndarray:
    """Draw r positive spectra that differ from one another by more than eight degrees."""
    pairs = np.triu_indices(r, 1)
    for _ in range(1000):
        T = D[:, rng.choice(D.shape[1], r, replace=False)]
        U = T / np.linalg.norm(T, axis=0)
        angles = np.degrees(np.arccos(np.clip(U.T @ U, -1.0, 1.0)))[pairs]
        if angles.min() > 8 and T.min() > 0:
            return T
    raise ValueError(f"no {r} positive spectra more than 8° apart among {D.shape[1]}")
