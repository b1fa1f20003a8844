"""Figures 1 and 2: how much noise each method bears on the middle points of section 4.1."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.datasets import make_midpoints
from selfdict.estimators import FGNSR
from selfdict.experiments import authors
from selfdict.experiments.outcome import Outcome, Request, Row, subplots
from selfdict.metrics import index_recovery, relative_error
from selfdict.model import Solution
from selfdict.model.problem import jitter
from selfdict.peers import snpa, spa, xray
from selfdict.readout import select_indices
from selfdict.report.palette import line_styles
from selfdict.solvers import conic, fast_gradient, mu_heuristic, working_set

R = 10
REPEATS = 25  # the authors' too
CHEAP_REPEATS = 100  # where one costs milliseconds
COARSE = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)  # where the slow methods are tried, with fewer repeats
EXCHANGE_REPEATS = 10  # where one takes a second
SLOW_REPEATS = 5
QUICK = (0.05, 0.15, 0.25, 0.4)
QUICK_REPEATS = 3
BROKEN = 0.95
SMALLEST_RESIDUAL = 1e-3  # the target for data without noise


@dataclass(frozen=True)
class Trial:
    """One data set: M, the noise level ε = ‖N‖_F, and the weights p of the diagonal."""

    M: Array
    noise: float
    p: Array

    @classmethod
    def make(cls, noise: float, alpha: float | None, seed: list[int]) -> tuple["Trial", Array]:
        """Return a data set and its true indices."""
        M, _, true = make_midpoints(50, R, noise, alpha, random_state=np.random.default_rng(seed))
        return cls(M, noise, jitter(M.shape[1], np.random.default_rng([*seed, 1]))), true

    @property
    def mu(self) -> float:
        """The heuristic penalty, with the authors' offset."""
        return mu_heuristic(self.M, R, self.p, offset=1e-3)

    @property
    def target(self) -> tuple[str, float]:
        """The noise level, as the residual to steer to."""
        return "residual", max(self.noise, SMALLEST_RESIDUAL)

    def normalised(self) -> "Trial":
        """Return the same points with columns of ℓ1 norm one, as the authors normalise for FGNSR."""
        return replace(self, M=self.M / np.abs(self.M).sum(axis=0))


@dataclass(frozen=True)
class Method:
    """How a method selects, its name in the authors' results, how often it is tried, and if for figure 2 alone."""

    select: Callable[[Trial], Array]
    reference: str | None = None
    repeats: int = REPEATS
    normalised: bool = False

    @property
    def slow(self) -> bool:
        """Whether it is tried at fewer noise levels."""
        return self.repeats == SLOW_REPEATS


def _largest(solution: Solution) -> Array:
    """Return the r largest diagonal entries, as the paper does in section 4.1."""
    return np.argsort(-solution.diagonal, kind="stable")[:R]


def _heuristic(trial: Trial) -> Array:
    return _largest(fast_gradient(trial.M, trial.mu, p=trial.p, max_iter=1000, tol=0))


def _dynamic(trial: Trial) -> Array:
    steered = fast_gradient(
        trial.M, trial.mu, p=trial.p, max_iter=1000, tol=0, target=trial.target, target_every=10
    )
    return _largest(steered)


def _to_trace(trial: Trial) -> Array:
    """Steer to the trace r/2 + 1: the noise of normalised data is not known, and this is the authors' default."""
    target = ("trace", R / 2 + 1)
    steered = fast_gradient(
        trial.M, trial.mu, p=trial.p, max_iter=1000, tol=0, target=target, target_every=None
    )
    return _largest(steered)


def _certified(trial: Trial) -> Solution:
    return working_set(trial.M, trial.mu, p=trial.p, target=trial.target, tol=1e-6)


def _normalise_spa(trial: Trial) -> Array:
    """Divide by the plain sums first, as the authors do for SPA; with noise some entries are negative."""
    return spa(trial.M / trial.M.sum(axis=0), R)


