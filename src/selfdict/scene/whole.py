"""The model with every pixel of a scene as a candidate, where the pixels do not fit in memory."""

import os
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
from selfdict.scene.check import SceneCheck
from selfdict.scene.passes import Block, run_on_blocks
from selfdict.scene.request import UnmixRequest
from selfdict.scene.thinning import Points
from selfdict.solvers.block_search import solve_blocks

IN_BLOCKS = (
    "All pixels were candidates of the model, read block by block: the check is the bound over all "
    "of them. The pure pixels were chosen from a random sample and the pixels with a weight."
)
# pixels that a cluster shares among its workers are more than this
_MAX_CLIENT_BYTES = 128 * 2**20
# the solver in memory needs about four times the data, beside the data itself
_MEMORY_FACTOR = 5
# a gap that tells what one wants to know of millions of pixels; the last digits take many passes
_DEFAULT_TOL = 1e-2
_LEAST_TOL = 1e-12  # that progress is measured by
_SOLVER_SHARE = 0.5  # part of a time limit


@dataclass(frozen=True)
class WholeScene:
    """What was found with every pixel as a candidate.

    Attributes
    ----------
    open_pixels : Points
        The pixels whose weights are not zero.
    check : SceneCheck
        Objective and dual bound, for all pixels.
    """

    open_pixels: Points
    check: SceneCheck


def is_solved_in_blocks(request: UnmixRequest, client: Any) -> bool:
    """Whether all pixels are the candidates and do not fit in the memory of this process."""
    takes_all = request.method == "fgnsr" and request.candidates is None
    if not takes_all or request.max_pixels is not None:
        return False
    if request.library is not None or not request.squared_loss:
        return False
    scene = request.scene
    n_pixels = scene.sizes["y"] * scene.sizes["x"]
    n_bytes = n_pixels * int(request.bands.sum()) * float_dtype(scene).itemsize
    if client is not None:
        return n_bytes > _MAX_CLIENT_BYTES
    return _MEMORY_FACTOR * n_bytes > _physical_memory()


def _physical_memory() -> float:
    """Return the memory of this machine in bytes; infinity where it is not known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return np.inf


def solve_scene(
    request: UnmixRequest, seed: int, client: Any, report: Callable[[float], Any]
) -> WholeScene:
    """Solve the model for all pixels, block by block, here or on the workers of a cluster."""
    pixels = SceneBlocks.of(request, client)
    tol = request.options.get("tol")
    if tol is None:
        tol = _DEFAULT_TOL
    mu = None
    if not isinstance(request.mu, str):
        mu = float(request.mu)
    solution = solve_blocks(
        pixels,
        request.r,
        mu=mu,
        p=partial(jitter, random_state=seed),
        tol=tol,
        max_seconds=request.deadline.part(_SOLVER_SHARE).left,
        callback=partial(_report_progress, report, tol),
    )
    columns = BlockMatrix(pixels, int(request.bands.sum()), float_dtype(request.scene))
    values = np.ascontiguousarray(columns[:, solution.support].T)
    ones = np.ones(len(solution.support), np.intp)
    return WholeScene(
        Points(values, pixels.positions[solution.support], ones),
        SceneCheck(solution.objective, solution.dual_bound, solution.gap),
    )


def _report_progress(report: Callable[[float], Any], tol: float, progress: Progress) -> None:
    """Report the share done, which is the part of the way to the tolerance in digits."""
    # A tolerance of zero has no digits, and one of one or more is reached at once.
    goal = max(tol, _LEAST_TOL)
    if progress.gap < 1 and goal < 1:
        report(min(1.0, float(np.log(max(progress.gap, goal)) / np.log(goal))))


@dataclass(frozen=True, eq=False)
class SceneBlocks:
    """The valid pixels of a scene as blocks of columns.

    Attributes
    ----------
    request : UnmixRequest
    client : distributed.Client or None
        Where passes run.
    numbers : (n_blocks,) ndarray of int
        The blocks of the scene that have a valid pixel.
    sizes : (n_blocks,) ndarray of int
        How many valid pixels they have.
    positions : (n,) ndarray of int
        Where the valid pixels are in the scene, counted row by row.
    """

    request: UnmixRequest
    client: Any
    numbers: Array
    sizes: Array
    positions: Array

    @classmethod
    def of(cls, request: UnmixRequest, client: Any) -> "SceneBlocks":
        """Read the scene once to find its valid pixels."""
        scene = request.scene
        every = np.arange(len(blocks(scene)))
        task = _ValidPositions(request.bands)
        found = list(run_on_blocks(scene, task, every, every, client))
        sizes = np.array([len(positions) for positions in found])
        has_pixels = sizes > 0
        return cls(request, client, every[has_pixels], sizes[has_pixels], np.concatenate(found))

    def run(self, task: Callable[[Array, Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        """Yield ``task(M, part)`` for the valid pixels M of each block."""
        on_pixels = _OnValidPixels(self.request.bands, task)
        scene = self.request.scene
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
