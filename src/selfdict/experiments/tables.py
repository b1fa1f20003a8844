"""Table 1 (cost), tables 2 to 4 (relative errors on scenes), the remark on Cuprite, and the same rows for any scene."""

import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from selfdict.experiments import authors
from selfdict.experiments.midpoints import METHODS, Trial
from selfdict.experiments.outcome import Outcome, Request, Row, subplots
from selfdict.experiments.paper import CUPRITE, SAN_DIEGO, TABLE1, TERRAIN, URBAN, PrintedScene
from selfdict.experiments.rows import CANDIDATES, OURS, scene_rows, svd_limit
from selfdict.experiments.scenes import (
    Scene,
    generated,
    is_printed,
    load_all,
    load_printed,
    own_rank,
)

QUICK_CANDIDATES = (40, 100)
# cost, memory, parameters, needs normalised columns, printed seconds; and what is timed
_TABLE1_ROWS = {
    "SPA": (TABLE1["SPA"], "SPA"),
    "XRAY": (TABLE1["XRAY"], "XRAY"),
    "SNPA": (TABLE1["SNPA"], "SNPA"),
    "SOCP (Clarabel; in the paper Gurobi)": (TABLE1["SOCP"], "exact SOCP"),
    "FGNSR (1000 iterations)": (TABLE1["FGNSR"], "FGNSR dynamic"),
    "FGNSR (working set)": (("O(mn²) a pass", "O(mn)", "r or ‖N‖_F", "no", ""), "FGNSR certified"),
}


def table1(request: Request) -> Outcome:
    """Cost and memory, with run times on the middle points (m = 50, n = 55, ε = 0.2)."""
    rows = []
    repeats = 2 if request.quick else 25
    for name, (printed, method) in _TABLE1_ROWS.items():
        request.progress(f"table1: {name}")
        select = METHODS[method].select
        trials = [Trial.make(0.2, None, [request.seed, 200, k])[0] for k in range(repeats)]
        select(trials[0])  # compiles
        seconds = []
        for trial in trials:
            started = time.perf_counter()
            select(trial)
            seconds.append(time.perf_counter() - started)
        tracemalloc.start()
        select(trials[0])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        cost, memory, parameters, normalised, paper_seconds = printed
        rows.append(
            {
                "method": name,
                "flops": cost,
                "memory": memory,
                "parameters": parameters,
                "normalisation": normalised,
                "paper_seconds": paper_seconds,
                "mean_seconds": float(np.mean(seconds)),
                "least_seconds": min(seconds),
                "peak_kib": peak // 1024,
            }
        )
    figure, axes = subplots(1, 1, 6.0, 2.6)
    axes[0, 0].barh(
        [row["method"] for row in rows], [row["least_seconds"] for row in rows], color="#0072B2"
    )
    axes[0, 0].set(xscale="log", xlabel="seconds a data set of 55 points (least)")
    axes[0, 0].invert_yaxis()
    return Outcome(
        {"table1": rows}, {"table1": figure}, ["peak memory is what Python and NumPy allocate"]
    )


def table2(request: Request) -> Outcome:
    """Table 2: the Urban scene."""
    return _printed_table(request, "table2", URBAN)


def table3(request: Request) -> Outcome:
    """Table 3: the San Diego airport scene."""
    return _printed_table(request, "table3", SAN_DIEGO)


def table4(request: Request) -> Outcome:
    """Table 4: the Terrain scene."""
    return _printed_table(request, "table4", TERRAIN)


def cuprite(request: Request) -> Outcome:
    """The remark on Cuprite: all methods lie in a narrow interval."""
    outcome = _printed_table(request, "cuprite", CUPRITE)
    for r, (low, high) in (CUPRITE.interval or {}).items():
        errors = [row["relative_error"] for row in outcome.tables["cuprite"] if row["r"] == r]
        if errors:
            outcome.notes.append(
                f"r = {r}: errors from {min(errors):.2f} to {max(errors):.2f} %; printed for the paper's "
                f"scene: {low} to {high} %"
            )
    return outcome


def scenes(request: Request) -> Outcome:
    """Every method on every scene of --data, at the number of its reference endmembers and two more."""
    found = [generated(seed=request.seed)] if request.quick else load_all(request.data)
    work = [(scene, request.ranks or (own_rank(scene), own_rank(scene) + 2)) for scene in found]
    return _tables(request, "scenes", work, lambda row: {})


def _printed_table(request: Request, name: str, printed: PrintedScene) -> Outcome:
    scene = generated(seed=request.seed) if request.quick else load_printed(request.data, printed)
    ranks = (4,) if request.quick else request.ranks or printed.ranks
    if not is_printed(scene, printed):
        outcome = _tables(request, name, [(scene, ranks)], lambda row: {})
        outcome.notes.append(
            f"{scene.name} is not {printed.wanted()}: the printed values are left out"
        )
        return outcome

    def beside(row: Row) -> Row:
        seconds, error = printed.printed(row["method"], row["r"]) or (None, None)
        return {"paper_error": error, "paper_seconds": seconds}

    return _tables(request, name, [(scene, ranks)], beside)


