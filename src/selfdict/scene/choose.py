"""Endmembers chosen among the points, and what is known about the choice."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.abundances import Illumination, Variability
from selfdict.columns.blocks import BlockMatrix
from selfdict.model.problem import jitter
from selfdict.model.solution import Progress, Status
from selfdict.readout import Proof
from selfdict.scene.blocks import Block, blocks, float_dtype
from selfdict.scene.options import method_name
from selfdict.scene.passes import run_on_blocks
from selfdict.scene.plan import Plan, Points
from selfdict.solvers.block_search import solve_blocks


@dataclass(frozen=True)
class Choice:
    """What the estimator chose; its solution and groups refer to the points it was fitted to."""

    method: str  # its name, such as FGNSR-500
    estimator: Any  # fitted
    positions: Array  # (n,), of the points in the scene
    candidates: int | None  # number of clusters that was used
    seconds: float  # without the proof
    pixel_spectra: Array | None  # (m, r), the pure pixels; None with a library
    illumination: Illumination | None  # for shares
    proof: Proof | None
    proof_seconds: float

    @property
    def U(self) -> Array:
        """The endmembers, (m, r)."""
        return np.asarray(self.estimator.components_.T)

    @property
    def chosen(self) -> Array:
        """Their numbers among the points, or among the spectra of the library, (r,)."""
        return np.asarray(self.estimator.indices_)

    @property
    def pixels(self) -> Array | None:
        """The positions of the pure pixels in the scene, (r,); None with a library."""
        if self.pixel_spectra is None:
            return None
        return np.asarray(self.positions[self.chosen])

    @property
    def variability(self) -> Variability | None:
        """How the pixels of each material differ, for the errors of shares."""
        return getattr(self.estimator, "variability_", None)


def choose(plan: Plan, points: Points) -> Choice:
    """Fit the estimator to the points and return what it chose."""
    candidates = plan.candidates
    if candidates is not None and candidates >= len(points):
        # Every point would be a cluster of its own.
        candidates = None
    dictionary = None
    if plan.library is not None:
        dictionary = plan.library.values
    started = time.perf_counter()
    estimator = plan.options.new_estimator(
        plan.r,
        candidates=candidates,
        dictionary=dictionary,
        max_seconds=plan.deadline.part(0.8).left,  # the rest is for proofs
        seed=plan.seed,
    )
    weights = None
    # The other methods take no weights, and have none but ones.
    if (points.sizes > 1).any():
        weights = points.sizes
    # Without abundances: those of all pixels are computed later.
    try:
        estimator.fit_components(points.M.T, weights)
    except InputError as error:
        raise type(error)(str(error).replace("n_components", "r")) from error
    pixel_spectra = None
    if plan.library is None:
        pixel_spectra = np.ascontiguousarray(points.M[:, estimator.indices_])
    illumination = _illumination(plan, estimator.components_.T, points)
    if plan.options.is_fgnsr:
        # After Ctrl-C a solver returns the best point it has; maps of it are not wanted.
        if estimator.solution_.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        for what in estimator.skipped_:
            plan.deadline.skip(what)
    seconds = time.perf_counter() - started
    proof = _proof(plan, estimator, seconds)
    return Choice(
        method=method_name(plan.options.method, candidates),
        estimator=estimator,
        positions=points.pixels,
        candidates=candidates,
        seconds=seconds,
        pixel_spectra=pixel_spectra,
        illumination=illumination,
        proof=proof,
        proof_seconds=time.perf_counter() - started - seconds,
    )


def choose_others(
    plan: Plan, others: list[Plan], points: list[Points]
) -> tuple[list[Choice], list[str]]:
    """Return what the methods to compare with choose, and notes of failures."""
    choices = []
    notes = []
    for name, other, their_points in zip(plan.options.compare, others, points):
        if plan.deadline.passed:
            plan.deadline.skip(f"{name.upper()} was not run for comparison")
            continue
        try:
            choices.append(choose(replace(other, r=plan.r), their_points))
        except InputError as error:
            # Such as SPA, which finds no more pixels than there are bands.
            notes.append(f"{name.upper()} is left out of the comparison: {error}")
    return choices, notes


def _illumination(plan: Plan, U: Array, points: Points) -> Illumination | None:
    """Return the brightness of endmembers and pixels, if shares are wanted."""
    if plan.options.abundances != "shares":
        return None
    # a single pixel has any brightness; spectra of a library, and averages, have their own
    is_single_pixel = plan.library is None and plan.options.endmember_kind == "pixels"
    return Illumination.of(U, points.M, rescale=is_single_pixel, sample_weight=points.sizes)


def _proof(plan: Plan, estimator: Any, fit_seconds: float) -> Proof | None:
    """Return a proof about the groups, if one is wanted."""
    if plan.options.proof is False:
        return None
    max_seconds = plan.deadline.left
    if plan.options.proof == "auto":
        # Nobody waits long for a proof that was not asked for.
        moderate = max(2 / 3 * fit_seconds, 5.0)
        if max_seconds is None:
            max_seconds = moderate
        max_seconds = min(max_seconds, moderate)
    proof: Proof = estimator.prove(max_seconds=max_seconds)
    if plan.deadline.passed and not proof.complete:
        plan.deadline.skip("not everything was tried for the proof")
    return proof


@dataclass(frozen=True)
class SceneCheck:
    """How far the weights can be from optimal with every pixel of a scene as a candidate.

    Attributes
    ----------
    objective : float
        The value of model (6) that was reached for all pixels.
    dual_bound : float
        No weights have a lower objective.
    gap : float
        (objective − dual_bound) / objective.
    """

    objective: float
    dual_bound: float
    gap: float


def solve_scene(plan: Plan, report: Callable[[float], Any]) -> tuple[Points, SceneCheck]:
    """Solve the model for all pixels; return those with a weight, and the bound for all."""
    pixels = SceneBlocks.of(plan)
    tol = plan.options.estimator.get("tol")
    if tol is None:
        tol = 1e-2  # small enough for millions of pixels: further digits take many passes
    mu = None
    if not isinstance(plan.options.mu, str):
        mu = float(plan.options.mu)
    solution = solve_blocks(
        pixels,
        plan.r,
        mu=mu,
        smooth=plan.options.smooth,
        p=partial(jitter, random_state=plan.seed),
        tol=tol,
        max_seconds=plan.deadline.part(0.5).left,
        callback=partial(_report_progress, report, tol),
    )
    nothing = np.empty((int(plan.bands.sum()), 0), float_dtype(plan.scene.dtype))
    columns = BlockMatrix(pixels, np.empty(0, np.int64), nothing)
    M = np.asfortranarray(columns[:, solution.support])
    ones = np.ones(len(solution.support), np.intp)
    open_pixels = Points(M, pixels.positions[solution.support], ones)
    return open_pixels, SceneCheck(solution.objective, solution.dual_bound, solution.gap)


def _report_progress(report: Callable[[float], Any], tol: float, progress: Progress) -> None:
    """Report the share done, which is the part of the way to the tolerance in digits."""
    # A tolerance of zero has no digits, and one of one or more is reached at once.
    goal = max(tol, 1e-12)
    if progress.gap < 1 and goal < 1:
        report(min(1.0, float(np.log(max(progress.gap, goal)) / np.log(goal))))


@dataclass(frozen=True, eq=False)
class SceneBlocks:
    """The valid pixels of a scene as blocks of columns."""

    plan: Plan
    numbers: Array  # (n_blocks,), the blocks of the scene that have a valid pixel
    sizes: Array  # (n_blocks,), how many valid pixels they have
    positions: Array  # (n,), where the valid pixels are in the scene, counted row by row

    @classmethod
    def of(cls, plan: Plan) -> "SceneBlocks":
        """Read the scene once to find its valid pixels."""
        scene = plan.scene
        every = np.arange(len(blocks(scene)))
        task = partial(_valid_positions, plan.bands)
        found = list(run_on_blocks(scene, task, every, None, plan.client))
        sizes = np.array([len(positions) for positions in found])
        has_pixels = sizes > 0
        return cls(plan, every[has_pixels], sizes[has_pixels], np.concatenate(found))

    def run(self, task: Callable[[Array, Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        """Return ``task(M, part)`` for the valid pixels M of each block."""
        on_pixels = partial(_on_valid_pixels, self.plan.bands, task)
        plan = self.plan
        return run_on_blocks(plan.scene, on_pixels, self.numbers, parts, plan.client)

    def everywhere(self, function: Callable[[], Any]) -> None:
        """Call a function in this process, or in each worker."""
        if self.plan.client is None:
            function()
        else:
            # workers that are lost have nothing to do
            self.plan.client.run(function, on_error="ignore")


def _on_valid_pixels(
    bands: Array, task: Callable[[Array, Any], Any], block: Block, part: Any
) -> Any:
    return task(block.valid_pixels(bands)[0], part)


def _valid_positions(bands: Array, block: Block) -> Array:
    return block.valid_pixels(bands)[1]
