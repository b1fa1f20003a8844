"""The rows of tables 2 to 4 for any scene: every method, on all pixels and on preselected ones."""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from selfdict._validation import Array
from selfdict.estimators import FGNSR
from selfdict.experiments.outcome import Row
from selfdict.experiments.scenes import Scene
from selfdict.metrics import mrsa, relative_error
from selfdict.model import Solution
from selfdict.model.problem import jitter
from selfdict.peers import Clusters, h2nmf, snpa, spa, vca, xray
from selfdict.readout import select_indices
from selfdict.solvers import fast_gradient, mu_heuristic

CANDIDATES = (100, 500)
VCA_RUNS = 10
OURS = "FGNSR (default)"

Peer = Callable[[Array, int], Array]
PEERS: dict[str, Peer] = {
    "SPA": lambda M, r: spa(M, r, allow_fewer=True),
    "SNPA": snpa,
    "XRAY": xray,
    "H2NMF": lambda M, r: h2nmf(M, r).indices,
}


def scene_rows(
    scene: Scene, r: int, seed: int, candidates: Sequence[int] = CANDIDATES
) -> Iterator[Row]:
    """Yield a row for each method, in the order of the paper, then our own.

    Seconds are those of the algorithm alone, without the preselection, as in the paper; those of
    our own rows count everything. Errors are relative to the whole scene, in percent.
    """
    clusters: dict[int, Clusters] = {}
    for count in candidates:
        clusters[count] = h2nmf(scene.M, count, previous=clusters.get(count // 5))
    subsets = {"": np.arange(scene.M.shape[1])} | {
        f"-{count}": c.indices for count, c in clusters.items()
    }
    for suffix, subset in subsets.items():
        yield _vca_row(scene, f"VCA{suffix}", subset, r, seed)
    for name, peer in PEERS.items():
        for suffix, subset in subsets.items():
            started = time.perf_counter()
            K = subset[peer(np.asfortranarray(scene.M[:, subset]), r)]
            yield row(scene, r, name + suffix, K, time.perf_counter() - started)
    for count, chosen in clusters.items():
        started = time.perf_counter()
        solution = fgnsr_on(scene.M, chosen, r, seed)
        seconds = time.perf_counter() - started
        for name, method in ((f"FGNSR-{count}", "spa"), (f"FGNSR-{count}, diagonal", "diagonal")):
            K = select_indices(solution, r, scene.M, method, clusters=chosen)
            yield row(scene, r, name, K, seconds, solution.gap)
    yield from _our_rows(scene, r, seed)


def fgnsr_on(M: Array, clusters: Clusters, r: int, seed: int) -> Solution:
    """Return what FGNSR-100 and FGNSR-500 solve: 1000 iterations on representatives times √(cluster size)."""
    scaled = M[:, clusters.indices] * np.sqrt(clusters.sizes)
    p = jitter(scaled.shape[1], seed)
    mu = mu_heuristic(scaled, r, p)
    return fast_gradient(scaled, mu, p=p, w=np.ones(scaled.shape[1]), max_iter=1000, tol=0)


def row(
    scene: Scene, r: int, method: str, K: Array, seconds: float, gap: float | None = None
) -> Row:
    """Return the measures of a choice of pixels."""
    return {
        "scene": scene.name,
        "r": r,
        "method": method,
        "relative_error": 100 * relative_error(scene.M, K),
        "mrsa": None if scene.reference is None else mrsa(scene.M[:, K], scene.reference),
        "seconds": seconds,
        "gap": gap,
        "pixels": " ".join(str(k) for k in K),
    }


def svd_limit(M: Array, r: int) -> float:
    """Return the relative error in percent of the best approximation of rank r, below which no choice can get."""
    values = np.linalg.eigvalsh(M @ M.T)[::-1]
    return 100 * float(np.sqrt(max(values[r:].sum(), 0.0) / values.sum()))


def _vca_row(scene: Scene, name: str, subset: Array, r: int, seed: int) -> Row:
    """Return the mean of ten runs, since VCA is random; the pixels are those of the best run."""
    runs = []
    for k in range(VCA_RUNS):
        started = time.perf_counter()
        K = subset[
            vca(
                np.asfortranarray(scene.M[:, subset]),
                r,
                random_state=np.random.default_rng([seed, k]),
            )
        ]
        runs.append(row(scene, r, name, K, time.perf_counter() - started))
    best = min(runs, key=lambda run: float(run["relative_error"]))
    means = {
        key: float(np.mean([run[key] for run in runs])) for key in ("relative_error", "seconds")
    }
    if scene.reference is not None:
        means["mrsa"] = float(np.mean([run["mrsa"] for run in runs]))
    return best | means


def _our_rows(scene: Scene, r: int, seed: int) -> Iterator[Row]:
    started = time.perf_counter()
    model = FGNSR(r, random_state=seed).fit(scene.M.T)
    seconds = time.perf_counter() - started
    yield row(scene, r, OURS, model.indices_, seconds, model.gap_)
    solved = float(model.solution_.history["seconds"][-1])
    for method in ("clusters", "spa", "diagonal"):
        started = time.perf_counter()
        K = select_indices(model.solution_, r, scene.M, method)
        yield row(
            scene,
            r,
            f"FGNSR all pixels, {method}",
            K,
            solved + time.perf_counter() - started,
            model.gap_,
        )