def _tables(
    request: Request,
    name: str,
    work: Sequence[tuple[Scene, Sequence[int]]],
    beside: Callable[[Row], Row],
) -> Outcome:
    """Return the rows of all scenes and ranks, with the printed values and the authors' own beside them."""
    rows: list[Row] = []
    summary = []
    for scene, ranks in work:
        for r in ranks:
            theirs = authors.scene_results(scene.shape, r)
            here = []
            for row in scene_rows(
                scene, r, request.seed, QUICK_CANDIDATES if request.quick else CANDIDATES
            ):
                request.progress(
                    f"{name}: {scene.name}, r = {r}, {row['method']}: {row['relative_error']:.2f} %"
                )
                error, angle, seconds = theirs.get(_authors_name(row["method"]), (None, None, None))
                here.append(
                    row
                    | beside(row)
                    | dict(authors_error=error, authors_mrsa=angle, authors_seconds=seconds)
                )
            rows += here
            summary.append(
                _summary(
                    scene, r, here, min((error for error, _, _ in theirs.values()), default=None)
                )
            )
    figures = {name: _draw(rows)}
    if any(row["mrsa"] is not None for row in rows):
        figures[f"{name}_mrsa"] = _draw_mrsa([row for row in rows if row["mrsa"] is not None])
    return Outcome({name: rows, f"{name}_summary": summary}, figures)


def _authors_name(method: str) -> str:
    """Return what the authors' table calls a row: there the diagonal is the plain one."""
    if method.startswith("VCA"):
        return f"{method} (mean of 10)"
    if method.startswith("FGNSR-"):
        return (
            method.removesuffix(", diagonal") if method.endswith("diagonal") else f"{method}-spaX"
        )
    return method


def _summary(scene: Scene, r: int, rows: list[Row], authors_best: float | None) -> Row:
    """Compare our default with the best of the other rows, the authors' best and the limit set by the rank."""
    ours = next(row for row in rows if row["method"] == OURS)
    rest = min(
        (row for row in rows if not row["method"].startswith("FGNSR")),
        key=lambda row: row["relative_error"],
    )
    limit = svd_limit(scene.M, r)
    share = (
        None if authors_best is None else (ours["relative_error"] - limit) / (authors_best - limit)
    )
    return {
        "scene": scene.name,
        "r": r,
        "default": ours["relative_error"],
        "default_mrsa": ours["mrsa"],
        "default_seconds": ours["seconds"],
        "default_gap": ours["gap"],
        "best_peer": rest["relative_error"],
        "which_peer": rest["method"],
        "authors_best": authors_best,
        "svd_limit": limit,
        "share_of_excess": share,
    }


def _draw(rows: list[Row]) -> Any:
    """Draw the errors: a panel for each scene and rank, ours as dots, printed and authors' values as rings."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes, panels = _panels(rows, 2.6, 4.4, sharey=True)
    for ax, lines in panels:
        here = {row["method"]: row for row in lines}
        for key, colour, size in (("authors_error", "#D55E00", 34), ("paper_error", "#009E73", 60)):
            points = [
                (row[key], methods.index(method))
                for method, row in here.items()
                if row.get(key) is not None
            ]
            if points:
                ax.scatter(
                    *zip(*points),
                    s=size,
                    facecolors="none",
                    edgecolors=colour,
                    label=key.removesuffix("_error"),
                )
        errors = [row["relative_error"] for row in here.values()]
        ax.scatter(
            errors, [methods.index(method) for method in here], s=12, color="#0072B2", label="ours"
        )
        ax.set_xlim(left=0)
        ax.grid(axis="y", alpha=0.2)
    axes[0, 0].set_yticks(range(len(methods)), methods)
    axes[0, 0].invert_yaxis()
    for ax in axes[:, 0]:
        ax.tick_params(axis="y", labelsize="x-small")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure


def _draw_mrsa(rows: list[Row]) -> Any:
    """Draw MRSA over relative error, FGNSR in colours of its own."""
    figure, axes, panels = _panels(rows, 2.9, 2.9)
    groups = {
        "other methods": "#4D4D4D",
        "FGNSR-100, -500": "#E69F00",
        "FGNSR all pixels": "#56B4E9",
        OURS: "#0072B2",
    }
    for ax, lines in panels:
        for label, colour in groups.items():
            points = [
                (row["relative_error"], row["mrsa"])
                for row in lines
                if _group(row["method"]) == label
            ]
            if points:
                ax.scatter(
                    *zip(*points),
                    s=60 if label == OURS else 16,
                    color=colour,
                    label=label,
                    marker="*" if label == OURS else "o",
                )
        ax.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("MRSA")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure


def _group(method: str) -> str:
    if method == OURS or method.startswith("FGNSR all"):
        return OURS if method == OURS else "FGNSR all pixels"
    return "FGNSR-100, -500" if method.startswith("FGNSR-") else "other methods"


def _panels(
    rows: list[Row], width: float, height: float, **options: Any
) -> tuple[Any, Any, list[tuple[Any, list[Row]]]]:
    """Return a figure, its axes, and for each scene and rank a panel with its rows, at most three in a line."""
    cases = list(dict.fromkeys((row["scene"], row["r"]) for row in rows))
    columns = min(3, len(cases))
    lines = -(-len(cases) // columns)
    figure, axes = subplots(lines, columns, 2.2 + width * columns, 0.5 + height * lines, **options)
    for ax in axes.flat[len(cases) :]:
        ax.set_visible(False)
    panels = []
    for ax, (scene, r) in zip(axes.flat, cases):
        ax.set_title(f"{scene}, r = {r}", fontsize="small")
        ax.set_xlabel("relative error, %")
        panels.append((ax, [row for row in rows if (row["scene"], row["r"]) == (scene, r)]))
    return figure, axes, panels
