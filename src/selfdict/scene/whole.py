"""The model with every pixel of a scene as a candidate, where the pixels do not fit in memory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from selfdict._validation import Array
from selfdict.columns.blocks import BlockMatrix
from selfdict.model.problem import jitter
from selfdict.model.solution import Progress
from selfdict.scene.blocks import block_matrix, blocks, float_dtype
from selfdict.scene.passes import Block, run_on_blocks
from selfdict.scene.plan import Plan
from selfdict.scene.points import Points
from selfdict.solvers.block_search import solve_blocks

IN_BLOCKS = (
    "All pixels were candidates of the model, read block by block: the check is the bound over all "
    "of them. The pure pixels were chosen from a random sample and the pixels with a weight."
)
# a gap that tells what one wants to know of millions of pixels; the last digits take many passes
_DEFAULT_TOL = 1e-2
_LEAST_TOL = 1e-12  # that progress is measured by
_SOLVER_SHARE = 0.5  # part of a time limit


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


def solve_scene(
    plan: Plan, client: Any, report: Callable[[float], Any]
) -> tuple[Points, SceneCheck]:
    """Solve the model for all pixels, block by block, here or on the workers of a cluster.

    Return the pixels whose weights are not zero, and the bound for all pixels.
    """
    pixels = SceneBlocks.of(plan, client)
    tol = plan.options.estimator.get("tol")
    if tol is None:
        tol = _DEFAULT_TOL
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
        max_seconds=plan.deadline.part(_SOLVER_SHARE).left,
        callback=partial(_report_progress, report, tol),
    )
    columns = BlockMatrix(pixels, int(plan.bands.sum()), float_dtype(plan.scene))
    M = np.asfortranarray(columns[:, solution.support])
    ones = np.ones(len(solution.support), np.intp)
    open_pixels = Points(M, pixels.positions[solution.support], ones)
    return open_pixels, SceneCheck(solution.objective, solution.dual_bound, solution.gap)


def _report_progress(report: Callable[[float], Any], tol: float, progress: Progress) -> None:
    """Report the share done, which is the part of the way to the tolerance in digits."""
    # A tolerance of zero has no digits, and one of one or more is reached at once.
    goal = max(tol, _LEAST_TOL)
    if progress.gap < 1 and goal < 1:
        report(min(1.0, float(np.log(max(progress.gap, goal)) / np.log(goal))))


@dataclass(frozen=True, eq=False)
class SceneBlocks:
    """The valid pixels of a scene as blocks of columns."""

    plan: Plan
    client: Any  # where passes run
    numbers: Array  # (n_blocks,), the blocks of the scene that have a valid pixel
    sizes: Array  # (n_blocks,), how many valid pixels they have
    positions: Array  # (n,), where the valid pixels are in the scene, counted row by row

    @classmethod
    def of(cls, plan: Plan, client: Any) -> "SceneBlocks":
        """Read the scene once to find its valid pixels."""
        scene = plan.scene
        every = np.arange(len(blocks(scene)))
        task = _ValidPositions(plan.bands)
        found = list(run_on_blocks(scene, task, every, every, client))
        sizes = np.array([len(positions) for positions in found])
        has_pixels = sizes > 0
        return cls(plan, client, every[has_pixels], sizes[has_pixels], np.concatenate(found))

    def run(self, task: Callable[[Array, Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        """Yield ``task(M, part)`` for the valid pixels M of each block."""
        on_pixels = _OnValidPixels(self.plan.bands, task)
        scene = self.plan.scene
        yield from run_on_blocks(scene, on_pixels, self.numbers, parts, self.client)

    def everywhere(self, function: Callable[[], Any]) -> None:
        """Call a function in this process, or in each worker."""
        if self.client is None:
            function()
        else:
            # workers that are lost have nothing to do
            self.client.run(function, on_error="ignore")


@dataclass(frozen=True)
class _OnValidPixels:
    """Run a task on the matrix of the valid pixels of a block."""

    bands: Array
    task: Callable[[Array, Any], Any]

    def __call__(self, block: Block, part: Any) -> Any:
        return self.task(_valid_pixels(block, self.bands)[0], part)


@dataclass(frozen=True)
class _ValidPositions:
    """Where the valid pixels of a block are in the scene."""

    bands: Array

    def __call__(self, block: Block, number: int) -> Array:
        return _valid_pixels(block, self.bands)[1]


def _valid_pixels(block: Block, bands: Array) -> tuple[Array, Array]:
    """Return the valid pixels of a block that are not zero, and their positions in the scene."""
    M, valid = block_matrix(block.scene, slice(None), slice(None), bands)
    valid &= (M != 0).any(axis=0)  # zeros explain nothing, and need no explanation
    return M[:, valid], block.pixels[valid]
