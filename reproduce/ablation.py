"""Ablation of FGNSR: penalty, selection, normalisation, candidates and their weights.

The base is the heuristic μ on all pixels, without normalisation. Each model changes one of these
choices and is read out with four selections. The data are generated scenes and mixtures at several
noise levels, and the user's scenes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from reproduce.outcome import Outcome, Request, Row, progress, subplots
from reproduce.rows import solve_at_heuristic
from reproduce.scenes import Scene, generated, load_all, own_rank
from selfdict._validation import Array
from selfdict.datasets import make_mixtures
from selfdict.metrics import mrsa, relative_error
from selfdict.model import Problem, Solution
from selfdict.peers import Clusters, h2nmf
from selfdict.readout import select_indices
from selfdict.readout.bounds import rank_limit
from selfdict.reductions import Candidates
from selfdict.solvers import WorkingSet

SELECTIONS = ("diagonal", "spa", "clusters", "exchange")


@dataclass(frozen=True)
class Model:
    """A variant of the convex model: its name, and what it changes.

    ``factor`` multiplies the heuristic μ. ``trace`` adapts μ to the trace r/2 + 1 instead, the
    default of the authors' program.
    """

    name: str
    factor: float = 1.0
    trace: bool = False
    normalise: bool = False
    candidates: int | None = None
    weights: str = "scaled"


MODELS: tuple[Model, ...] = (
    Model("heuristic μ, all pixels"),
    Model("0.3 × heuristic μ", factor=0.3),
    Model("0.1 × heuristic μ", factor=0.1),
    Model("μ for trace r/2 + 1", trace=True),
    Model("columns normalised", normalise=True),
    Model("500 candidates, scaled", candidates=500),
    Model("500 candidates, residual", candidates=500, weights="residual"),
    Model("100 candidates, scaled", candidates=100),
    Model("100 candidates, residual", candidates=100, weights="residual"),
)


def ablation(request: Request) -> Outcome:
    """What each choice inside FGNSR contributes, on generated data and on the scenes of --data."""
    models = MODELS
    if request.quick:
        models = MODELS[:2]
    rows: list[Row] = []
    for kind, scene, r in _cases(request):
        limit = 100 * rank_limit(scene.M, r)
        # Variants with the same number of candidates share their clusters.
        clusters_of: dict[int, Clusters] = {}
        for model in models:
            n_candidates = model.candidates
            clusters = None
            if n_candidates is not None:
                # As many candidates as pixels are no preselection.
                if n_candidates >= scene.M.shape[1]:
                    continue
                if n_candidates not in clusters_of:
                    clusters_of[n_candidates] = h2nmf(scene.M, n_candidates)
                clusters = clusters_of[n_candidates]
            solution = solve(scene.M, r, model, clusters, request.seed)
            for selection in SELECTIONS:
                K = _selected(solution, r, selection, scene, model)
                names = {"kind": kind, "scene": scene.name, "r": r, "model": model.name}
                rows.append(names | {"selection": selection} | _measures(scene, limit, solution, K))
            progress(
                f"ablation: {scene.name}, r = {r}, {model.name}: {rows[-1]['relative_error']:.2f} %"
            )
    summary = _summary(rows)
    notes = [
        "excess: relative error over that of the best variant on the same data, minus one, "
        "in percent"
    ]
    return Outcome(
        {"ablation": rows, "ablation_summary": summary}, {"ablation": _draw(summary)}, notes
    )


def solve(M: Array, r: int, model: Model, clusters: Clusters | None, seed: int) -> Solution:
    """Return the certified solution of one variant of the model."""
    if model.normalise:
        M = M / np.abs(M).sum(axis=0)
    target = None
    if model.trace:
        target = ("trace", r / 2 + 1)
    problem = Problem(M, target=target)
    if model.candidates is not None and clusters is not None:
        candidates = Candidates(model.candidates, weighting=model.weights)
        problem = candidates.reduce_to(problem, clusters)
    # Stopped after a minute: the point reached by then is read out, and its gap is in the table.
    return solve_at_heuristic(problem, r, WorkingSet(max_seconds=60.0), seed, model.factor)


def _selected(solution: Solution, r: int, method: str, scene: Scene, model: Model) -> Array:
    """Return the pixels that a method reads out, judged by the scene as it is."""
    if model.normalise:
        solution = solution.for_problem(Problem(scene.M, w=solution.problem.w))
    return select_indices(solution, r, method=method)


def _cases(request: Request) -> Iterator[tuple[str, Scene, int]]:
    """Yield kind, scene and rank of each data set.

    The ranks of the user's scenes are the number of reference endmembers and two more.
    """
    # Small enough for a test: no scene, one noise level.
    if request.quick:
        yield "generated", _mixtures(300, 4, 0.02, request.seed), 4
        return
    # Each noise level has a seed of its own, so that the data sets are independent.
    for k, noise in enumerate((0.002, 0.01, 0.05)):
        for r in (4, 8):
            yield "generated", generated(r, 48, 100, noise, 8, seed=request.seed + k), r
        yield "generated", _mixtures(1500, 6, noise, request.seed + k), 6
    if request.data is not None:
        for scene in load_all(request.data):
            for r in request.ranks or (own_rank(scene), own_rank(scene) + 2):
                yield "given", scene, r


def _mixtures(n: int, r: int, noise: float, seed: int) -> Scene:
    M, _, pure = make_mixtures(60, n, r, noise=noise, random_state=seed)
    # The same seed gives the same mixtures without noise, whose pure points are the reference.
    clean, _, _ = make_mixtures(60, n, r, random_state=seed)
    return Scene(
        name=f"mixtures r={r} noise={noise:g}",
        M=M,
        valid=np.ones((1, n), dtype=bool),
        reference=clean[:, pure],
        axis=np.arange(1.0, len(M) + 1),
    )


def _measures(scene: Scene, limit: float, solution: Solution, K: Array) -> Row:
    """Return the measures of the pixels K; ``limit`` is the error of the truncated SVD."""
    angle = None
    # With another number of endmembers some references would have no partner.
    if scene.reference is not None and scene.reference.shape[1] == len(K):
        angle = mrsa(scene.M[:, K], scene.reference)
    return {
        "relative_error": 100 * relative_error(scene.M, K),
        "svd_limit": limit,
        "mrsa": angle,
        "support": len(solution.support),
        "gap": solution.gap,
    }


def _summary(rows: list[Row]) -> list[Row]:
    """Return one row per variant: its error above that of the best variant, and its mean MRSA."""
    # Data sets differ in difficulty: errors are compared on the same data only.
    best: dict[tuple[str, int], float] = {}
    for row in rows:
        case = (row["scene"], row["r"])
        best[case] = min(best.get(case, np.inf), row["relative_error"])
    kinds = dict.fromkeys(row["kind"] for row in rows)
    variants: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        variants.setdefault((row["model"], row["selection"]), []).append(row)
    summary = []
    for (model, selection), variant_rows in variants.items():
        line: Row = {"model": model, "selection": selection}
        for kind in kinds:
            own = [row for row in variant_rows if row["kind"] == kind]
            excess = [
                100 * (row["relative_error"] / best[row["scene"], row["r"]] - 1) for row in own
            ]
            angles = [row["mrsa"] for row in own if row["mrsa"] is not None]
            line[f"mean_excess_{kind}"] = _mean(excess)
            line[f"worst_excess_{kind}"] = max(excess, default=None)
            line[f"mean_mrsa_{kind}"] = _mean(angles)
        summary.append(line)
    return summary


def _mean(values: list[float]) -> float | None:
    if not values:
        return None
    return float(np.mean(values))


def _draw(summary: list[Row]) -> Any:
    """Draw the mean excess: one group of bars per model, one colour per selection."""
    colours = ("#56B4E9", "#E69F00", "#CC79A7", "#0072B2")
    prefix = "mean_excess_"
    kinds = [key.removeprefix(prefix) for key in summary[0] if key.startswith(prefix)]
    models = list(dict.fromkeys(row["model"] for row in summary))
    figure, axes = subplots(
        1, len(kinds), 2.6 + 3.2 * len(kinds), 1.4 + 0.42 * len(models), sharey=True
    )
    for ax, kind in zip(axes[0], kinds, strict=True):
        for k, selection in enumerate(SELECTIONS):
            values = [row[prefix + kind] for row in summary if row["selection"] == selection]
            # Four bars of height 0.2, centred on the tick of the model.
            heights = np.arange(len(models)) + 0.2 * (k - 1.5)
            ax.barh(heights, values, height=0.2, color=colours[k], label=selection)
        ax.set_title(f"{kind} data", fontsize="small")
        ax.set_xlabel("mean excess of the relative error, %")
        # The excess of the best variant is zero, which a logarithmic scale cannot show.
        ax.set_xscale("symlog", linthresh=10)
    # The panels share this axis; the first model is at the top.
    axes[0, 0].set_yticks(range(len(models)), models, fontsize="small")
    axes[0, 0].invert_yaxis()
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure
