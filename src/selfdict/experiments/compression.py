"""How much noise the model bears on compressed middle points: figure 1 over the number of features left."""

from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.experiments.midpoints import BROKEN, QUICK, QUICK_REPEATS, REPEATS, R, Trial
from selfdict.experiments.outcome import Outcome, Request, Row, subplots
from selfdict.metrics import index_recovery, relative_error
from selfdict.model.omega import column_norms
from selfdict.reductions import compress
from selfdict.report.palette import line_styles
from selfdict.solvers import mu_heuristic, working_set

LEVELS = tuple(round(0.05 * k, 2) for k in range(1, 11))
SIZES = (R, 2 * R, 4 * R)
METHODS = ("svd", "gaussian", "srht")


def compression(request: Request) -> Outcome:
    """Middle points in q = r, 2r and 4r directions of each kind, and whole: index recovery over the noise level."""
    choices: list[tuple[str, int | None]] = [
        ("whole", None),
        *((method, q) for method in METHODS for q in SIZES),
    ]
    repeats = QUICK_REPEATS if request.quick else REPEATS
    rows = []
    for noise in QUICK[:2] if request.quick else LEVELS:
        request.progress(f"compression: noise {noise:g}")
        for method, q in choices:
            rows.append(_point(method, q, noise, repeats, request.seed))
    summary = [_breakdown(method, q, rows) for method, q in choices]
    notes = [
        f"{repeats} repeats a noise level, r = {R}, m = 50; μ by the heuristic, the r largest diagonal entries"
    ]
    return Outcome(
        {"compression": rows, "compression_breakdown": summary}, {"compression": _draw(rows)}, notes
    )


def _point(method: str, q: int | None, noise: float, repeats: int, seed: int) -> Row:
    found = []
    for repeat in range(repeats):
        key = [seed, round(1000 * noise), repeat]
        trial, true = Trial.make(noise, None, key)
        K = _select(trial, method, q, np.random.default_rng([*key, 2]))
        found.append((index_recovery(K, true), 1 - relative_error(trial.M, K)))
    recovery, approximation = np.mean(found, axis=0)
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
    data = trial.M if q is None else compress(trial.M, q, method, rng).data
    mu = mu_heuristic(data, R, trial.p)
    solution = working_set(data, mu, p=trial.p, w=column_norms(trial.M), tol=1e-6)
    return np.argsort(-solution.diagonal, kind="stable")[:R]


def _breakdown(method: str, q: int | None, rows: list[Row]) -> Row:
    """Return the first noise level at which less than 95 % are recovered, and the mean recovery over all levels."""
    own = [row for row in rows if row["method"] == method and row["q"] == q]
    return {
        "method": method,
        "q": q,
        "breakdown": next((row["eps"] for row in own if row["recovery"] < BROKEN), None),
        "mean_recovery": float(np.mean([row["recovery"] for row in own])),
    }


def _draw(rows: list[Row]) -> Any:
    figure, axes = subplots(1, len(METHODS), 9.5, 3.2, sharey=True)
    sizes = [None, *SIZES]
    for ax, method in zip(axes[0], METHODS, strict=True):
        for q, style in zip(sizes, line_styles(len(sizes)), strict=True):
            wanted = ("whole", None) if q is None else (method, q)
            points = [
                (row["eps"], row["recovery"]) for row in rows if (row["method"], row["q"]) == wanted
            ]
            dash = (0, style.dash) if style.dash else "-"
            ax.plot(
                *zip(*points),
                color=style.colour,
                linestyle=dash,
                label="all 50" if q is None else f"q = {q}",
            )
        ax.set_title(method)
        ax.set_xlabel("noise level ε")
    axes[0, 0].set_ylabel("share of true indices found")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure
