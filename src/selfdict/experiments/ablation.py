"""What each choice inside FGNSR is worth: the penalty, the selection, normalisation, preselection and its weights.

One choice is changed at a time, from: the heuristic μ, all pixels, columns as they are; each model
is read out in four ways. Generated scenes and mixtures at several noise levels are always in the
table, the user's scenes besides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.datasets import make_mixtures
from selfdict.experiments.outcome import Outcome, Request, Row, subplots
from selfdict.experiments.rows import svd_limit
from selfdict.experiments.scenes import Scene, generated, load_all, own_rank
from selfdict.metrics import mrsa, relative_error
from selfdict.model import Solution
from selfdict.model.problem import jitter
from selfdict.peers import Clusters, h2nmf
from selfdict.readout import select_indices
from selfdict.solvers import mu_heuristic, working_set

SELECTIONS = ("diagonal", "spa", "clusters", "exchange")
NOISE = (0.002, 0.01, 0.05)
MAX_SECONDS = 60.0  # for a model; what it has then is read out


@dataclass(frozen=True)
class Model:
    """How the convex model is put: the name of the variant, and what it changes.

    ``factor`` multiplies the heuristic μ; ``trace`` steers μ to the trace r/2 + 1 instead, as the
    authors' program does by default.
    """

    name: str
    factor: float = 1.0
    trace: bool = False
    normalise: bool = False
    candidates: int | None = None
    weights: str = "scaled"


MODELS = (
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
    """Change one choice at a time on generated data, and on the scenes of --data."""
    rows: list[Row] = []
    for kind, scene, r in _cases(request):
        limit = svd_limit(scene.M, r)
        clusters: dict[int | None, Clusters | None] = {None: None}
        for model in MODELS[:2] if request.quick else MODELS:
            count = model.candidates
            if count is not None and count >= scene.M.shape[1]:
                continue
            if count not in clusters:
                clusters[count] = h2nmf(scene.M, count or 1)
            solution = solve(scene.M, r, model, clusters[count], request.seed)
            for selection in SELECTIONS:
                K = select_indices(solution, r, scene.M, selection, clusters=clusters[count])
                rows.append(_row(kind, scene, r, model, selection, solution, K, limit))
            request.progress(
                f"ablation: {scene.name}, r = {r}, {model.name}: {rows[-1]['relative_error']:.2f} %"
            )
    summary = _summary(rows)
    notes = [
        "excess: relative error over that of the best variant on the same data, minus one, in percent"
    ]
    return Outcome(
        {"ablation": rows, "ablation_summary": summary}, {"ablation": _draw(summary)}, notes
    )


def solve(M: Array, r: int, model: Model, clusters: Clusters | None, seed: int) -> Solution:
    """Return the certified solution of one variant of the model."""
    options: dict[str, Any] = {}
    if clusters is not None:
        M = M[:, clusters.indices]
        if model.weights == "scaled":
            M = M * np.sqrt(clusters.sizes)
            options["w"] = np.ones(M.shape[1])
        else:
            options["sample_weight"] = clusters.sizes
    if model.normalise:
        M = M / np.abs(M).sum(axis=0)
    p = jitter(M.shape[1], seed)
    mu = model.factor * mu_heuristic(M, r, p, sample_weight=options.get("sample_weight"))
    target = ("trace", r / 2 + 1) if model.trace else None
    return working_set(M, mu, p=p, target=target, max_seconds=MAX_SECONDS, **options)


def _cases(request: Request) -> Iterator[tuple[str, Scene, int]]:
    """Yield generated scenes and mixtures, then the scenes of the user at their own rank and two more."""
    if request.quick:
        yield "generated", _mixtures(300, 4, 0.02, request.seed), 4
        return
    for k, noise in enumerate(NOISE):
        for r in (4, 8):
            yield "generated", generated(r, 48, 100, noise, 8, seed=request.seed + k), r
        yield "generated", _mixtures(1500, 6, noise, request.seed + k), 6
    if request.data is not None:
        for scene in load_all(request.data):
            for r in request.ranks or (own_rank(scene), own_rank(scene) + 2):
                yield "given", scene, r


def _mixtures(n: int, r: int, noise: float, seed: int) -> Scene:
    M, _, pure = make_mixtures(60, n, r, noise=noise, random_state=seed)
    clean, _, _ = make_mixtures(60, n, r, random_state=seed)
    everywhere = np.ones((1, n), dtype=bool)
    return Scene(
        f"mixtures r={r} noise={noise:g}", M, everywhere, clean[:, pure], np.arange(1.0, len(M) + 1)
    )


def _row(
    kind: str,
    scene: Scene,
    r: int,
    model: Model,
    selection: str,
    solution: Solution,
    K: Array,
    limit: float,
) -> Row:
    own = scene.reference is not None and scene.reference.shape[1] == r
    return {
        "kind": kind,
        "scene": scene.name,
        "r": r,
        "model": model.name,
        "selection": selection,
        "relative_error": 100 * relative_error(scene.M, K),
        "svd_limit": limit,
        "mrsa": mrsa(scene.M[:, K], scene.reference)
        if own and scene.reference is not None
        else None,
        "support": len(solution.support),
        "gap": solution.gap,
    }


def _summary(rows: list[Row]) -> list[Row]:
    """Return for each variant how much its error lies above that of the best variant, and its mean MRSA."""
    best: dict[tuple[str, int], float] = {}
    for row in rows:
        case = row["scene"], row["r"]
        best[case] = min(best.get(case, np.inf), row["relative_error"])
    summary = []
    for model, selection in dict.fromkeys((row["model"], row["selection"]) for row in rows):
        line: Row = {"model": model, "selection": selection}
        for kind in dict.fromkeys(row["kind"] for row in rows):
            here = [
                r
                for r in rows
                if (r["model"], r["selection"], r["kind"]) == (model, selection, kind)
            ]
            excess = [100 * (r["relative_error"] / best[r["scene"], r["r"]] - 1) for r in here]
            angles = [r["mrsa"] for r in here if r["mrsa"] is not None]
            line |= {
                f"mean_excess_{kind}": float(np.mean(excess)) if excess else None,
                f"worst_excess_{kind}": max(excess, default=None),
                f"mean_mrsa_{kind}": float(np.mean(angles)) if angles else None,
            }
        summary.append(line)
    return summary


def _draw(summary: list[Row]) -> Any:
    """Draw the mean excess of each variant: a group of bars a model, a colour a selection."""
    kinds = [
        key.removeprefix("mean_excess_") for key in summary[0] if key.startswith("mean_excess_")
    ]
    models = list(dict.fromkeys(row["model"] for row in summary))
    figure, axes = subplots(
        1, len(kinds), 2.6 + 3.2 * len(kinds), 1.4 + 0.42 * len(models), sharey=True
    )
    for ax, kind in zip(axes[0], kinds, strict=True):
        for k, (selection, colour) in enumerate(
            zip(SELECTIONS, ("#56B4E9", "#E69F00", "#CC79A7", "#0072B2"))
        ):
            values = [
                row[f"mean_excess_{kind}"] for row in summary if row["selection"] == selection
            ]
            ax.barh(
                np.arange(len(models)) + 0.2 * (k - 1.5),
                values,
                height=0.2,
                color=colour,
                label=selection,
            )
        ax.set_title(f"{kind} data", fontsize="small")
        ax.set_xlabel("mean excess of the relative error, %")
        ax.set_xscale("symlog", linthresh=10)
    axes[0, 0].set_yticks(range(len(models)), models, fontsize="small")
    axes[0, 0].invert_yaxis()
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False
    )
    return figure
