"""Table 1 (cost), tables 2 to 4 and the remark on Cuprite (errors), and the same for any scene."""

import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduce.midpoints import MIDPOINT_METHODS, Trial
from reproduce.outcome import Outcome, Request, Row, progress, subplots
from reproduce.paper import (
    CUPRITE,
    SAN_DIEGO,
    TABLE1,
    TERRAIN,
    URBAN,
    PrintedScene,
    authors_results,
)
from reproduce.rows import CANDIDATES, OURS, scene_rows
from reproduce.scenes import (
    Scene,
    generated,
    is_printed,
    load_printed,
    own_rank,
    requested_scenes,
)
from selfdict.readout.bounds import rank_limit

# Rows of table 1: the printed values (cost, memory, parameters, whether columns must be normalised,
# seconds) and the name of the method that is timed.
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
    repeats = 25
    if request.quick:
        repeats = 2
    trials = [Trial.make(0.2, None, [request.seed, 200, k])[0] for k in range(repeats)]
    for name, (printed, method) in _TABLE1_ROWS.items():
        progress(f"table1: {name}")
        select = MIDPOINT_METHODS[method].select
        # Not timed: the first call compiles.
        select(trials[0])
        seconds = []
        for trial in trials:
            started = time.perf_counter()
            select(trial)
            seconds.append(time.perf_counter() - started)
        # Measured apart, since tracing slows every allocation.
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
    # The least time is disturbed least by other processes.
    figure, axes = subplots(1, 1, 6.0, 2.6)
    names = [row["method"] for row in rows]
    axes[0, 0].barh(names, [row["least_seconds"] for row in rows], color="#0072B2")
    axes[0, 0].set(xscale="log", xlabel="seconds a data set of 55 points (least)")
    axes[0, 0].invert_yaxis()
    return Outcome(
        {"table1": rows}, {"table1": figure}, ["peak memory is what Python and NumPy allocate"]
    )


def table2(request: Request) -> Outcome:
    """Errors on the Urban scene (needs --data)."""
    return _printed_table(request, "table2", URBAN)


def table3(request: Request) -> Outcome:
    """Errors on the San Diego airport scene (needs --data)."""
    return _printed_table(request, "table3", SAN_DIEGO)


def table4(request: Request) -> Outcome:
    """Errors on the Terrain scene (needs --data)."""
    return _printed_table(request, "table4", TERRAIN)


def cuprite(request: Request) -> Outcome:
    """The remark on the Cuprite scene: all errors are close to each other (needs --data)."""
    outcome = _printed_table(request, "cuprite", CUPRITE)
    # The paper prints no table for this scene, only the interval of the errors.
    for r, (low, high) in CUPRITE.interval.items():
        errors = [row["relative_error"] for row in outcome.tables["cuprite"] if row["r"] == r]
        if errors:
            outcome.notes.append(
                f"r = {r}: errors from {min(errors):.2f} to {max(errors):.2f} %; printed for the "
                f"paper's scene: {low} to {high} %"
            )
    return outcome


def scenes(request: Request) -> Outcome:
    """The rows of tables 2 to 4 on any scenes, for two ranks each (needs --data)."""
    cases = []
    for scene in requested_scenes(request):
        # As many as the scene has reference endmembers, and two more.
        ranks = request.ranks or (own_rank(scene), own_rank(scene) + 2)
        cases += [(scene, r) for r in ranks]
    return _tables(request, "scenes", cases, printed=None)


def _printed_table(request: Request, name: str, printed: PrintedScene) -> Outcome:
    """Return the table of a scene of the paper, or of the scene that the user gives instead."""
    ranks: Sequence[int] = request.ranks or printed.ranks
    if request.quick:
        scene = generated(seed=request.seed)
        ranks = (4,)
    else:
        scene = load_printed(request.data, printed)
    cases = [(scene, r) for r in ranks]
    # Printed values beside the results of another scene would be misleading.
    if is_printed(scene, printed):
        return _tables(request, name, cases, printed)
    outcome = _tables(request, name, cases, printed=None)
    outcome.notes.append(f"{scene.name} is not {printed.wanted()}: the printed values are left out")
    return outcome


def _tables(
    request: Request,
    name: str,
    cases: Sequence[tuple[Scene, int]],
    printed: PrintedScene | None,
) -> Outcome:
    """Return the rows of all scenes and ranks, with the authors' and the printed results."""
    candidates: Sequence[int] = CANDIDATES
    # The scene of the quick version has a few hundred pixels.
    if request.quick:
        candidates = (40, 100)
    rows: list[Row] = []
    summary = []
    for scene, r in cases:
        theirs = authors_results(scene.shape, r)
        case_rows = []
        for row in scene_rows(scene, r, request.seed, candidates):
            progress(
                f"{name}: {scene.name}, r = {r}, {row['method']}: {row['relative_error']:.2f} %"
            )
            if printed is not None:
                seconds, error = printed.printed(r).get(row["method"], (None, None))
                row |= {"paper_error": error, "paper_seconds": seconds}
            row |= _authors_columns(theirs, row["method"])
            case_rows.append(row)
        rows += case_rows
        authors_best = min((error for error, _, _ in theirs.values()), default=None)
        summary.append(_summary(scene, r, case_rows, authors_best))
    figures = {name: _draw(rows)}
    with_reference = [row for row in rows if row["mrsa"] is not None]
    if with_reference:
        figures[f"{name}_mrsa"] = _draw_mrsa(with_reference)
    return Outcome({name: rows, f"{name}_summary": summary}, figures)


