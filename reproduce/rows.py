"""The rows of tables 2 to 4 for any scene: each method, on all pixels and on candidates."""

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from reproduce.outcome import Row
from reproduce.scenes import Scene
from selfdict._validation import Array
from selfdict.estimators import FGNSR
from selfdict.metrics import mrsa, relative_error
from selfdict.model import Problem, Solution
from selfdict.model.problem import jitter
from selfdict.peers import Clusters, h2nmf, snpa, spa, vca, xray
from selfdict.readout import select_indices
from selfdict.reductions import Candidates
from selfdict.reductions.automatic import choose_penalty
from selfdict.solvers import FastGradient, Solver

CANDIDATES = (100, 500)  # numbers of preselected pixels in the paper
OURS = "FGNSR (default)"  # the method name of our own default

Peer = Callable[[Array, int], Array]
PEERS: dict[str, Peer] = {
    # Few candidates may have a rank below r.
    "SPA": lambda M, r: spa(M, r, allow_fewer=True),
    "SNPA": snpa,
    "XRAY": xray,
    "H2NMF": lambda M, r: h2nmf(M, r).indices,
}


def scene_rows(
    scene: Scene, r: int, seed: int, candidates: Sequence[int] = CANDIDATES
) -> Iterator[Row]:
    """Yield one row per method in the order of the paper, then our own.

    Seconds are those of the algorithm alone, without the preselection, as in the paper. Those of
    our own rows include everything. Errors are relative to the whole scene, in percent.
    """
    clusters = {count: h2nmf(scene.M, count) for count in candidates}
    subsets = {"": np.arange(scene.M.shape[1])}
    for count, chosen in clusters.items():
        subsets[f"-{count}"] = chosen.indices
    # An empty suffix: all pixels.
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
        # Two selections from one solution, whose time counts for both.
        for name, method in ((f"FGNSR-{count}", "spa"), (f"FGNSR-{count}, diagonal", "diagonal")):
            K = select_indices(solution, r, method=method)
            yield row(scene, r, name, K, seconds, solution.gap)
    yield from _our_rows(scene, r, seed)


def fgnsr_on(M: Array, clusters: Clusters, r: int, seed: int) -> Solution:
    """Return the solution of FGNSR-100 or FGNSR-500, as the paper computes it.

    It runs 1000 iterations on the representatives, scaled by the square root of their cluster size.
    """
    candidates = Candidates(clusters.indices.size, weighting="scaled")
    problem = candidates.reduce_to(Problem(M), clusters)
    return solve_at_heuristic(problem, r, FastGradient(tol=0, max_iter=1000), seed)


def solve_at_heuristic(
    problem: Problem, r: int, solver: Solver, seed: int, factor: float = 1.0
) -> Solution:
    """Return the solution at the heuristic penalty times a factor; p separates duplicates."""
    problem = problem.changed(p=jitter(problem.n_atoms, seed))
    return solver.solve(problem.changed(mu=factor * choose_penalty(problem, r)))


def row(
    scene: Scene, r: int, method: str, K: Array, seconds: float, gap: float | None = None
) -> Row:
    """Return the measures of the pixels K that a method selected."""
    angle = None
    if scene.reference is not None:
        angle = mrsa(scene.M[:, K], scene.reference)
    return {
        "scene": scene.name,
        "r": r,
        "method": method,
        "relative_error": 100 * relative_error(scene.M, K),
        "mrsa": angle,
        "seconds": seconds,
        "gap": gap,
        "pixels": " ".join(str(k) for k in K),
    }


def _vca_row(scene: Scene, name: str, subset: Array, r: int, seed: int) -> Row:
    """Return the mean of ten runs, since VCA is random; the pixels are those of the best run."""
    runs = []
    for k in range(10):
        rng = np.random.default_rng([seed, k])
        started = time.perf_counter()
        K = subset[vca(np.asfortranarray(scene.M[:, subset]), r, random_state=rng)]
        runs.append(row(scene, r, name, K, time.perf_counter() - started))
    measures = ["relative_error", "seconds"]
    if scene.reference is not None:
        measures.append("mrsa")
    means = {key: float(np.mean([run[key] for run in runs])) for key in measures}
    # Pixels have no mean.
    best = min(runs, key=lambda run: float(run["relative_error"]))
    return best | means


def _our_rows(scene: Scene, r: int, seed: int) -> Iterator[Row]:
    """Yield the row of the default FGNSR, then those of its solution with other selections."""
    started = time.perf_counter()
    model = FGNSR(r, random_state=seed).fit(scene.M.T)
    seconds = time.perf_counter() - started
    yield row(scene, r, OURS, model.indices_, seconds, model.gap_)
    # The other selections start from the same solution: its time counts for each of them.
    solved = float(model.solution_.history["seconds"][-1])
    for method in ("clusters", "spa", "diagonal"):
        started = time.perf_counter()
        K = select_indices(model.solution_, r, method=method)
        seconds = solved + time.perf_counter() - started
        yield row(scene, r, f"FGNSR all pixels, {method}", K, seconds, model.gap_)
