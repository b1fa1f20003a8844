"""The smooth model: averages by certified gates, and the published way to read it.

Pan, Leplat, Ng and Gillis (arXiv 2511.07109) minimise ½‖M − MX‖² + ½ν‖diag(X)‖² over Ω, which is
this package's model with μ = 0. They keep the rows of X above a threshold, divide them by spectral
clustering, and take the mean or the median of each cluster's points. With μ = 0 nearly every row is
open, so that it runs on at most 400 points: every k-th pixel of a scene. The other methods see all
pixels. ν is the heuristic for μ, or ten, a hundred … times that, until the gates sum to r at most:
with less, mixtures stand for themselves. The threshold is a tenth of the largest gate.

For the scenes that are in DIR: MRSA to the reference, or to the spectra measured on the ground. For
HySU also the error of the areas of squares of 3, 2, 1 and 0.5 m, in percent, endmembers matched by
MRSA. For the synthetic protocol (W uniform, pure columns in classes beside Dirichlet mixtures,
Gaussian noise; see :mod:`benchmarks.accuracy`): relative error of the endmembers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.cluster import SpectralClustering

from benchmarks.accuracy import NOISE, family
from benchmarks.measuring import SCENES, read_reference, relative_distance
from benchmarks.targets import FILE, area_errors, matched_by_mrsa, read
from selfdict import FGNSR, Problem, WorkingSet, mu_heuristic, shares
from selfdict.metrics import mrsa

POINTS = 400
THRESHOLD = 0.1  # of the largest gate


def run(data: str | None = None, quick: bool = False) -> None:
    """Print the tables."""
    repeats = 10
    if quick:
        repeats = 1
    if data is None:
        print("give --data DIR for scenes")
    else:
        scenes(Path(data))
    print("synthetic, relative error of the endmembers")
    for noise in NOISE:
        rows = [synthetic_errors(noise, seed) for seed in range(repeats)]
        for name in rows[0]:
            mean = np.mean([row[name] for row in rows])
            print(f"  noise {100 * noise:4.1f} %  {name:26} {mean:.4f}", flush=True)


def scenes(folder: Path) -> None:
    """Print a line for each scene and method."""
    path = folder / FILE
    if path.exists():
        targets = read(path)
        print("HySU, r = 8: MRSA; error of the areas (%)")
        for name, E in every_way(targets.M, 8):
            areas = area_errors(matched_by_mrsa(E, targets.ground) @ shares(E, targets.M), targets)
            errors = "".join(f"{error:4.0f}" for error in areas)
            print(f"  {name:26} {mrsa(E, targets.ground):6.2f}  {errors}", flush=True)
    for name, r in SCENES.items():
        path = folder / f"{name}.npz"
        if not path.exists():
            continue
        M, T, _, _ = read_reference(path)
        print(f"{name}, r = {r}: MRSA")
        for way, E in every_way(M, r):
            print(f"  {way:26} {mrsa(E, T):6.2f}", flush=True)


def synthetic_errors(noise: float, seed: int) -> dict[str, float]:
    """Return the relative error of the endmembers of each method."""
    M, W = family(noise, seed)
    return {name: relative_distance(E, W) for name, E in every_way(M, W.shape[1])}


def every_way(M: np.ndarray, r: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the endmembers (bands, r) of each method."""
    for name, smooth in (("averages", 0.0), ("averages by gates, ν = μ", 1.0)):
        model = FGNSR(r, endmembers="average", smooth=smooth, random_state=0).fit(M.T)
        yield name, model.components_.T
    points = M[:, :: max(1, -(-M.shape[1] // POINTS))]
    clusters = open_clusters(points, r)
    yield "μ = 0, means of clusters", np.stack([c.mean(axis=1) for c in clusters], axis=1)
    yield "μ = 0, medians", np.stack([np.median(c, axis=1) for c in clusters], axis=1)


def open_clusters(M: np.ndarray, r: int) -> list[np.ndarray]:
    """Return the open points of the model with μ = 0, divided by spectral clustering of X."""
    nu = mu_heuristic(M, r)
    solution = WorkingSet(tol=1e-3, max_seconds=60).solve(Problem(M, 0.0, smooth=nu))
    while solution.diagonal.sum() > r:
        nu *= 10
        solution = WorkingSet(tol=1e-3, max_seconds=60).solve(Problem(M, 0.0, smooth=nu))
    gates = solution.diagonal[solution.support]
    is_open = gates >= THRESHOLD * gates.max()
    X = solution.coef[is_open]
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    clustering = SpectralClustering(r, affinity="precomputed", random_state=0)
    label = clustering.fit_predict(np.clip(X @ X.T, 0.0, 1.0))
    points = M[:, solution.support[is_open]]
    return [points[:, label == k] for k in range(r)]