def _authors_columns(results: dict[str, tuple[float, float, float]], method: str) -> Row:
    nothing = (None, None, None)
    error, angle, seconds = results.get(_authors_name(method), nothing)
    return {"authors_error": error, "authors_mrsa": angle, "authors_seconds": seconds}


def _authors_name(method: str) -> str:
    """Return the name of a method in the authors' table."""
    if method.startswith("VCA"):
        return f"{method} (mean of 10)"
    # There the plain name is that of the selection by the diagonal, here of that by SPA.
    if method.startswith("FGNSR-") and method.endswith(", diagonal"):
        return method.removesuffix(", diagonal")
    if method.startswith("FGNSR-"):
        return f"{method}-spaX"
    return method


def _summary(scene: Scene, r: int, rows: list[Row], authors_best: float | None) -> Row:
    """Compare our default with the best other method, the authors' best and the SVD limit."""
    ours = next(row for row in rows if row["method"] == OURS)
    # The variants of FGNSR are all ours.
    peers = [row for row in rows if not row["method"].startswith("FGNSR")]
    best_peer = min(peers, key=lambda row: row["relative_error"])
    limit = 100 * rank_limit(scene.M, r)
    share = None
    # No method gets below the limit: only what is above it can be compared as a ratio.
    if authors_best is not None:
        share = (ours["relative_error"] - limit) / (authors_best - limit)
    return {
        "scene": scene.name,
        "r": r,
        "default": ours["relative_error"],
        "default_mrsa": ours["mrsa"],
        "default_seconds": ours["seconds"],
        "default_gap": ours["gap"],
        "best_peer": best_peer["relative_error"],
        "which_peer": best_peer["method"],
        "authors_best": authors_best,
        "svd_limit": limit,
        "share_of_excess": share,
    }


def _draw(rows: list[Row]) -> Any:
    """Draw the errors, one panel per scene and rank.

    Our results are dots, the printed ones and the authors' are rings.
    """
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes, panels = _panels(rows, 2.6, 4.4, sharey=True)
    for ax, panel_rows in panels:
        # Of different sizes, so that all can be seen where they coincide.
        _draw_rings(ax, panel_rows, methods, "authors_error", "#D55E00", 34)
        _draw_rings(ax, panel_rows, methods, "paper_error", "#009E73", 60)
        errors = [row["relative_error"] for row in panel_rows]
        heights = [methods.index(row["method"]) for row in panel_rows]
        ax.scatter(errors, heights, s=12, color="#0072B2", label="ours")
        ax.set_xlim(left=0)
        ax.grid(axis="y", alpha=0.2)
    axes[0, 0].set_yticks(range(len(methods)), methods)
    # The first method at the top, as in the table; the other panels share this axis.
    axes[0, 0].invert_yaxis()
    for ax in axes[:, 0]:
        ax.tick_params(axis="y", labelsize="x-small")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure


def _draw_rings(
    ax: Any, rows: list[Row], methods: list[str], column: str, colour: str, size: int
) -> None:
    known = [row for row in rows if row.get(column) is not None]
    # An empty scatter would still appear in the legend.
    if known:
        ax.scatter(
            [row[column] for row in known],
            [methods.index(row["method"]) for row in known],
            s=size,
            facecolors="none",
            edgecolors=colour,
            label=column.removesuffix("_error"),
        )


def _draw_mrsa(rows: list[Row]) -> Any:
    """Draw MRSA over relative error, one panel per scene and rank, FGNSR in colours of its own."""
    figure, axes, panels = _panels(rows, 2.9, 2.9)
    styles = {
        "other methods": {"color": "#4D4D4D", "marker": "o", "s": 16},
        "FGNSR-100, -500": {"color": "#E69F00", "marker": "o", "s": 16},
        "FGNSR all pixels": {"color": "#56B4E9", "marker": "o", "s": 16},
        OURS: {"color": "#0072B2", "marker": "*", "s": 60},
    }
    for ax, panel_rows in panels:
        for label, style in styles.items():
            group = [row for row in panel_rows if _group(row["method"]) == label]
            if group:
                ax.scatter(
                    [row["relative_error"] for row in group],
                    [row["mrsa"] for row in group],
                    label=label,
                    **style,
                )
        ax.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("MRSA")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure


def _group(method: str) -> str:
    """Return the group of a method in the figure of MRSA over error."""
    if method == OURS:
        return OURS
    if method.startswith("FGNSR all"):
        return "FGNSR all pixels"
    if method.startswith("FGNSR-"):
        return "FGNSR-100, -500"
    return "other methods"


def _panels(
    rows: list[Row], width: float, height: float, **options: Any
) -> tuple[Any, Any, list[tuple[Any, list[Row]]]]:
    """Return a figure, its axes, and one panel with its rows per scene and rank."""
    cases: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        cases.setdefault((row["scene"], row["r"]), []).append(row)
    # At most three panels in a row, to fit a page.
    n_columns = min(3, len(cases))
    n_rows = -(-len(cases) // n_columns)
    figure, axes = subplots(
        n_rows, n_columns, 2.2 + width * n_columns, 0.5 + height * n_rows, **options
    )
    for ax in axes.flat[len(cases) :]:
        ax.set_visible(False)
    panels = []
    for ax, ((scene, r), case_rows) in zip(axes.flat, cases.items()):
        ax.set_title(f"{scene}, r = {r}", fontsize="small")
        ax.set_xlabel("relative error, %")
        panels.append((ax, case_rows))
    return figure, axes, panels
