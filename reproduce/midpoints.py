"""Figures 1 and 2: robustness of each method to noise, on the middle points of section 4.1."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reproduce.outcome import Outcome, Request, Row, progress, subplots
from reproduce.paper import authors_midpoints
from selfdict._display import line_styles
from selfdict._validation import Array
from selfdict.datasets import make_midpoints
from selfdict.estimators import FGNSR
from selfdict.metrics import index_recovery, relative_error
from selfdict.model import Solution
from selfdict.model.problem import jitter
from selfdict.peers import snpa, spa, xray
from selfdict.readout import select_indices
from selfdict.solvers import conic, fast_gradient, mu_heuristic, working_set

RANK = 10  # r of section 4.1
# Repeats per noise level. The authors have 25, which is also ours unless a run takes milliseconds,
# about a second (with the exchange), or several seconds.
REPEATS = 25
CHEAP_REPEATS = 100
EXCHANGE_REPEATS = 10
SLOW_REPEATS = 5
# Noise levels of the slow methods: around the breakdown of the convex model.
SLOW_LEVELS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
# Noise levels and repeats of the quick version.
QUICK_LEVELS = (0.05, 0.15, 0.25, 0.4)
QUICK_REPEATS = 3
# A method breaks down at the first noise level with a recovery below this share.
BREAKDOWN_RECOVERY = 0.95


@dataclass(frozen=True)
class Trial:
    """One data set: M, the noise level ε = ‖N‖_F, and the weights p of the diagonal."""

    M: Array
    noise: float
    p: Array

    @classmethod
    def make(cls, noise: float, alpha: float | None, seed: list[int]) -> tuple["Trial", Array]:
        """Return a data set and its true indices."""
        rng = np.random.default_rng(seed)
        M, _, true = make_midpoints(50, RANK, noise, alpha, random_state=rng)
        # A generator of its own: the weights do not depend on how many draws the data took.
        p = jitter(M.shape[1], np.random.default_rng([*seed, 1]))
        return cls(M, noise, p), true

    @property
    def mu(self) -> float:
        """The heuristic penalty, with the authors' offset."""
        return mu_heuristic(self.M, RANK, self.p, offset=1e-3)

    @property
    def target(self) -> tuple[str, float]:
        """The noise level as the residual that the penalty is adapted to."""
        # Without noise the residual is zero for a penalty of zero only.
        return "residual", max(self.noise, 1e-3)

    def normalised(self) -> "Trial":
        """Return the points with columns of ℓ1 norm one, as the authors normalise for FGNSR."""
        return replace(self, M=self.M / np.abs(self.M).sum(axis=0))


@dataclass(frozen=True)
class Method:
    """A method of the figures.

    ``reference`` is its name in the authors' results, if they have it; ``repeats`` are those per
    noise level. Only figure 2 shows methods that normalise the columns.
    """

    select: Callable[[Trial], Array]  # returns the indices selected for a trial
    reference: str | None = None
    repeats: int = REPEATS
    normalised: bool = False

    @property
    def slow(self) -> bool:
        """Whether it is tried at fewer noise levels."""
        return self.repeats == SLOW_REPEATS


def largest_diagonal_entries(solution: Solution) -> Array:
    """Return the indices of the r largest diagonal entries, as the paper does in section 4.1."""
    # Stable, so that ties are broken alike on every machine.
    return np.argsort(-solution.diagonal, kind="stable")[:RANK]


def _fast_gradient(trial: Trial, **options: Any) -> Array:
    """Select after 1000 iterations of Algorithm 1, the number that the authors use."""
    # A tolerance of zero, so that all iterations are made.
    solution = fast_gradient(trial.M, trial.mu, p=trial.p, max_iter=1000, tol=0, **options)
    return largest_diagonal_entries(solution)


def _certified(trial: Trial) -> Solution:
    """Solve the same model as the dynamic variant of Algorithm 1, to the end."""
    return working_set(trial.M, trial.mu, p=trial.p, target=trial.target, tol=1e-6)