def _xray(trial: Trial) -> Array:
    """Divide by the plain sums, as the authors do."""
    return xray(trial.M, R, p=np.ones(len(trial.M)))


METHODS = {
    "SPA": Method(lambda trial: spa(trial.M, R), "SPA", CHEAP_REPEATS),
    "SNPA": Method(lambda trial: snpa(trial.M, R), "SNPA", CHEAP_REPEATS),
    "XRAY": Method(_xray, "XRAY", CHEAP_REPEATS),
    "FGNSR heuristic": Method(_heuristic, "FGNSR_heur"),
    "FGNSR dynamic": Method(_dynamic, "FGNSR_dynres"),
    "FGNSR certified": Method(
        lambda trial: _largest(_certified(trial)), "FGNSR_dynres", CHEAP_REPEATS
    ),
    "FGNSR certified, exchange": Method(
        lambda trial: select_indices(_certified(trial), R, trial.M),
        "FGNSR_dynres",
        EXCHANGE_REPEATS,
    ),
    "exact SOCP": Method(
        lambda trial: _largest(conic(trial.M, epsilon=trial.noise, p=trial.p)), repeats=SLOW_REPEATS
    ),
    "FGNSR default": Method(
        lambda trial: np.asarray(FGNSR(R, random_state=0).fit(trial.M.T).indices_),
        repeats=SLOW_REPEATS,
    ),
    "normalise, SPA": Method(_normalise_spa, "SPA_norm", CHEAP_REPEATS, normalised=True),
    "normalise, FGNSR heuristic": Method(
        lambda trial: _heuristic(trial.normalised()), "FGNSR_norm_heur", normalised=True
    ),
    "normalise, FGNSR dynamic": Method(
        lambda trial: _to_trace(trial.normalised()), "FGNSR_norm_dyn", normalised=True
    ),
}


def figure1(request: Request) -> Outcome:
    """Middle points: index recovery and approximation over the noise level."""
    return _figure(request, "figure1", alpha=None)


def figure2(request: Request) -> Outcome:
    """Scaled middle points (α = 4), with the variants that normalise the columns first."""
    return _figure(request, "figure2", alpha=4.0)


def _figure(request: Request, name: str, alpha: float | None) -> Outcome:
    scaled = alpha is not None
    methods = {key: method for key, method in METHODS.items() if scaled or not method.normalised}
    if request.quick:
        slow = {"FGNSR default", *(("exact SOCP", "FGNSR certified, exchange") if scaled else ())}
        methods = {key: method for key, method in methods.items() if key not in slow}
    rows = []
    for theirs in authors.midpoints(scaled):
        noise = theirs["eps"]
        if request.quick and noise not in QUICK:
            continue
        request.progress(f"{name}: noise {noise:g}")
        for key, method in methods.items():
            repeats = _repeats(method, noise, request.quick)
            if repeats:
                rows.append(
                    _point(key, method, noise, alpha, repeats, request.seed)
                    | _compare(method, theirs)
                )
    for row in rows:
        row["z"] = _standard_errors_apart(row)
    summary = [_breakdown(key, [row for row in rows if row["method"] == key]) for key in methods]
    notes = [
        f"{REPEATS} repeats a noise level; {CHEAP_REPEATS} for SPA, SNPA, XRAY and the certified solver; "
        f"{EXCHANGE_REPEATS} for that with exchange; {SLOW_REPEATS}, at fewer levels, for the exact SOCP and the "
        "default FGNSR"
    ]
    if request.quick:
        notes = [f"quick version: {QUICK_REPEATS} repeats a noise level"]
    return Outcome(
        {name: rows, f"{name}_breakdown": summary}, {name: _draw(rows, list(methods))}, notes
    )


def _repeats(method: Method, noise: float, quick: bool) -> int:
    if quick:
        return QUICK_REPEATS if not method.slow else 2 if noise == QUICK[2] else 0
    return method.repeats if not method.slow or noise in COARSE else 0


