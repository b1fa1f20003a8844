"""Robustness of the model on compressed middle points: figure 1 with fewer features."""

from typing import Any

import numpy as np

from reproduce.midpoints import (
    BREAKDOWN_RECOVERY,
    QUICK_LEVELS,
    QUICK_REPEATS,
    RANK,
    REPEATS,
    Trial,
    largest_diagonal_entries,
)
from reproduce.outcome import Outcome, Request, Row, progress, subplots
from selfdict._colours import LineStyle, line_styles
from selfdict._validation import Array
from selfdict.metrics import index_recovery, relative_error
from selfdict.model.omega import column_norms
from selfdict.reductions.compression import compress
from selfdict.solvers import mu_heuristic, working_set

# Numbers of features q. Data without noise has rank r; noise needs more.
SIZES = (RANK, 2 * RANK, 4 * RANK)
COMPRESSIONS = ("svd", "gaussian", "srht")


def compression(request: Request) -> Outcome:
    """Middle points with fewer features: index recovery over the noise level."""
    variants: list[tuple[str, int | None]] = [("whole", None)]
    variants += [(method, q) for method in COMPRESSIONS for q in SIZES]
    levels: tuple[float, ...] = tuple(round(0.05 * k, 2) for k in range(1, 11))
    repeats = REPEATS
    if request.quick:
        levels = QUICK_LEVELS[:2]
        repeats = QUICK_REPEATS
    rows = []
    for noise in levels:
        progress(f"compression: noise {noise:g}")
        for method, q in variants:
            rows.append(_mean_measures(method, q, noise, repeats, request.seed))
    summary = [_breakdown(method, q, rows) for method, q in variants]
    notes = [
        f"{repeats} repeats per noise level, r = {RANK}, m = 50; μ by the heuristic, "
        "the r largest diagonal entries"
    ]
    return Outcome(
        {"compression": rows, "compression_breakdown": summary}, {"compression": _draw(rows)}, notes
    )


def _mean_measures(method: str, q: int | None, noise: float, repeats: int, seed: int) -> Row:
    """Return the mean measures of one compression at one noise level."""
    measures = []
    for repeat in range(repeats):
        # The same data sets as in figure 1, and the same for all compressions.
        key = [seed, round(1000 * noise), repeat]
        trial, true = Trial.make(noise, None, key)
        # The last entry keeps the random directions independent of the data and of the weights p.
        K = _select(trial, method, q, np.random.default_rng([*key, 2]))
        measures.append((index_recovery(K, true), 1 - relative_error(trial.M, K)))
    recovery, approximation = np.mean(measures, axis=0)
    return {
        "eps": noise,
        "method": method,
        "q": q,
        "repeats": repeats,
        "recovery": float(recovery),
        "approximation": float(approximation),
    }


def _select(trial: Trial, method: str, q: int | None, rng: np.random.Generator) -> Array:
    """Return the r largest diagonal entries of the solution for the compressed points."""
    data = trial.M
    if q is not None:
        data = compress(trial.M, q, method, rng).data
    mu = mu_heuristic(data, RANK, trial.p)
    # The constraints of the model keep the column norms of the original points.
    solution = working_set(data, mu, p=trial.p, w=column_norms(trial.M), tol=1e-6)
    return largest_diagonal_entries(solution)


def _breakdown(method: str, q: int | None, rows: list[Row]) -> Row:
    """Return the first noise level with a recovery below 95 %, and the mean recovery."""
    own = [row for row in rows if row["method"] == method and row["q"] == q]
    broken = [row["eps"] for row in own if row["recovery"] < BREAKDOWN_RECOVERY]
    return {
        "method": method,
        "q": q,
        "breakdown": min(broken, default=None),
        "mean_recovery": float(np.mean([row["recovery"] for row in own])),
    }


def _draw(rows: list[Row]) -> Any:
    """Draw one panel per compression with one line per number of features."""
    # The same style for the same number of features in all panels.
    figure, axes = subplots(1, len(COMPRESSIONS), 9.5, 3.2, sharey=True)
    styles = line_styles(1 + len(SIZES))
    for ax, method in zip(axes[0], COMPRESSIONS, strict=True):
        # All features in every panel, as the line to compare with.
        _draw_line(ax, rows, "whole", None, label="all 50", style=styles[0])
        for q, style in zip(SIZES, styles[1:], strict=True):
            _draw_line(ax, rows, method, q, label=f"q = {q}", style=style)
        ax.set_title(method)
        ax.set_xlabel("noise level ε")
    axes[0, 0].set_ylabel("share of true indices found")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure


def _draw_line(
    ax: Any, rows: list[Row], method: str, q: int | None, *, label: str, style: LineStyle
) -> None:
    own = [row for row in rows if row["method"] == method and row["q"] == q]
    ax.plot(
        [row["eps"] for row in own],
        [row["recovery"] for row in own],
        color=style.colour,
        linestyle=style.matplotlib_dash,
        label=label,
    )