MIDPOINT_METHODS = {
    "SPA": Method(lambda trial: spa(trial.M, RANK), "SPA", CHEAP_REPEATS),
    "SNPA": Method(lambda trial: snpa(trial.M, RANK), "SNPA", CHEAP_REPEATS),
    # XRAY divides by the plain sums, as the authors do.
    "XRAY": Method(
        lambda trial: xray(trial.M, RANK, p=np.ones(len(trial.M))), "XRAY", CHEAP_REPEATS
    ),
    "FGNSR heuristic": Method(_fast_gradient, "FGNSR_heur"),
    "FGNSR dynamic": Method(
        lambda trial: _fast_gradient(trial, target=trial.target, target_every=10), "FGNSR_dynres"
    ),
    "FGNSR certified": Method(
        lambda trial: largest_diagonal_entries(_certified(trial)), "FGNSR_dynres", CHEAP_REPEATS
    ),
    "FGNSR certified, exchange": Method(
        lambda trial: select_indices(_certified(trial), RANK), "FGNSR_dynres", EXCHANGE_REPEATS
    ),
    "exact SOCP": Method(
        lambda trial: largest_diagonal_entries(conic(trial.M, epsilon=trial.noise, p=trial.p)),
        repeats=SLOW_REPEATS,
    ),
    "FGNSR default": Method(
        lambda trial: np.asarray(FGNSR(RANK, random_state=0).fit(trial.M.T).indices_),
        repeats=SLOW_REPEATS,
    ),
    # The authors divide by the plain sums before SPA, which with noise are not the ℓ1 norms.
    "normalise, SPA": Method(
        lambda trial: spa(trial.M / trial.M.sum(axis=0), RANK),
        "SPA_norm",
        CHEAP_REPEATS,
        normalised=True,
    ),
    "normalise, FGNSR heuristic": Method(
        lambda trial: _fast_gradient(trial.normalised()), "FGNSR_norm_heur", normalised=True
    ),
    # μ for the trace r/2 + 1, the authors' default: the noise after scaling is not known.
    "normalise, FGNSR dynamic": Method(
        lambda trial: _fast_gradient(
            trial.normalised(), target=("trace", RANK / 2 + 1), target_every=None
        ),
        "FGNSR_norm_dyn",
        normalised=True,
    ),
}


def figure1(request: Request) -> Outcome:
    """Middle points: index recovery and approximation over the noise level."""
    return _figure(request, "figure1", alpha=None)


def figure2(request: Request) -> Outcome:
    """Scaled middle points (α = 4), with variants that normalise the columns first."""
    return _figure(request, "figure2", alpha=4.0)


def _figure(request: Request, name: str, alpha: float | None) -> Outcome:
    scaled = alpha is not None
    methods = _methods_of(scaled, request.quick)
    rows = []
    # At the noise levels of the authors, so that every result has one to compare with.
    for theirs in authors_midpoints(scaled):
        noise = theirs["eps"]
        if request.quick and noise not in QUICK_LEVELS:
            continue
        progress(f"{name}: noise {noise:g}")
        for key, method in methods.items():
            repeats = _repeats(method, noise, request.quick)
            if repeats > 0:
                row = _mean_measures(method, noise, alpha, repeats, request.seed)
                rows.append({"eps": noise, "method": key} | row | _authors_columns(method, theirs))
    for row in rows:
        row["z"] = standard_errors_apart(row)
    summary = [_breakdown(key, [row for row in rows if row["method"] == key]) for key in methods]
    notes = [
        f"{REPEATS} repeats per noise level; {CHEAP_REPEATS} for SPA, SNPA, XRAY and the certified "
        f"solver; {EXCHANGE_REPEATS} for that with exchange; {SLOW_REPEATS}, at fewer levels, for "
        "the exact SOCP and the default FGNSR"
    ]
    if request.quick:
        notes = [f"quick version: {QUICK_REPEATS} repeats per noise level"]
    tables = {name: rows, f"{name}_breakdown": summary}
    return Outcome(tables, {name: _draw(rows, list(methods))}, notes)


def _methods_of(scaled: bool, quick: bool) -> dict[str, Method]:
    """Return the methods of figure 2 (scaled) or figure 1."""
    omitted = set()
    if quick:
        omitted.add("FGNSR default")
    # The exact SOCP and the exchange are slow; the quick figure 1 shows them already.
    if quick and scaled:
        omitted |= {"exact SOCP", "FGNSR certified, exchange"}
    methods = {}
    for key, method in MIDPOINT_METHODS.items():
        if key not in omitted and (scaled or not method.normalised):
            methods[key] = method
    return methods


def _repeats(method: Method, noise: float, quick: bool) -> int:
    """Return how often a method is tried at a noise level; 0: not at all."""
    if not quick:
        if method.slow and noise not in SLOW_LEVELS:
            return 0
        return method.repeats
    if not method.slow:
        return QUICK_REPEATS
    # The one quick level where greedy methods fail and the convex model still succeeds.
    if noise == QUICK_LEVELS[2]:
        return 2
    return 0


def _mean_measures(
    method: Method, noise: float, alpha: float | None, repeats: int, seed: int
) -> Row:
    """Return the mean measures of one method at one noise level."""
    measures = []
    for repeat in range(repeats):
        # The seed does not depend on the method: all methods see the same data sets.
        trial, true = Trial.make(noise, alpha, [seed, round(1000 * noise), repeat])
        started = time.perf_counter()
        K = method.select(trial)
        seconds = time.perf_counter() - started
        measures.append((index_recovery(K, true), 1 - relative_error(trial.M, K), seconds))
    values = np.array(measures)
    standard_error = values.std(axis=0, ddof=1) / np.sqrt(repeats)
    return {
        "repeats": repeats,
        "recovery": float(values[:, 0].mean()),
        "recovery_se": float(standard_error[0]),
        "approximation": float(values[:, 1].mean()),
        "approximation_se": float(standard_error[1]),
        # The median, since the first run may compile.
        "seconds": float(np.median(values[:, 2])),
    }


def _authors_columns(method: Method, theirs: dict[str, float]) -> Row:
    """Return the columns of the table with the authors' results."""
    name = method.reference
    if name is None:
        return {"authors_recovery": None, "authors_se": None}
    return {"authors_recovery": theirs[f"rec_{name}"], "authors_se": theirs[f"rec_se_{name}"]}


def standard_errors_apart(row: Row) -> float | None:
    """Return how many standard errors of the difference our recovery is above the authors'.

    The variance is pooled, as if both samples had the same: if few indices are found, or nearly
    all, the standard error of 25 repeats alone can be zero.
    """
    if row["authors_recovery"] is None:
        return None
    difference = row["recovery"] - row["authors_recovery"]
    # Equal recoveries, such as all indices in every repeat, may give 0/0 below.
    if abs(difference) < 1e-12:
        return 0.0
    n_ours = row["repeats"]
    n_theirs = REPEATS
    # The squared standard error is s²/n with s² = (sum of squares)/(n − 1).
    squares = (
        n_ours * (n_ours - 1) * row["recovery_se"] ** 2
        + n_theirs * (n_theirs - 1) * row["authors_se"] ** 2
    )
    variance = squares / (n_ours + n_theirs - 2)
    standard_error = float(np.sqrt(variance * (1 / n_ours + 1 / n_theirs)))
    # The recoveries differ, but neither varies between repeats.
    if standard_error == 0:
        return float(np.copysign(np.inf, difference))
    return float(difference / standard_error)


def _breakdown(key: str, rows: list[Row]) -> Row:
    """Return the noise level at which a method breaks down, for us and for the authors."""

    def first_level(column: str) -> float | None:
        # The rows are in the order of the noise levels.
        for row in rows:
            if row[column] is not None and row[column] < BREAKDOWN_RECOVERY:
                return float(row["eps"])
        return None

    apart = [row["z"] for row in rows if row["z"] is not None]
    return {
        "method": key,
        "breakdown": first_level("recovery"),
        "authors_breakdown": first_level("authors_recovery"),
        "least_z": min(apart, default=None),
        "greatest_z": max(apart, default=None),
        "median_seconds": float(np.median([row["seconds"] for row in rows])),
    }


def _draw(rows: list[Row], methods: list[str]) -> Any:
    """Draw both measures over the noise level.

    Crosses are the authors' results; rings are methods with fewer noise levels.
    """
    figure, axes = subplots(1, 2, 9.5, 4.0)
    for ax, measure in zip(axes[0], ("recovery", "approximation"), strict=True):
        for key, style in zip(methods, line_styles(len(methods)), strict=True):
            own = [row for row in rows if row["method"] == key]
            levels = [row["eps"] for row in own]
            line: dict[str, Any] = {"linestyle": style.matplotlib_dash, "marker": None}
            if MIDPOINT_METHODS[key].slow:
                # A line through few levels would suggest that the levels between were tried.
                line = {"linestyle": "none", "marker": "o"}
            ax.plot(
                levels,
                [row[measure] for row in own],
                color=style.colour,
                fillstyle="none",
                linewidth=1.3,
                label=key,
                **line,
            )
            theirs = [row["authors_recovery"] for row in own]
            if measure == "recovery" and theirs and theirs[0] is not None:
                ax.plot(levels, theirs, "x", color=style.colour, markersize=3)
        ax.set_xlabel("noise level ε")
    axes[0, 0].set_ylabel("share of true indices found")
    axes[0, 1].set_ylabel("1 − relative error")
    axes[0, 0].legend(frameon=False, fontsize="x-small")
    return figure