def _point(
    key: str, method: Method, noise: float, alpha: float | None, repeats: int, seed: int
) -> Row:
    """Return the mean measures of one method at one noise level; all methods see the same data sets."""
    found = []
    for repeat in range(repeats):
        trial, true = Trial.make(noise, alpha, [seed, round(1000 * noise), repeat])
        started = time.perf_counter()
        K = method.select(trial)
        seconds = time.perf_counter() - started
        found.append((index_recovery(K, true), 1 - relative_error(trial.M, K), seconds))
    values = np.array(found)
    error = values.std(axis=0, ddof=1) / np.sqrt(repeats)
    return {
        "eps": noise,
        "method": key,
        "repeats": repeats,
        "recovery": float(values[:, 0].mean()),
        "recovery_se": float(error[0]),
        "approximation": float(values[:, 1].mean()),
        "approximation_se": float(error[1]),
        "seconds": float(np.median(values[:, 2])),
    }


def _compare(method: Method, theirs: dict[str, float]) -> Row:
    name = method.reference
    if name is None:
        return {"authors_recovery": None, "authors_se": None}
    return {"authors_recovery": theirs[f"rec_{name}"], "authors_se": theirs[f"rec_se_{name}"]}


def _standard_errors_apart(row: Row) -> float | None:
    """Return how many standard errors of the difference our recovery lies above the authors'.

    The variance is pooled, as if both had the same: where few indices are found, or nearly all, the
    standard error of 25 repeats alone can be zero.
    """
    if row["authors_recovery"] is None:
        return None
    difference = row["recovery"] - row["authors_recovery"]
    if abs(difference) < 1e-12:
        return 0.0
    ours, theirs = row["repeats"], REPEATS
    squares = (
        ours * (ours - 1) * row["recovery_se"] ** 2 + theirs * (theirs - 1) * row["authors_se"] ** 2
    )
    error = float(np.sqrt(squares / (ours + theirs - 2) * (1 / ours + 1 / theirs)))
    return difference / error if error > 0 else float(np.copysign(np.inf, difference))


def _breakdown(key: str, rows: list[Row]) -> Row:
    """Return the first noise level at which a method recovers less than 95 %, ours and the authors'."""

    def first(column: str) -> float | None:
        return next(
            (row["eps"] for row in rows if row[column] is not None and row[column] < BROKEN), None
        )

    apart = [row["z"] for row in rows if row["z"] is not None]
    return {
        "method": key,
        "breakdown": first("recovery"),
        "authors_breakdown": first("authors_recovery"),
        "least_z": min(apart, default=None),
        "greatest_z": max(apart, default=None),
        "median_seconds": float(np.median([row["seconds"] for row in rows])),
    }


def _draw(rows: list[Row], methods: list[str]) -> Any:
    """Draw both measures over the noise; crosses: what the authors' programs gave, rings: fewer repeats."""
    figure, axes = subplots(1, 2, 9.5, 4.0)
    for ax, measure in zip(axes[0], ("recovery", "approximation"), strict=True):
        for key, style in zip(methods, line_styles(len(methods)), strict=True):
            points = [(row["eps"], row[measure]) for row in rows if row["method"] == key]
            slow = METHODS[key].slow
            ax.plot(
                *zip(*points),
                color=style.colour,
                linestyle="none" if slow else (0, style.dash) if style.dash else "-",
                marker="o" if slow else None,
                fillstyle="none",
                linewidth=1.3,
                label=key,
            )
            theirs = [(row["eps"], row["authors_recovery"]) for row in rows if row["method"] == key]
            if measure == "recovery" and theirs and theirs[0][1] is not None:
                ax.plot(*zip(*theirs), "x", color=style.colour, markersize=3)
        ax.set_xlabel("noise level ε")
    axes[0, 0].set_ylabel("share of true indices found")
    axes[0, 1].set_ylabel("1 − relative error")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure
