"""How near endmembers and abundances come to references, for pixels, averages and other methods.

On scenes with references (``--data DIR``: ``Y``, ``scale``, endmembers ``M``, abundances ``A``):
mean-removed spectral angle (MRSA, 0 to 100), spectral angle in degrees, root mean square error of
the abundances in percent by three kinds of abundances, seconds. Endmembers that another program has
found are measured as well, from files ``PROGRAM_SCENE.npz`` with an array ``E`` in the same folder.
For the shares of FGNSR: the median standard error, and how many references lie within two of them.

On generated scenes with an offset taken off a third of their bands: root mean square error of the
shares with the negative values as they are, and with zeros in their place.

On a synthetic family with known endmembers: 30 bands, 50 pure columns in 5 classes and 50 mixtures,
Gaussian noise of a given part of the norm, columns normalised; relative error of the endmembers.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from selfdict import FGNSR, fcls, nnls, shares, spa, unmix, vca
from selfdict.datasets import make_scene
from selfdict.datasets.scene import SceneTruth
from selfdict.metrics import match
from selfdict.scene import UnmixResult, build_scene

SCENES = {"samson": 3, "jasper_ridge": 4, "urban_sub4": 6}
NOISE = (0.003, 0.02, 0.13)


def run(data: str | None = None, quick: bool = False) -> None:
    """Print the tables."""
    synthetic(2 if quick else 10)
    negative_values(1 if quick else 6)
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
    for kind in ("pixels", "average"):
        calibration(M, r, kind, reference, abundances)


def calibration(
    M: np.ndarray, r: int, kind: str, reference: np.ndarray, abundances: np.ndarray
) -> None:
    """Print how the standard errors of shares compare with their distance from a reference."""
    model = FGNSR(r, endmembers=kind, random_state=0).fit(M.T)
    parts, std = model.shares(M.T, return_std=True)
    blind = shares(model.components_.T, M, return_std=True)[1].T
    ours, theirs = match(model.components_.T, reference)
    distance = np.abs(parts[:, ours] - abundances[theirs].T)
    for label, errors in ((f"FGNSR, {kind}", std), ("  residual alone", blind)):
        within = float((distance <= 2 * errors[:, ours]).mean())
        print(
            f"  {label:18} standard error {100 * np.median(errors):.1f} points (median), "
            f"{100 * within:.0f} % of the references within two",
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
                    build_scene(changed, nodata=-9999), 4, candidates=200, random_state=0
                )
                errors[kind].append(share_error(result, truth))
                if kind == "kept":
                    negative.append(result.negative.share)
        kept, zeros = (float(np.mean(found)) for found in errors.values())
        print(
            f"  noise {100 * noise:4.1f} %, {100 * np.mean(negative):.1f} % negative: "
            f"{kept:.2f}  {zeros:.2f}",
            flush=True,
        )


def share_error(result: UnmixResult, truth: SceneTruth) -> float:
    """Return the root mean square error of shares, in percentage points."""
    W = truth.endmembers.T.astype(np.float64)
    ours, theirs = match(result.endmembers.values.T.astype(np.float64), W)
    true = truth.abundances * np.linalg.norm(W, axis=0)[:, None, None]
    true = true / true.sum(axis=0)
    inside = result.valid.values
    difference = result.abundances.values[ours][:, inside] - true[theirs][:, inside]
    return 100 * float(np.sqrt((difference**2).mean()))


def family(noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return data and true endmembers of the synthetic family, columns summing to one."""
    rng = np.random.default_rng(seed)
    W = rng.random((30, 5))
    H = np.hstack([np.repeat(np.eye(5), 10, axis=1), rng.dirichlet(np.full(5, 0.1), 50).T])
    M = W @ H
    N = rng.standard_normal(M.shape)
    M = np.maximum(M + noise * np.linalg.norm(M) / np.linalg.norm(N) * N, 0.0)
    return M / M.sum(axis=0), W / W.sum(axis=0)
