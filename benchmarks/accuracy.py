"""How near endmembers and abundances come to references, for pixels, averages and other methods.

On scenes with references (``--data DIR``: ``Y``, ``scale``, endmembers ``M``, abundances ``A``):
mean-removed spectral angle (MRSA, 0 to 100), spectral angle in degrees, root mean square error of
the abundances in percent by three kinds of abundances, seconds. Endmembers that another program has
found are measured as well, from files ``PROGRAM_SCENE.npz`` with an array ``E`` in the same folder.

On a synthetic family with known endmembers: 30 bands, 50 pure columns in 5 classes and 50 mixtures,
Gaussian noise of a given part of the norm, columns normalised; relative error of the endmembers.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from selfdict import FGNSR, fcls, nnls, shares, spa, vca
from selfdict.metrics import match

SCENES = {"samson": 3, "jasper_ridge": 4, "urban_sub4": 6}
NOISE = (0.003, 0.02, 0.13)


def run(data: str | None = None, quick: bool = False) -> None:
    """Print the tables."""
    synthetic(2 if quick else 10)
    if data is None:
        print("give --data DIR for scenes with references")
        return
    for name, r in SCENES.items():
        path = Path(data) / f"{name}.npz"
        if path.exists():
            scene(name, r, path)


def scene(name: str, r: int, path: Path) -> None:
    """Print one line per method for a scene."""
    file = np.load(path, allow_pickle=False)
    M = file["Y"].astype(np.float64) / float(file["scale"])
    reference = file["M"].astype(np.float64)
    abundances = file["A"].astype(np.float64)
    methods: dict[str, Callable[[], np.ndarray]] = {
        "SPA": lambda: M[:, spa(M, r)],
        "VCA": lambda: M[:, vca(M, r, random_state=0)],
        "FGNSR, pixels": lambda: FGNSR(r, random_state=0).fit(M.T).components_.T,
        "FGNSR, averages": lambda: average(M, r),
    }
    for other in sorted(path.parent.glob(f"*_{name}.npz")):
        found = np.load(other, allow_pickle=False)
        if "E" in found:
            program = other.stem.removesuffix(f"_{name}")
            methods[f"{program} (file)"] = lambda E=found["E"]: E
    print(f"{name}, r = {r}: MRSA, angle (°), RMSE of abundances (%): shares, nnls, fcls; seconds")
    for label, method in methods.items():
        start = time.perf_counter()
        E = method()
        seconds = time.perf_counter() - start
        ours, theirs = match(E, reference)
        angles = 100 / np.pi * np.arccos(np.clip(cosines(centred(E), centred(reference)), -1, 1))
        plain = np.degrees(np.arccos(np.clip(cosines(E, reference), -1, 1)))
        errors = [
            100 * np.sqrt(((H[ours] - abundances[theirs]) ** 2).mean())
            for H in (shares(E, M), as_sum_one(nnls(E, M)), fcls(E, M))
        ]
        print(
            f"  {label:18} {angles[ours, theirs].mean():6.2f} {plain[ours, theirs].mean():6.2f}"
            f"   {errors[0]:6.2f} {errors[1]:6.2f} {errors[2]:6.2f}   {seconds:7.2f}",
            flush=True,
        )


def average(M: np.ndarray, r: int) -> np.ndarray:
    """Return the averages of FGNSR's groups."""
    return FGNSR(r, endmembers="average", random_state=0).fit(M.T).components_.T


def centred(E: np.ndarray) -> np.ndarray:
    """Return spectra without their means."""
    return E - E.mean(axis=0)


def cosines(E: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the cosines between all pairs of columns."""
    return (E / np.linalg.norm(E, axis=0)).T @ (T / np.linalg.norm(T, axis=0))


def as_sum_one(H: np.ndarray) -> np.ndarray:
    """Return coefficients divided by their sums."""
    return H / np.maximum(H.sum(axis=0), 1e-12)


def synthetic(repeats: int) -> None:
    """Print the relative error of the endmembers of the synthetic family."""
    print("synthetic, relative error of the endmembers: pixels, averages")
    for noise in NOISE:
        errors = {"pixels": [], "average": []}
        for seed in range(repeats):
            M, W = family(noise, seed)
            for kind, found in errors.items():
                E = FGNSR(5, endmembers=kind, random_state=0).fit(M.T).components_.T
                E = E / E.sum(axis=0)
                distance = np.linalg.norm(E[:, :, None] - W[:, None, :], axis=0)
                rows, columns = linear_sum_assignment(distance)
                found.append(np.linalg.norm(distance[rows, columns]) / np.linalg.norm(W))
        pixels, averages = (float(np.mean(found)) for found in errors.values())
        print(f"  noise {100 * noise:4.1f} %: {pixels:.4f}  {averages:.4f}", flush=True)


def family(noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return data and true endmembers of the synthetic family, columns summing to one."""
    rng = np.random.default_rng(seed)
    W = rng.random((30, 5))
    H = np.hstack([np.repeat(np.eye(5), 10, axis=1), rng.dirichlet(np.full(5, 0.1), 50).T])
    M = W @ H
    N = rng.standard_normal(M.shape)
    M = np.maximum(M + noise * np.linalg.norm(M) / np.linalg.norm(N) * N, 0.0)
    return M / M.sum(axis=0), W / W.sum(axis=0)
